#!/usr/bin/env python3
# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
"""The strong denoisers beside each other and beside their peers; writes docs/reports/denoisers.md.

    bench/denoisers.py QUIETVOX TRUTH... [--threads N] [--seed N]

TRUTH is a NIfTI file without noise, of which NAME=FILE@X:X,Y:Y,Z:Z takes a part, or phantom:mr, phantom:ct or
phantom:mammogram. The page says what was done. Peers that are not installed (bm4d, bm3d, dipy, antspyx) are left out.
Needs numpy and nibabel.
"""
import argparse
import importlib.util
import itertools
import math
import os
import pathlib
import sys
import tempfile
import time

import nibabel
import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import quality
import whole_command

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "reports" / "denoisers.md"
OURS = {
    "dct": ["dct"],
    "prinlm": ["prinlm"],
    "prinlm, guide bm4d": ["prinlm", "--guide", "bm4d"],
    "bm4d, fast": ["bm4d", "--quality", "fast"],
    "bm4d": ["bm4d"],
    "bm4d, best": ["bm4d", "--quality", "best"],
}
PICTURES = {  # the first voxel that is shown
    "chris_t1": (0, 0, 32),
    "phantom:mr": (16, 24, 16),
    "phantom:ct": (32, 40, 8),
    "phantom:mammogram": (141, 240, 0),
}
CREDITS = {"chris_t1": "chris_t1 is by Chris Rorden, of [niivue-images](https://github.com/neurolabusc/niivue-images), "
                       "under this [licence](chris_t1.LICENSE)."}
MAGNITUDES = {"denoise": ["denoise"]} | {
    name: [name, "--stabilise", "rician"] for name in ("bm4d", "prinlm", "dct", "nlm", "bilateral")
}
RICIAN_LEVEL = 9  # percent of the range
TEXT = """# The strong denoisers

Made by `bench/denoisers.py`; do not edit. {machine}, {threads} threads. Noise of seed {seed}, from `quietvox
add-noise`. PSNR in dB inside the object, by `bench/quality.py`. Peers: {peers}.

{truths}

## White Gaussian noise

Filters and peers are given the true sigma, and are otherwise as they come. Levels are percent of the range.

{white}

As they are, with 5 % of noise, and as `dct`, `prinlm` and `bm4d` leave them, pixel by pixel:

{pictures}

## Megavoxels a second

On {threads} threads, of wall time, of the largest truth above at {level} %. Ours read and write a file besides; BM4D
and BM3D use the threads that they like.

{speed}

## Rician noise

9 % of the range; nothing is given but `--stabilise rician` where a filter is not `denoise`. Air: mean of the result
where there is no signal, in sigma; magnitudes begin with 1.25. Without air, as in a part of a file, `denoise` cannot
tell that noise is Rician; with air, as scanners write it (whole), it can. The rest: by how many percent the mean of
flat tissue is wrong, by the signal in sigma, and in parentheses the same with white noise: what is there too comes from
smoothing. balls: balls of flat tissue, of 2, 2.5, 3, 4 and 6 sigma, in a body of 11.

{rician}

The mean of each tissue of {truth}, edges and all, with its signal in sigma. Its voxels fall into three tissues by
3-means.

{tissues}

## Small lesions

Lesions of 2x2x2 voxels were added to tissue of {truth}, bright and dark in turn. The table says what share of their
contrast is left, and in parentheses the RMS error of these voxels and those beside them, in percent of the contrast.
Noise of 3 % of the range; columns: its kind, and the contrast in its sigmas. Ours are given nothing; the true sigma goes to
peers.

{lesions}

## No noise

PSNR of what the filters make of a truth, by their defaults: above 60 dB nothing is seen. A scan has noise of its own.

{clean}
"""


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def peers_of(case, threads):
    """Name and function of each peer that is installed."""
    image, sigma, flat = case.image, case.sigma, 1 in case.image.shape

    def bm4d():
        from bm4d import bm4d as run
        return run(image, sigma)

    def bm3d():
        from bm3d import bm3d as run
        return run(image.squeeze(), sigma)

    def dipy():
        from dipy.denoise.nlmeans import nlmeans
        return nlmeans(image, sigma=sigma, rician=False, num_threads=int(threads), method="classic", block_radius=3)

    def ants():
        import ants
        of_ants = ants.from_numpy(image.squeeze().astype(numpy.float32))
        return ants.denoise_image(of_ants, noise_model="Gaussian").numpy()

    of_volumes = {"BM4D": ("bm4d", bm4d), "dipy nlmeans": ("dipy", dipy), "ants denoise_image": ("ants", ants)}
    named = {"BM3D": ("bm3d", bm3d)} if flat else of_volumes
    return {name: run for name, (package, run) in named.items() if importlib.util.find_spec(package)}


