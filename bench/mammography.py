#!/usr/bin/env python3
# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
#
# mammography.py [QUIETVOX]: runs the commands of docs/mammography.md, and puts their pictures and figures there. Needs
# Debian's python3-nibabel and python3-scipy, as the tests do.
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
        ("median", "median"), ("chain", "median -> quadratic"), ("cleaned", "median -> nlm"),
        ("longer", "median -> nlm -> quadratic"))


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


def main():
    program = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else DOCS.parent / "build/bin/quietvox").resolve()
    page = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run(["bash", "-euc", f'quietvox() {{ "{program}" "$@" --quiet; }}\n' + commands(page)], cwd=folder,
                       check=True, stdout=subprocess.DEVNULL)
        for picture in folder.glob("*.png"):
            shutil.copy(picture, DOCS / picture.name)
        begin, end = "<!-- made by bench/mammography.py -->\n", "<!-- end -->"
        head, rest = page.split(begin)
        PAGE.write_text(head + begin + table(folder) + "\n" + end + rest.split(end)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
