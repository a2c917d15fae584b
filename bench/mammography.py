#!/usr/bin/env python3
# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
#
# mammography.py [QUIETVOX [MAMMOGRAM]]: runs the commands of docs/mammography.md, and puts their pictures and figures
# there; with a real MAMMOGRAM in DICOM, its figures too. Needs Debian's python3-nibabel and python3-scipy, as the tests
# do.
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import nibabel
import numpy
from scipy import ndimage

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "mammography.md"

PIXEL = 180 / 1024                      # mm
MASS, GRAINS = (64, 139), (88, 91)      # centres in the phantom, mm from its first pixel
ROWS = (("truth", "the phantom without noise"), ("noisy", "with noise"), ("enhanced", "quadratic"),
        ("median", "median"), ("chain", "median -> quadratic"), ("reversed", "median -> nlm -> quadratic"),
        ("cleaned", "nlm -> median"), ("longer", "nlm -> median -> quadratic"))

MEDIAN, ENHANCE = "median:radius=1x1x0,shape=cross", "quadratic:coefficients=mammogram-enhance"
REAL_CHAINS = ((), (ENHANCE,), (MEDIAN, ENHANCE), (MEDIAN, "nlm", ENHANCE), ("nlm",), ("nlm", ENHANCE),
               ("nlm", MEDIAN), ("nlm", MEDIAN, ENHANCE))


def commands(page):
    return "\n".join(re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))


def load(path):
    return nibabel.load(path).get_fdata()[:, :, 0]


def distance(shape, centre):
    """Of each pixel from a place, in mm."""
    x, y = numpy.indices(shape)
    return numpy.hypot(x * PIXEL - centre[0], y * PIXEL - centre[1])


def structures(truth):
    """Name, where it is, what surrounds it."""
    from_mass, from_grains = distance(truth.shape, MASS), distance(truth.shape, GRAINS)
    around_mass = (from_mass > 6) & (from_mass < 20)
    spikes = around_mass & (truth - ndimage.median_filter(truth, 25) > 120)
    around_mass &= ~ndimage.binary_dilation(spikes, iterations=3)
    around_grains = from_grains < 9
    grains = around_grains & (truth - ndimage.median_filter(truth, 15) > 700)
    around_grains &= ~ndimage.binary_dilation(grains, iterations=4)
    return (("mass", from_mass < 4, around_mass), ("spikes", spikes, around_mass), ("grains", grains, around_grains))


def table(folder):
    found = structures(load(folder / "truth.nii.gz"))
    lines = ["| | " + " | ".join(f"{name}: contrast | noise | CNR" for name, _, _ in found) + " |",
             "|---" * (1 + 3 * len(found)) + "|"]
    for file, name in ROWS:
        image = load(folder / f"{file}.nii.gz")
        rest = image - ndimage.uniform_filter(image, 9)
        cells = []
        for _, inside, around in found:
            contrast, noise = image[inside].mean() - image[around].mean(), rest[around].std()
            cells += [f"{contrast:.0f}", f"{noise:.0f}", f"{contrast / noise:.1f}"]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def flat_patches(image, inside, size=32):
    """The fifth of all patches within the breast that vary least once the noise is smoothed away."""
    smooth = ndimage.gaussian_filter(image, 10)
    patches = [numpy.s_[x:x + size, y:y + size] for x in range(0, image.shape[0] - size, size)
               for y in range(0, image.shape[1] - size, size)]
    patches = [patch for patch in patches if inside[patch].all()]
    return sorted(patches, key=lambda patch: numpy.ptp(smooth[patch]))[:len(patches) // 5]


def real_table(program, mammogram, folder):
    images = []
    for number, chain in enumerate(REAL_CHAINS):
        path = folder / f"real{number}.nii"
        steps = [word for step in chain or ("median:radius=0",) for word in ("--filter", step)]
        subprocess.run([program, "run", mammogram, path, "--quiet", *steps], check=True)
        images.append(load(path).astype(float))
    source = images[0]
    breast = ndimage.binary_opening(source > 100, iterations=3)
    inside = ndimage.binary_erosion(breast, iterations=60)
    patches = flat_patches(source, inside)
    steepness = numpy.where(inside, ndimage.gaussian_gradient_magnitude(source, 3), 0)
    edges = steepness >= numpy.percentile(steepness[inside], 99)
    lines = ["| | deviation | noise | edges |", "|---|---|---|---|"]
    for chain, image in zip(REAL_CHAINS, images):
        rest = image - ndimage.uniform_filter(image, 9)
        deviation, noise = (numpy.median([voxels[patch].std() for patch in patches]) for voxels in (image, rest))
        edge = ndimage.gaussian_gradient_magnitude(image, 1)[edges].mean()
        name = " -> ".join(step.split(":")[0] for step in chain) or "the mammogram"
        lines.append(f"| {name} | {deviation:.1f} | {noise:.1f} | {edge:.1f} |")
    return "\n".join(lines)


def put_table(page, kind, table_text):
    """The page with another table of a kind."""
    begin, end = f"<!-- {kind}, made by bench/mammography.py -->\n", "<!-- end -->"
    head, rest = page.split(begin)
    return head + begin + table_text + "\n" + end + rest.split(end, 1)[1]


def main():
    program = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else DOCS.parent / "build/bin/quietvox").resolve()
    page = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run(["bash", "-euc", f'quietvox() {{ "{program}" "$@" --quiet; }}\n' + commands(page)], cwd=folder,
                       check=True, stdout=subprocess.DEVNULL)
        for picture in folder.glob("*.png"):
            shutil.copy(picture, DOCS / picture.name)
        page = put_table(page, "phantom", table(folder))
        if len(sys.argv) > 2:
            page = put_table(page, "real", real_table(program, sys.argv[2], folder))
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
