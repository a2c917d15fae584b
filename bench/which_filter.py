#!/usr/bin/env python3
# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
#
# which_filter.py [--quietvox PROGRAM] [--from-results]: filters phantoms with noise of every kind by every filter, with
# its default parameters and with those of a small grid; leaves the figures in bench/results/which_filter.json and makes
# docs/reports/which-filter.md and its pictures of them. --from-results: the page alone, from those figures. Needs Debian's
# python3-nibabel, as the tests do.
import argparse
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import nibabel
import numpy

from which_filter_page import write_page

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "which_filter.json"

# Size; size of the phantom that `quadratic` is trained on; what is added to every value, so that none is negative.
PHANTOMS = {
    "ct": {"size": (160, 160, 24), "training": (144, 136, 20), "shift": 1000},
    "mr": {"size": (128, 144, 32), "training": (112, 120, 28), "shift": 0},
    "mammogram": {"size": (576, 720, 1), "training": (512, 576, 1), "shift": 0},
}
# What is shown of each phantom: the first voxel, the size, and the middle and the width of the grey values.
PICTURES = {
    "ct": ((16, 16, 12), (128, 128, 1), (1040, 500)),
    "mr": ((0, 8, 16), (128, 128, 1), (450, 1000)),
    "mammogram": ((141, 379, 0), (128, 128, 1), (2000, 4000)),
}
# Kind as `add-noise` knows it, the amount for each phantom, and the phantom that the picture shows.
NOISES = {
    "salt-and-pepper, 20 %": ("salt-and-pepper", {"ct": 0.2, "mr": 0.2, "mammogram": 0.2}, "ct"),
    "salt-and-pepper, 50 %": ("salt-and-pepper", {"ct": 0.5, "mr": 0.5, "mammogram": 0.5}, "mr"),
    "Gaussian": ("gaussian", {"ct": 40, "mr": 40, "mammogram": 80}, "ct"),
    "Rician": ("rician", {"ct": 40, "mr": 60, "mammogram": 80}, "mr"),
    "Poisson": ("poisson", {"ct": 2, "mr": 4, "mammogram": 4}, "mammogram"),
    "speckle": ("speckle", {"ct": 0.05, "mr": 0.1, "mammogram": 0.05}, "mr"),
    "quantisation": ("quantisation", {"ct": 100, "mr": 100, "mammogram": 200}, "ct"),
}


def product(**values):
    return [dict(zip(values, choice)) for choice in itertools.product(*values.values())]


def grid(name, noise_kind, spacing, noise, trained):
    """The parameters tried for a filter, the default first. `noise`: root mean square error of the noisy volume."""
    millimetres = [f"{spacing * voxels:.4g}" for voxels in (1, 1.5, 2.5)]
    if name == "median":
        return [{}] + product(radius=["1x1x0", "2x2x0", "3x3x0", "1x1x1", "2x2x1"]) + [
            {"radius": "1x1x0", "shape": "cross"}, {"radius": "1x1x1", "shape": "cross"}]
    if name == "gaussian":
        return [{}] + [{"sigma": f"{spacing * voxels:.4g}"} for voxels in (0.4, 0.6, 0.8, 1.5, 2.5)]
    ranges = [f"{noise * factor:.4g}" for factor in (1, 2, 4)]
    if name == "bilateral":
        return [{}] + product(**{"domain-sigma": millimetres, "range-sigma": ranges})
    if name == "adaptive-bilateral":
        return [{}] + product(**{"domain-sigma": millimetres, "kappa": ["1.5", "3", "5"]}) + product(
            **{"rule": ["two-pass"], "domain-sigma": millimetres, "range-sigma": ranges[1:2]})
    if name == "nlm":
        models = ["gaussian", "rician"] if noise_kind == "rician" else ["gaussian"]
        return [{}] + product(**{"sigma": [f"{noise:.4g}"], "strength": ["0.6", "0.9", "1.2", "1.8"],
                                 "patch-radius": ["1x1x1", "2x2x1"], "search-radius": ["5x5x2"],
                                 "noise-model": models})
    return [{}, {"gain": "0"}] + [{"coefficients": file} for file in trained]


FILTERS = ("median", "gaussian", "bilateral", "adaptive-bilateral", "nlm", "quadratic")


