# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
"""Takes the noise out of medical volumes: of NumPy arrays, and of scans from file to file.

    import quietvox
    quiet = quietvox.denoise(volume, spacing=(3, 0.9, 0.9))
    quietvox.denoise_scan("ct/", "ct-denoised/")

The axes of a volume are z, y, x, as in arrays of SimpleITK and in stacks of slices; those of an image are y, x. For
arrays of nibabel give axes="xyz". What is given per axis, such as `spacing` or `radius=(0, 1, 1)`, is in the order of
the array's axes: `spacing=image.GetSpacing()[::-1]` in SimpleITK, `spacing=nibabel.affines.voxel_sizes(image.affine)`
in nibabel. Texts, such as "1x1x0", are in the order x, y, z, and so are lists in the dictionaries that are returned.

An array of four axes holds the volumes of a series, such as times, directions of diffusion or echoes: t, z, y, x, or of
nibabel x, y, z, t. They are filtered one by one; others of the series help to tell the noise of each. What is given per
axis has no part for t.

Results have the axes of what was given. They are float32, or float64 where voxels lie so far from 0 that float32 would
lose digits. Each filter is a function too: `quietvox.median(volume, radius=1)`; help(quietvox.median) lists its
parameters. None stands for the default. Errors of the library are quietvox.Error.
"""

import inspect
import os
import reprlib
import textwrap
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from . import _quietvox
from ._quietvox import Error

__version__ = _quietvox.version


class Filter:
    """A filter with its parameters, for denoise() and denoise_scan(): Filter("median", radius=1).

    Numbers per axis are in the order of the array's axes in denoise(), and along x, y, z in denoise_scan(). A text,
    such as radius="1x1x0", is along x, y, z in both.
    """

    def __init__(self, name, **parameters):
        if not isinstance(name, str):
            raise TypeError(f"the name of a filter is a text, not {reprlib.repr(name)}")
        self.name, self.parameters = name, parameters

    def __repr__(self):
        return f"Filter({', '.join([repr(self.name)] + [f'{k}={v!r}' for k, v in self.parameters.items()])})"


def denoise(
    volume,
    spacing=None,
    filters=(),
    *,
    axes="zyx",
    mask=None,
    strength=None,
    stabilise=None,
    force_kind=None,
    ct_numbers=None,
    time_series=None,
    backend=None,
    threads=None,
    memory_limit=None,
    progress=None,
    report=False,
):
    """Denoises a volume in memory, or those of a series, and returns the result.

    volume: an array of two to four axes. Voxels that are not finite are missing: they count for no neighbour and stay
        as they are.
    spacing: the distance of voxels along each axis, in mm; without it, voxels are cubes of 1 mm.
    filters: a Filter, the name of one, or a list of these, one after another. Without them, quietvox measures the noise
        and takes it out.
    axes: what the axes are, "zyx", "xyz" or another order. Slices lie along z. Of a series "zyx" stands for "tzyx", and
        "xyz" for "xyzt".
    mask: an array of the same shape, without t; where it is 0, voxels keep their value (rounded to the type of the
        result) and count for no neighbour.
    strength: "light", "medium" (default) or "strong", where there are no filters.
    stabilise: "none", "auto", "rician", "poisson" or "speckle": which noise is made Gaussian before the filter and
        turned back after it. "auto" (default): whichever was found, if all filters go by the measured noise
        or are a median.
    force_kind: what the voxels mean: "magnitude" (MR), "scalar" (anything else that can be filtered), "phase",
        "labels"; without it, they are looked at. Labels are not filtered, phases only by the median.
    ct_numbers: True for CT, whose noise does not follow the value, and for real and imaginary parts
        or maps of MR.
    time_series: True where the volumes of a series are one picture at several times, as in functional MRI, or with
        several b-values: they have one noise.
    backend: "auto" (default), "cpu", "cuda" or "cuda:N".
    threads: of the CPU; 0 (default): one per core.
    memory_limit: of the whole process, in MiB.
    progress: called with the fraction that is done. What it raises ends the run, unless that has just been done.
    report: True to return a dictionary besides, which says what was done; of a series, for each of its `volumes`. Its
        lists are along x, y, z, as in the JSON of the program: to give one again, make it a text, "1x1x0".
    """
    return _denoise(
        volume,
        spacing,
        filters,
        axes=axes,
        mask=mask,
        progress=progress,
        report=report,
        strength=strength,
        stabilise=stabilise,
        force_kind=force_kind,
        ct_numbers=ct_numbers,
        time_series=time_series,
        backend=backend,
        threads=threads,
        memory_limit=memory_limit,
    )


