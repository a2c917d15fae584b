# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
"""Takes the noise out of medical volumes: of NumPy arrays, and of scans from file to file.

    import quietvox
    quiet = quietvox.denoise(volume, spacing=(3, 0.9, 0.9))
    quietvox.denoise_scan("ct/", "ct-denoised/")

A volume is an array of two or three axes, in any order. What is given per axis, such as `spacing` or
`radius=(0, 1, 1)`, is in the order of the array's axes: z, y, x for arrays of SimpleITK
(`spacing=image.GetSpacing()[::-1]`), x, y, z for those of nibabel (`spacing=image.header.get_zooms()[:3]`). Results are
float32 and have the same axes.

Each filter is a function too, such as `quietvox.median(volume, radius=1)`; help(quietvox.bilateral) lists its
parameters. Errors of the library are quietvox.Error. Dictionaries are what the command line prints with --json; there
x, y, z stand for the axes of the array from the one along which neighbours lie side by side in memory.
"""

import os
import warnings
from collections.abc import Sequence

import numpy

from . import _quietvox
from ._quietvox import Error

__version__ = _quietvox.version


class Filter:
    """A filter with its parameters, for denoise() and denoise_scan(): Filter("median", radius=1)."""

    def __init__(self, name, **parameters):
        self.name, self.parameters = name, parameters

    def __repr__(self):
        return f"Filter({', '.join([repr(self.name)] + [f'{k}={v!r}' for k, v in self.parameters.items()])})"


def denoise(volume, spacing=None, filters=(), *, mask=None, report=False, progress=None, **options):
    """Denoises a volume in memory and returns the result, an array of float32.

    spacing: the distance of voxels along each axis, in mm; without it, voxels are cubes.
    filters: a Filter, the name of one, or a list of these, one after another. Without them, quietvox measures the noise
        and takes it out.
    mask: an array of the same shape; where it is 0, voxels keep their value and count for no neighbour.
    report: also return a dictionary that says what was done.
    progress: called with the fraction that is done.

    Further keywords:
    strength: "light", "medium" or "strong", where there are no filters.
    stabilise: "none", "auto", "rician", "poisson" or "speckle": which noise is made Gaussian before the filter and
        turned back after it. Without filters "auto", else "none".
    kind: what the voxels mean, such as "magnitude" (MR) or "scalar" (anything else); if it is not given, they show it.
    ct_numbers: True for CT, whose noise does not follow the value.
    backend: "auto", "cpu", "cuda" or "cuda:N". threads: of the CPU; 0: one per core. memory_limit: in MiB.

    Voxels that are not finite are missing: they count for no neighbour and stay as they are.
    """
    return _denoise(volume, spacing, filters, mask, report, progress, options)


def denoise_scan(input, output, filters=(), *, progress=None, **options):
    """Denoises a scan from file to file, as the command line does, and returns a dictionary that says what was done.

    input: a DICOM, NIfTI, NRRD or MetaImage file, or a folder with a DICOM series. output: the file or folder to make.
    filters, progress, strength and stabilise: as of denoise(); what is given per axis is along x, y, z.

    Further keywords are the options of the command line, with underscores: mask, residual, force=True, dry_run=True,
    output_type="int16", backend, threads, memory_limit and more, as `quietvox denoise --help` lists them.
    """
    steps = _steps(filters, (0, 1, 2))
    result = _quietvox.denoise_scan(os.fsencode(input), os.fsencode(output), steps, _options(options), progress)
    _warn(result["warnings"], stacklevel=3)
    return result


def estimate(volume, spacing=None, *, map=False, **options):
    """Measures the noise of a volume in memory and returns a dictionary: sigma, distribution, confidence and more.

    map: also return the standard deviation of the noise at each voxel, an array. spacing, kind, ct_numbers, threads and
    memory_limit: as of denoise().
    """
    volume = _Volume(volume, spacing)
    noise, sigma = _quietvox.estimate(volume.voxels, volume.spacing, _options(options))
    return (noise, volume.as_given(sigma)) if map else noise