def filtered(quietvox, words, noisy):
    """The result, and its seconds."""
    result = quietvox.folder / "result.nii"
    begin = time.perf_counter()
    quietvox(*words, noisy, result, "--threads", quietvox.threads, "--backend", "cpu", "--force", "--quiet")
    return quality.voxels(result), time.perf_counter() - begin


def picture_of(truth):
    return f"denoisers-{truth.removeprefix('phantom:')}.png"


def white(quietvox, truths, levels, seed):
    rows = {}
    for truth in truths:
        for level in levels:
            case = made(quietvox, truth, "white", level, seed)
            shown = [case.clean, case.image]
            column = f"{truth}, {level} %"
            rows.setdefault("noisy", {})[column] = (case.psnr(case.image), None)
            for name, words in OURS.items():
                image, seconds = filtered(quietvox, [*words, "--sigma", case.sigma], case.noisy)
                rows.setdefault(name, {})[column] = (case.psnr(image), case.image.size / seconds / 1e6)
                if name in ("dct", "prinlm", "bm4d"):
                    shown.append(image)
            if truth in PICTURES and level == levels[0]:
                margin = 3 * level / 100 * case.top
                quality.write_side_by_side(PAGE.parent / picture_of(truth), PICTURES[truth], shown, margin)
            for name, run in peers_of(case, quietvox.threads).items():
                begin = time.perf_counter()
                image = numpy.asarray(run()).reshape(case.image.shape)
                seconds = time.perf_counter() - begin
                rows.setdefault(name, {})[column] = (case.psnr(image), case.image.size / seconds / 1e6)
    return rows


def made(quietvox, truth, kind, level, seed):
    case = quality.Case(quietvox, truth, kind, level, seed)
    case.write()
    return case.load()


def flat_parts(image, most):
    """Where neighbours as far as two voxels away differ by at most that; edges have those of the other side."""
    flat = numpy.ones(image.shape, bool)
    for axis in range(image.ndim):
        for step in (-2, -1, 1, 2):
            flat &= numpy.abs(numpy.roll(image, step, axis) - image) <= most
    return flat


def write_balls(quietvox):
    """Balls of flat tissue in an ellipsoid, with air about it; returns the name of that truth."""
    shape = (120, 120, 48)
    x, y, z = (axis - (size - 1) / 2 for axis, size in zip(numpy.indices(shape), shape))
    image = ((x / 52) ** 2 + (y / 52) ** 2 + (z / 20) ** 2 < 1).astype(float)
    for i, signal in enumerate((2, 2.5, 3, 4, 6)):
        angle = 2 * math.pi * i / 5
        ball = (x - 30 * math.cos(angle)) ** 2 + (y - 30 * math.sin(angle)) ** 2 + z**2 < 13**2
        image[ball] = signal * RICIAN_LEVEL / 100
    quality.save(quietvox.folder / quality.file_of("balls"), image, numpy.eye(4))
    return "balls"


def tissues_of(image):
    """Where each of three tissues is, the darkest first: 3-means of what is not air."""
    inside = quality.Case.inside(image)
    values = image[inside]
    means = numpy.quantile(values, (0.1, 0.5, 0.9))
    for _ in range(50):
        limits = (means[:-1] + means[1:]) / 2
        nearest = numpy.digitize(values, limits)
        means = numpy.array([values[nearest == tissue].mean() for tissue in range(3)])
    return [inside & (numpy.digitize(image, limits) == tissue) for tissue in range(3)]