def denoise_scan(input, output, filters=(), *, strength=None, stabilise=None, progress=None, **options):
    """Denoises a scan from file to file, as the command line does, and returns a dictionary that says what was done.

    input: a DICOM, NIfTI, NRRD or MetaImage file, or a folder with a DICOM series.
    output: the file to make, or the folder for a DICOM series.
    filters, strength, stabilise, progress: as of denoise(); what is given per axis is along x, y, z.

    Further keywords:
    """
    options |= {"strength": strength, "stabilise": stabilise}
    steps = _steps(filters, (0, 1, 2))
    paths = _text("input", os.fspath(input), ()), _text("output", os.fspath(output), ())
    done = _quietvox.denoise_scan(*paths, steps, _texts(options, ()), _callable(progress))
    for message in done["warnings"]:
        warnings.warn(message, stacklevel=2)
    return done


def estimate(
    volume,
    spacing=None,
    *,
    axes="zyx",
    mask=None,
    force_kind=None,
    ct_numbers=None,
    time_series=None,
    threads=None,
    memory_limit=None,
    map=False,
):
    """Measures the noise of a volume in memory and returns a dictionary: sigma, distribution, confidence and more. Of a
    series it returns a list of them, one for each volume.

    mask: an array of the same shape, without t; where it is 0, voxels do not count. If it leaves too little to measure
        the noise in, the whole volume is measured, and `reason` says so.
    map: True to return an array besides: the standard deviation of the noise at each voxel. The others are as of
        denoise().
    """
    volume = _Volume(volume, spacing, axes)
    options = {
        "force_kind": force_kind,
        "ct_numbers": ct_numbers,
        "time_series": volume.time_series(time_series),
        "threads": threads,
        "memory_limit": memory_limit,
    }
    inside = None if mask is None else volume.arranged_mask(volume.mask(mask))
    if inside is not None and not inside.any():
        warnings.warn("mask: no voxel is inside, so the whole volume was measured", stacklevel=2)
    offset = volume.largest_offset()
    noise, sigma = _quietvox.estimate(volume.voxels, volume.spacing, offset, inside, map, _texts(options, ()))
    noise = noise if volume.is_series else noise[0]
    return (noise, volume.as_given(sigma)) if map else noise


