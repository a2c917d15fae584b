#!/usr/bin/env python3
# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
"""How much of the truth comes back: filters, told nothing but the image, against noise as scanners write it.

    bench/quality.py QUIETVOX TRUTH [TRUTH...] [--seed N] [--peers] [--only METHOD,...] [--result FILE.json]

TRUTH is a NIfTI file without noise, or phantom:ct, phantom:mr or phantom:mammogram. Noise of every kind and of 1, 3 and
9 % of the truth's range is added by `quietvox add-noise`. PSNR counts the voxels of the object, those above 4 % of the
range. With --peers the filters of scikit-image, DIPY and ANTs run on the same files, as far as they are installed; they
are told the true standard deviation where they ask for one. Needs numpy and nibabel.
"""
import argparse
import importlib
import json
import math
import pathlib
import subprocess
import tempfile
import time

import nibabel
import numpy

KINDS = {
    "white": ["gaussian"],
    "rician": ["rician"],
    "zero-filled": ["zero-filled"],
    "g-factor": ["g-factor"],
    "ct-soft": ["ct", "--kernel", "soft"],
    "ct-sharp": ["ct", "--kernel", "sharp"],
    "interpolated": ["interpolated"],
}
SHARES = (0.01, 0.03137, 0.0902)  # of the range: 2.55, 8 and 23 of 255
FILTERS = ("bilateral", "adaptive-bilateral", "nlm", "dct", "prinlm", "bm4d", "denoise")


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(" ".join(str(word) for word in words) + ": " + done.stderr.strip())
    return done.stdout


def voxels(path):
    return numpy.asarray(nibabel.load(path).dataobj, dtype=numpy.float64)


def psnr(truth, image, inside, top):
    error = float(numpy.mean((truth[inside] - image[inside]) ** 2))
    return 10 * math.log10(top * top / error) if error > 0 else math.inf


def peers(noisy, sigma):
    """Name and result of each peer that is installed."""

    def have(name):
        try:
            return importlib.import_module(name)
        except ImportError:
            return None

    if restoration := have("skimage.restoration"):
        yield "scikit-image nlm", lambda: restoration.denoise_nl_means(
            noisy, patch_size=3, patch_distance=3, h=0.8 * sigma, sigma=sigma, fast_mode=True
        )
        yield "scikit-image tv", lambda: restoration.denoise_tv_chambolle(noisy, weight=sigma)
    if nlmeans := have("dipy.denoise.nlmeans"):
        yield "dipy nlmeans", lambda: nlmeans.nlmeans(noisy, sigma=sigma, patch_radius=1, block_radius=3, rician=False)
    if ants := have("ants"):
        yield "ants denoise_image", lambda: ants.denoise_image(ants.from_numpy(noisy)).numpy()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("quietvox")
    parser.add_argument("truths", nargs="+")
    parser.add_argument("--seed", type=int, default=101)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--result")
    options = parser.parse_args()
    known = run(options.quietvox, "--help")
    methods = [name for name in FILTERS if f"\n  {name} " in known]
    if options.only:
        methods = [name for name in methods if name in options.only.split(",")]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for truth_name in options.truths:
            truth_path = pathlib.Path(truth_name)
            if truth_name.startswith("phantom:"):
                kind = truth_name.split(":")[1]
                truth_path = folder / f"{kind}.nii"
                size = "512x512x1" if kind == "mammogram" else "128x128x32"
                run(options.quietvox, "phantom", truth_path, "--kind", kind, "--size", size, "--force")
            truth = voxels(truth_path)
            low = float(truth.min())
            top = float(truth.max()) - low
            inside = truth > low + 0.04 * top
            exact = folder / "truth.nii"  # as floats: noise is not rounded
            nibabel.save(nibabel.Nifti1Image(truth.astype(numpy.float32), nibabel.load(truth_path).affine), exact)
            for kind in options.kinds.split(","):
                for share in SHARES:
                    noisy_path, result_path = folder / "noisy.nii", folder / "result.nii"
                    run(options.quietvox, "add-noise", exact, noisy_path, "--kind", *KINDS[kind],
                        "--amount", share * top, "--seed", options.seed, "--force")
                    noisy = voxels(noisy_path)
                    sigma = float(numpy.std((noisy - truth)[inside]))
                    row = {"truth": truth_path.name, "kind": kind, "share": share, "sigma": sigma,
                           "noisy": psnr(truth, noisy, inside, top), "psnr": {}, "seconds": {}}
                    for method in methods:
                        begin = time.monotonic()
                        run(options.quietvox, method, noisy_path, result_path, "--force", "--backend", "cpu")
                        row["seconds"][method] = time.monotonic() - begin
                        row["psnr"][method] = psnr(truth, voxels(result_path), inside, top)
                    for name, peer in peers(noisy, sigma) if options.peers else ():
                        begin = time.monotonic()
                        image = numpy.asarray(peer())
                        row["seconds"][name] = time.monotonic() - begin
                        row["psnr"][name] = psnr(truth, image, inside, top)
                    rows.append(row)
                    print(f"{row['truth']:22} {kind:13} {sigma:7.2f} noisy {row['noisy']:6.2f} ",
                          "  ".join(f"{name} {value:6.2f}" for name, value in row["psnr"].items()), flush=True)
    if options.result:
        document = {"seed": options.seed, "version": run(options.quietvox, "--version").strip(), "rows": rows}
        pathlib.Path(options.result).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