def rician(quietvox, truths, seed):
    """Tables of flat parts of all truths, and of the tissues of the first."""
    bins = ((2, 3), (3, 5), (5, 8), (8, 1000))
    rows, head_of_tissues, rows_of_tissues = [], [], []
    for truth in truths:
        case, white_case = (made(quietvox, truth, kind, RICIAN_LEVEL, seed) for kind in ("rician", "white"))
        clean, sigma = case.clean, case.amount(case.clean)
        flat = flat_parts(clean, 0.5 * sigma)
        air = flat & (clean < 0.05 * sigma)
        tissues = tissues_of(clean) if truth == truths[0] else []
        head_of_tissues += [f"{clean[tissue].mean() / sigma:.1f}" for tissue in tissues]
        for name, words in MAGNITUDES.items():
            image, _ = filtered(quietvox, words, case.noisy)
            of_white, _ = filtered(quietvox, words[:1], white_case.noisy)

            def wrong(part):
                errors = (100 * (result[part].mean() / clean[part].mean() - 1) for result in (image, of_white))
                return "{:+.1f} ({:+.1f})".format(*errors) if part.sum() >= 200 else ""

            parts = [flat & (clean >= low * sigma) & (clean < high * sigma) for low, high in bins]
            in_air = f"{image[air].mean() / sigma:.2f}" if air.any() else ""
            rows.append([truth, name, in_air, *map(wrong, parts)])
            if tissues:
                rows_of_tissues.append([name, *map(wrong, tissues)])
    return (table(["truth", "filter", "air", "2 to 3", "3 to 5", "5 to 8", "8 and more"], rows),
            table(["filter", *head_of_tissues], rows_of_tissues))


def with_lesions(quietvox, truth, times, contrast):
    """Writes that truth with lesions; returns its name, and their voxels as an index for each."""
    path = quietvox.folder / quality.file_of(truth)
    image = quality.voxels(path)
    low, high = (image.min() + share * (image.max() - image.min()) for share in (0.3, 0.7))
    places = itertools.product(*(range(4, size - 8, 11) for size in image.shape))
    chance = numpy.random.default_rng(1)  # all in the same place of a grid would be alike
    boxes = [tuple(slice(start, start + 2) for start in place + chance.integers(0, 5, 3)) for place in places]
    boxes = [box for box in boxes if low < image[box].min() and image[box].max() < high]
    if not boxes:
        sys.exit(f"{truth}: has no tissue with room for lesions of 2x2x2 voxels")
    for i, box in enumerate(boxes):
        image[box] += contrast * (-1) ** i
    name = f"{truth}-lesions-{times}"
    quality.save(quietvox.folder / quality.file_of(name), image, nibabel.load(path).affine)
    return name, boxes


def lesions(quietvox, truth, seed):
    level, rows, columns = 3, {}, []
    for kind in ("white", "ct-sharp"):
        without = made(quietvox, truth, kind, level, seed)
        for times in (3, 5, 8):
            contrast = times * without.amount(without.clean)
            name, boxes = with_lesions(quietvox, truth, times, contrast)
            case = made(quietvox, name, kind, level, seed)
            columns.append(f"{kind}, {times}")

            def figures(image):
                """Share of the contrast that is left, and RMS error about the lesions in percent of it."""
                kept = [(image[box] - without.clean[box]).mean() / (case.clean[box] - without.clean[box]).mean()
                        for box in boxes]
                wider = [tuple(slice(axis.start - 1, axis.stop + 1) for axis in box) for box in boxes]
                errors = [numpy.mean((image[box] - case.clean[box]) ** 2) for box in wider]
                return f"{numpy.mean(kept):.2f} ({100 * numpy.mean(errors) ** 0.5 / contrast:.0f})"

            for words in ("denoise", "prinlm", "dct", "nlm", "bilateral"):
                rows.setdefault(words, []).append(figures(filtered(quietvox, [words], case.noisy)[0]))
            for peer, run in peers_of(case, quietvox.threads).items():
                rows.setdefault(peer, []).append(figures(numpy.asarray(run()).reshape(case.image.shape)))
    return table(["", *columns], [[name, *values] for name, values in rows.items()])