class _Volume:
    """An array as the library takes it, in the order t, z, y, x and without a copy where it lies so in memory."""

    def __init__(self, array, spacing, axes):
        array = _real_array(array, "volume")
        if array.ndim not in (2, 3, 4):
            raise ValueError(f"a volume has two or three axes, and a series of them four, not {array.ndim}")
        if array.size == 0:
            raise ValueError(f"a volume of shape {array.shape} has no voxels")
        self.is_series = array.ndim == 4
        self._axes = self._letters("zyx" if axes is None else axes, array.ndim)
        self._shape = array.shape
        self._order = [self._axes.index(axis) for axis in "tzyx" if axis in self._axes]
        #: The places of x, y and z in what is given per axis. Of an image of two axes, nothing looks at z.
        in_space = [axis for axis in self._axes if axis != "t"]
        places = [in_space.index(axis) for axis in "xyz" if axis in in_space]
        self.places = (places + places[:1])[:3]
        self.spacing = [1.0] * 3 if spacing is None else self._spacing(spacing)
        #: Subtracted from the voxels of each volume; an array where there are several.
        self.offset = 0.0
        self.voxels = self._arranged(self._near_zero(array))

    @staticmethod
    def _letters(axes, count):
        """The axes of the array, in its order."""
        letters = "".join(map(str, axes))
        if count == 4:
            letters = {"zyx": "tzyx", "xyz": "xyzt"}.get(letters, letters)
        if count == 2:
            letters = letters.replace("z", "", 1)
        if sorted(letters) != sorted("xyzt"[:count]):
            of = "x, y, z and t, such as 'tzyx'" if count == 4 else "x, y and z, such as 'zyx'"
            raise ValueError(f"axes = {axes!r} is not an order of {of}")
        return letters

    def mask(self, mask):
        mask = _real_array(mask, "mask")
        shape = tuple(extent for axis, extent in zip(self._axes, self._shape) if axis != "t")
        if mask.shape != shape:
            raise ValueError(f"the mask has shape {mask.shape}, the volume {shape}")
        return (mask != 0) & ~numpy.isnan(mask)

    def mask_of_voxels(self, mask):
        """A mask with an axis for t, where the volume has one."""
        return numpy.expand_dims(mask, self._axes.index("t")) if self.is_series else mask

    def time_series(self, time_series):
        if time_series and not self.is_series:
            raise ValueError(f"time_series is for an array of four axes, not {len(self._shape)}")
        return time_series

    def as_given(self, result):
        return result.reshape(result.shape[-len(self._shape) :]).transpose(numpy.argsort(self._order))

    def _spacing(self, spacing):
        try:
            spacing = [spacing] if isinstance(spacing, str) else [float(distance) for distance in spacing]
        except TypeError:
            spacing = [spacing]
        count = len(self._shape) - self.is_series
        are_numbers = all(isinstance(distance, float) and 0 < distance < numpy.inf for distance in spacing)
        if len(spacing) != count or not are_numbers:
            of_space = " in space" if self.is_series else ""
            raise ValueError(f"spacing = {spacing} is not one positive number for each of {count} axes{of_space}")
        return [spacing[place] for place in self.places]

    def _near_zero(self, array):
        """The voxels, less what lies in the middle of those of a volume that are far from 0."""
        volumes = numpy.moveaxis(array, self._axes.index("t"), 0) if self.is_series else [array]
        offsets = [_offset(volume) for volume in volumes]
        if not any(offsets):
            near = array
        else:
            self.offset = self._for_each_volume(offsets)
            near = numpy.subtract(array, self.offset, dtype=numpy.float64)
        if array.dtype.kind in "iu" and array.dtype.itemsize > 2:
            rounded = near.astype(numpy.float32) != near
            if rounded.any():
                number = array[rounded][0]
                raise ValueError(f"voxel value {number} does not fit into a 32-bit float; give fewer digits, or floats")
        return near

    def largest_offset(self):
        return float(numpy.max(numpy.abs(self.offset)))

    def _for_each_volume(self, numbers):
        """One number for each volume, to be added to their voxels."""
        if not self.is_series:
            return numbers[0]
        return numpy.reshape(numbers, [-1 if axis == "t" else 1 for axis in self._axes])

    def arranged_mask(self, mask):
        return self._arranged(self.mask_of_voxels(mask))[0]

    def _arranged(self, array):
        array = array.transpose(self._order)
        array = array.reshape((1,) * (4 - array.ndim) + array.shape)
        return numpy.require(array, numpy.float32, ["C", "ALIGNED"])


def _offset(volume):
    """What is subtracted from the voxels of a volume so that 32-bit floats hold their digits; 0 where nothing is."""
    low, high = volume.min(), volume.max()
    if not (numpy.isfinite(low) and numpy.isfinite(high)):
        finite = volume[numpy.isfinite(volume)]
        low, high = (finite.min(), finite.max()) if finite.size else (0, 0)
    largest = float(numpy.finfo(numpy.float32).max)
    if volume.dtype.kind in "iu" and max(-int(low), int(high)) > 2**53:
        raise ValueError(f"voxels from {low} to {high} are beyond 2**53, where floats skip whole numbers")
    if max(abs(float(low)), abs(float(high))) > largest:
        raise ValueError(f"voxels from {low} to {high} are beyond {largest:.3g}, which 32-bit floats hold")
    offset = _quietvox.middle_if_far(float(low), float(high))
    return float(round(offset)) if volume.dtype.kind in "iu" else offset  # whole numbers stay so


def _real_array(array, name):
    if isinstance(array, numpy.ma.MaskedArray):
        raise TypeError(f"{name}: masked arrays are not taken; give array.astype(float).filled(numpy.nan)")
    if hasattr(array, "GetSpacing") and not hasattr(array, "__array__"):  # NumPy would take it voxel by voxel
        raise TypeError(f"{name}: give an array, such as SimpleITK.GetArrayFromImage(image), not an image")
    array = numpy.asarray(array)
    if array.dtype.kind not in "biuf" or array.ndim == 0:
        what = f"of {array.dtype}" if array.ndim else reprlib.repr(array.item())
        raise TypeError(f"{name}: give an array of real numbers, not {what}; denoise_scan is for files")
    return array