class Tool:
    """Runs quietvox in a folder."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def __call__(self, *arguments):
        """What it prints, and the seconds that processors spent on it."""
        process = subprocess.Popen([self.program, *arguments, "--quiet", "--force"], cwd=self.folder,
                                   stdout=subprocess.PIPE)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"quietvox {' '.join(arguments)} ended with status {process.returncode}")
        return output, usage.ru_utime + usage.ru_stime

    def compare(self, a, b):
        output, _ = self("compare", a, b, "--json", "--threads", "1")
        result = json.loads(output)["volumes"][0]
        return {"psnr": round(result["psnr"], 3), "ssim": round(result["ssim"], 4),
                "edges": round(result["edge_preservation"], 4), "error": round(result["mse"] ** 0.5, 3)}

    def phantom(self, name, kind, size, shift):
        self("phantom", name, "--kind", kind, "--size", "x".join(map(str, size)))
        if shift:
            image = nibabel.load(self.folder / name)
            voxels = numpy.asarray(image.dataobj, dtype=numpy.float32) + numpy.float32(shift)
            nibabel.save(nibabel.Nifti1Image(voxels, image.affine, image.header), self.folder / name)


def train(tool, kind, noise_kind, amount):
    """Files of coefficients for this noise, learnt from another phantom and other noise of the kind."""
    tool("add-noise", "training.nii", "training-noisy.nii", "--kind", noise_kind, "--amount", str(amount), "--seed", "99")
    files = []
    for size, ridge in itertools.product(("3x3", "5x5"), ("0.0001", "0.01")):
        file = f"trained {size} ridge {ridge}.json"
        tool("train-quadratic", "training-noisy.nii", "training.nii", file, "--size", size, "--ridge", ridge,
             "--no-keep-flat")
        files.append(file)
    return files


def measure(tool, kind, noise_name, voxels, spacing):
    noise_kind, amounts, pictured = NOISES[noise_name]
    tool("add-noise", "truth.nii", "noisy.nii", "--kind", noise_kind, "--amount", str(amounts[kind]), "--seed", "1")
    noisy = tool.compare("truth.nii", "noisy.nii")
    trained = train(tool, kind, noise_kind, amounts[kind])
    case = {"phantom": kind, "noise": noise_name, "amount": amounts[kind], "noisy": noisy, "filters": {}}
    best_of_all = None
    for name in FILTERS:
        tried = []
        for parameters in grid(name, noise_kind, spacing, noisy["error"], trained):
            options = [text for key, value in parameters.items() for text in (f"--{key}", value)]
            _, seconds = tool(name, "noisy.nii", "result.nii", "--threads", "1", "--backend", "cpu", *options)
            tried.append({"parameters": parameters, "seconds_per_mvoxel": round(seconds / voxels * 1e6, 3),
                          **tool.compare("truth.nii", "result.nii")})
            if kind == pictured and (best_of_all is None or tried[-1]["psnr"] > best_of_all):
                best_of_all = tried[-1]["psnr"]
                shutil.copy(tool.folder / "result.nii", tool.folder / "best.nii")
        case["filters"][name] = tried
        print(f"{kind}, {noise_name}, {name}: {tried[0]['psnr']:.2f} dB, best "
              f"{max(row['psnr'] for row in tried):.2f} dB", flush=True)
    if kind == pictured:
        first, size, (middle, width) = PICTURES[kind]
        picture = ROOT / "docs" / "reports" / f"which-filter-{noise_name.split(' %')[0].replace(', ', '-').lower()}.png"
        tool("compare", "noisy.nii", "best.nii", "--picture", str(picture), "--picture-from", "x".join(map(str, first)),
             "--picture-size", "x".join(map(str, size)), "--window-center", str(middle), "--window-width", str(width))
    return case


def measure_all(program):
    cases = []
    with tempfile.TemporaryDirectory() as name:
        tool = Tool(program, pathlib.Path(name))
        for kind, phantom in PHANTOMS.items():
            tool.phantom("truth.nii", kind, phantom["size"], phantom["shift"])
            tool.phantom("training.nii", kind, phantom["training"], phantom["shift"])
            spacing = float(nibabel.load(tool.folder / "truth.nii").header.get_zooms()[0])
            voxels = int(numpy.prod(phantom["size"]))
            for noise in NOISES:
                cases.append(measure(tool, kind, noise, voxels, spacing))
    return {"version": subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.strip(),
            "phantoms": {kind: phantom["size"] for kind, phantom in PHANTOMS.items()}, "cases": cases}


def main():
    parser = argparse.ArgumentParser(description="Every filter on every kind of noise.")
    parser.add_argument("--quietvox", default=ROOT / "build/bin/quietvox", type=pathlib.Path)
    parser.add_argument("--from-results", action="store_true", help="make the page from the figures there are")
    arguments = parser.parse_args()
    if not arguments.from_results:
        results = measure_all(arguments.quietvox.resolve())
        text = json.dumps(results).replace('{"p', '\n{"p')  # a line for each run
        RESULTS.write_text(text + "\n", encoding="utf-8")
    write_page(json.loads(RESULTS.read_text(encoding="utf-8")), ROOT / "docs" / "reports" / "which-filter.md")


if __name__ == "__main__":
    main()