def clean(quietvox, truths):
    rows = []
    for name in ("denoise", "bm4d", "prinlm", "dct"):
        row = [name]
        for truth in truths:
            path = quietvox.folder / quality.file_of(truth)
            image, (result, _) = quality.voxels(path), filtered(quietvox, [name], path)
            error = float(numpy.mean((result - image) ** 2))
            top = float(image.max() - image.min())
            row.append(f"{10 * numpy.log10(top**2 / error):.0f}" if error > 0 else "unchanged")
        rows.append(row)
    return table(["filter", *truths], rows)


def parts_of(text):
    """The name, the file and the part of it that TRUTH tells."""
    path, _, part = text.partition("@")
    name, _, path = path.rpartition("=")
    return name or pathlib.Path(path).name.removesuffix(".gz").removesuffix(".nii"), path, part


def write_truth(quietvox, text):
    """Makes its file; returns its name, and what part of TRUTH's file it is."""
    if text in quality.PHANTOMS:
        quality.write_truth(quietvox, text, text, quality.PHANTOMS[text][0])
        return text, ""
    name, path, part = parts_of(text)
    return write_part(quietvox, name, path, part), part


def write_part(quietvox, name, path, part=""):
    """Makes the file of that truth, of a part of `path` or of all of it; returns its name."""
    image = quality.voxels(path)
    if part:
        image = image[tuple(slice(*map(int, axis.split(":"))) for axis in part.split(","))]
    quality.save(quietvox.folder / quality.file_of(name), image - min(image.min(), 0), nibabel.load(path).affine)
    return name


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("quietvox", type=pathlib.Path)
    parser.add_argument("truths", nargs="+")
    parser.add_argument("--threads", default=str(os.cpu_count()))
    parser.add_argument("--seed", type=int, default=20261)
    arguments = parser.parse_args()
    os.environ["ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS"] = arguments.threads  # before ANTs is loaded
    levels = (5, 11)
    with tempfile.TemporaryDirectory() as folder:
        quietvox = quality.Quietvox(arguments.quietvox.resolve(), pathlib.Path(folder))
        quietvox.threads = arguments.threads
        truths = dict(write_truth(quietvox, text) for text in arguments.truths)
        rows = white(quietvox, truths, levels, arguments.seed)
        columns = [f"{truth}, {level} %" for truth in truths for level in levels]
        shapes = {truth: quality.voxels(quietvox.folder / quality.file_of(truth)).shape for truth in truths}
        largest = f"{max(truths, key=lambda truth: math.prod(shapes[truth]))}, {levels[1]} %"
        described = (f"{truth} of {' x '.join(map(str, shapes[truth]))} voxels" + bool(part) * f", [{part}] of its file"
                     for truth, part in truths.items())
        shown = [f"![{truth}, five times]({picture_of(truth)})" for truth in truths if truth in PICTURES]
        psnrs = [[name, *(f"{row[column][0]:.2f}" if column in row else "" for column in columns)]
                 for name, row in rows.items()]
        rates = [[name, f"{row[largest][1]:.2g}"] for name, row in rows.items() if largest in row and row[largest][1]]
        volumes = [truth for truth in truths if "mammogram" not in truth]
        cut = [parts_of(text) for text in arguments.truths if "@" in text]
        wholes = [write_part(quietvox, f"{name}, whole", path) for name, path, _ in cut]
        of_magnitudes, of_tissues = rician(quietvox, [*volumes, *wholes, write_balls(quietvox)], arguments.seed)
        peers = {}
        for package in ("bm4d", "bm3d", "dipy", "antspyx"):
            peers |= quality.installed([package]) or {}
        PAGE.write_text(TEXT.format(
            machine=whole_command.processor(), threads=arguments.threads, seed=arguments.seed, level=levels[1],
            peers=", ".join(f"{name} {version}" for name, version in peers.items()) or "none installed",
            truths="Truths: " + "; ".join(described) + ".",
            pictures="\n\n".join(shown + [CREDITS[truth] for truth in truths if truth in CREDITS]),
            white=table(["", *columns], psnrs), speed=table(["", "Mvoxel/s"], rates),
            truth=volumes[0], lesions=lesions(quietvox, volumes[0], arguments.seed),
            rician=of_magnitudes, tissues=of_tissues, clean=clean(quietvox, truths)), encoding="utf-8")


if __name__ == "__main__":
    main()