def _denoise(volume, spacing, filters, *, axes="zyx", mask=None, progress=None, report=False, **options):
    given = _Volume(volume, spacing, axes)
    inside = None if mask is None else given.mask(mask)
    options["time_series"] = given.time_series(options.get("time_series"))
    result, done = _quietvox.denoise_volumes(
        given.voxels,
        given.is_series,
        given.spacing,
        given.largest_offset(),
        _steps(filters, given.places),
        None if mask is None else given.arranged_mask(inside),
        _texts(options, ()),
        _callable(progress),
    )
    for message in done["warnings"]:
        warnings.warn(message, stacklevel=3)  # in the code that calls denoise(), or the function of a filter
    result = given.as_given(result)
    if given.largest_offset():
        result = numpy.add(result, given.offset, dtype=numpy.float64)
        result = result if mask is None else numpy.where(given.mask_of_voxels(inside), result, volume)
    return (result, done) if report else result


def _callable(progress):
    if not callable(progress) and progress is not None:
        raise TypeError(f"progress = {reprlib.repr(progress)} cannot be called")
    return progress


def _steps(filters, places):
    """Filters as the library takes them. `places`: of x, y and z in what is given per axis."""
    filters = [filters] if isinstance(filters, (str, Filter)) else filters or ()
    if not isinstance(filters, Sequence) or not all(isinstance(step, (str, Filter)) for step in filters):
        raise TypeError(f"filters: give a Filter, the name of one, or a list of these, not {reprlib.repr(filters)}")
    filters = [step if isinstance(step, Filter) else Filter(step) for step in filters]
    return [(step.name.replace("_", "-"), _texts(step.parameters, places)) for step in filters]


def _texts(values, places):
    """Values by keyword as the library reads them, without those that are None."""
    return {keyword: _text(keyword, value, places) for keyword, value in values.items() if value is not None}


def _text(keyword, value, places):
    if isinstance(value, numpy.ndarray):
        value = value.tolist()
    if isinstance(value, (str, bytes, os.PathLike)):
        text = os.fsencode(value)
        if b"\0" in text:
            raise ValueError(f"{keyword} = {reprlib.repr(value)} holds a null byte")
        return text
    if isinstance(value, (bool, numpy.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, float, numpy.integer, numpy.floating)):
        return str(int(value)) if value == value // 1 and abs(value) < 2**53 else repr(float(value))
    axes = len(set(places))
    if isinstance(value, Sequence) and axes and len(value) == axes and all(numpy.isscalar(one) for one in value):
        return "x".join(os.fsdecode(_text(keyword, value[place], ())) for place in places)
    per_axis = f", nor one number for each of {axes} axes" if axes else ""
    raise TypeError(f"{keyword} = {reprlib.repr(value)} is neither a number nor a text{per_axis}")


#: What the functions of filters take besides the parameters of the filter.
_shared = dict(inspect.signature(denoise).parameters)
del _shared["filters"], _shared["strength"]


def _filter_function(name, summary, parameters):
    def function(volume, spacing=None, **keywords):
        shared = {keyword: keywords.pop(keyword) for keyword in list(keywords) if keyword in _shared}
        return _denoise(volume, spacing, Filter(name, **keywords), **shared)

    own = [inspect.Parameter(one[0], inspect.Parameter.KEYWORD_ONLY, default=one[3]) for one in parameters]
    function.__signature__ = inspect.Signature([*_shared.values(), *own])
    function.__name__ = function.__qualname__ = name.replace("-", "_")
    function.__doc__ = (
        f"{summary}\n\nParameters of the filter:\n{_help(parameters)}\n\nThe others: help(quietvox.denoise)"
    )
    return function


def _help(parameters):
    return "\n".join(f"{name}: {text} {allowed}; default {default!r}" for name, text, allowed, default in parameters)


denoise_scan.__doc__ += textwrap.indent(_help(_quietvox.scan_options()), "    ").lstrip()


def __getattr__(name: str) -> Callable[..., Any]:
    """For type checkers, which do not see the functions of filters."""
    raise AttributeError(f"module 'quietvox' has no attribute {name!r}")


for _entry in _quietvox.filters():
    globals()[_entry[0].replace("-", "_")] = _filter_function(*_entry)

__all__ = ["Error", "Filter", "denoise", "denoise_scan", "estimate"]
__all__ += [entry[0].replace("-", "_") for entry in _quietvox.filters()]