class _Volume:
    """An array as the library takes it. Its axes are ordered as they lie in memory, so that none is copied for that."""

    def __init__(self, array, spacing):
        array = numpy.asarray(array)
        if array.ndim not in (2, 3):
            raise ValueError(f"a volume has two or three axes, this array has {array.ndim}; give one volume of it")
        if array.size == 0:
            raise ValueError(f"a volume of shape {array.shape} has no voxels")
        self.shape = array.shape
        self._order = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))  # z, y, x
        #: The places of x, y and z in what is given per axis. Of an image of two axes, nothing looks at z.
        self.axes = (self._order[::-1] + self._order[-1:])[:3]
        self.voxels = self.arranged(array)
        self.spacing = [1.0] * 3
        if spacing is not None:
            if len(spacing) != array.ndim or not all(0 < distance < numpy.inf for distance in spacing):
                raise ValueError(f"spacing {tuple(spacing)} is not one positive number for each of {array.ndim} axes")
            self.spacing = [float(spacing[axis]) for axis in self.axes]

    def arranged(self, array):
        array = numpy.asarray(array)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"voxels must be real numbers, not {array.dtype}")
        if array.shape != self.shape:
            raise ValueError(f"the mask has shape {array.shape}, the volume {self.shape}")
        array = array.transpose(self._order)
        return numpy.ascontiguousarray(array.reshape((1,) * (3 - array.ndim) + array.shape), dtype=numpy.float32)

    def as_given(self, result):
        return result.reshape(result.shape[-len(self.shape) :]).transpose(numpy.argsort(self._order))


def _denoise(volume, spacing, filters, mask, report, progress, options):
    volume = _Volume(volume, spacing)
    mask = None if mask is None else volume.arranged(mask)
    steps = _steps(filters, volume.axes)
    result, done = _quietvox.denoise_volume(volume.voxels, volume.spacing, steps, mask, _options(options), progress)
    _warn(done["warnings"], stacklevel=4)
    return (volume.as_given(result), done) if report else volume.as_given(result)


def _warn(messages, stacklevel):
    for message in messages:
        warnings.warn(message, stacklevel=stacklevel)


def _steps(filters, axes):
    """Filters as the library takes them. `axes`: the places of x, y and z in what is given per axis."""
    filters = [filters] if isinstance(filters, (str, Filter)) else filters
    filters = [step if isinstance(step, Filter) else Filter(step) for step in filters]
    return [(step.name.replace("_", "-"), {name: _text(value, axes) for name, value in step.parameters.items()}) for step in filters]


def _options(options):
    return {name: _text(value, (0, 1, 2)) for name, value in options.items() if value is not None}


def _text(value, axes):
    """A value as the library reads it."""
    if value is None:
        return "auto"
    if isinstance(value, (str, bytes, os.PathLike)):
        return os.fsencode(value)
    if isinstance(value, (bool, numpy.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, numpy.integer)):
        return str(int(value))
    if isinstance(value, (float, numpy.floating)):
        return repr(float(value))
    if isinstance(value, (Sequence, numpy.ndarray)) and len(value) == len(set(axes)):
        return "x".join(_text(value[axis], ()) for axis in axes)
    raise ValueError(f"{value!r} is neither a number nor a text, nor one number for each of {len(set(axes))} axes")


def _filter_function(name, summary, parameters):
    def function(
        volume,
        spacing=None,
        *,
        mask=None,
        report=False,
        progress=None,
        stabilise=None,
        kind=None,
        ct_numbers=None,
        backend=None,
        threads=None,
        memory_limit=None,
        **parameters,
    ):
        options = {"stabilise": stabilise, "kind": kind, "ct_numbers": ct_numbers}
        options |= {"backend": backend, "threads": threads, "memory_limit": memory_limit}
        return _denoise(volume, spacing, Filter(name, **parameters), mask, report, progress, options)

    lines = [f"    {keyword}: {text} {allowed}; default {default}." for keyword, text, allowed, default in parameters]
    function.__name__ = function.__qualname__ = name.replace("-", "_")
    function.__doc__ = "\n".join(
        [f"{summary}\n\nParameters of the filter:", *lines, "\nhelp(quietvox.denoise) lists what else can be given."]
    )
    return function


for _entry in _quietvox.filters():
    globals()[_entry[0].replace("-", "_")] = _filter_function(*_entry)

__all__ = ["Error", "Filter", "denoise", "denoise_scan", "estimate"]
__all__ += [entry[0].replace("-", "_") for entry in _quietvox.filters()]
