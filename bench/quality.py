#!/usr/bin/env python3
# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
"""Denoising quality against a ground truth: filters of quietvox and of others against noise as scanners write it.

    bench/quality.py QUIETVOX RESULT.json TRUTH... [--jobs N] [--seed N] [--kinds K,...] [--methods M,...]
    bench/quality.py QUIETVOX RESULT.json TRUTH... --pictures FOLDER

TRUTH is a NIfTI file without noise, or phantom:ct, phantom:mr or phantom:mammogram. `quietvox add-noise` adds noise of
every kind. Each filter takes it out, once by its defaults or as its authors recommend ("automatic", given nothing but
the image), and once with each setting of a small grid, given the noise; the grid's best is the one nearest to the truth.

The truth that counts is what the scanner would record without noise (`add-noise --amount 0`): a zero-filled image has a
lower resolution. PSNR counts the voxels of the object, those above 4 % of the range; SSIM and edges are those of
`quietvox compare`. Seconds are processor seconds per million voxels on one thread; commands read and write besides.

Peers that are not installed (scikit-image and PyWavelets, dipy, antspyx, bm4d) are left out. What RESULT.json holds
already is not measured again, so that a run may be stopped, go on, or be made in parts. quality_report.py makes the pages
of it; --pictures draws theirs. Needs numpy and nibabel.
"""
import argparse
import concurrent.futures
import importlib.metadata
import itertools
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time
import zlib

for library in ("OMP", "OPENBLAS", "MKL"):  # before they are loaded: processor seconds are those of one thread
    os.environ[f"{library}_NUM_THREADS"] = "1"
os.environ["ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS"] = "1"

import nibabel
import numpy

# Options of add-noise and levels: percent of the range of the truth (of the voxels for impulses).
KINDS = {
    "white": (["gaussian"], (1, 3, 9)),
    "rician": (["rician"], (1, 3, 9)),
    "zero-filled": (["zero-filled"], (1, 3, 9)),
    "g-factor": (["g-factor"], (1, 3, 9)),
    "ct-soft": (["ct", "--kernel", "soft"], (1, 3, 9)),
    "ct-sharp": (["ct", "--kernel", "sharp"], (1, 3, 9)),
    "interpolated": (["interpolated"], (1, 3, 9)),
    "poisson": (["poisson"], (3,)),
    "speckle": (["speckle"], (3,)),
    "quantisation": (["quantisation"], (1,)),
    "impulses": (["salt-and-pepper"], (5, 30)),
}
MAGNITUDES = ("rician", "zero-filled", "g-factor")
CORRELATED = ("zero-filled", "ct-soft", "ct-sharp", "interpolated")
# Size, and size of the one that `quadratic` is trained on.
PHANTOMS = {
    "phantom:ct": ("160x160x16", "144x136x20"),
    "phantom:mr": ("128x144x32", "112x120x28"),
    "phantom:mammogram": ("512x512x1", "448x480x1"),
}
# Truth, kind, level, the first of 96x96 voxels that are shown, and whose automatic results.
PEERS_TOO = ("denoise", "nlm", "scikit-image nl_means", "ants denoise_image")
OURS = ("median", "bilateral", "nlm", "denoise")
PICTURES = {
    "quality-ct": ("phantom:ct", "ct-soft", 3, (32, 40, 8), PEERS_TOO),
    "quality-mammogram": ("phantom:mammogram", "white", 3, (141, 240, 0), PEERS_TOO),
    "which-filter-impulses": ("phantom:ct", "impulses", 5, (32, 40, 8), OURS),
    "which-filter-poisson": ("phantom:mammogram", "poisson", 3, (141, 240, 0), OURS),
}


class Quietvox:
    """Runs the program in a folder."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def __call__(self, *words):
        """What it prints, and its processor seconds."""
        words = [self.program, *map(str, words)]
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(words, cwd=self.folder, stdout=subprocess.PIPE, stderr=errors)
            output = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                errors.seek(0)
                raise RuntimeError(" ".join(map(str, words)) + ": " + errors.read().decode().strip())
        return output, usage.ru_utime + usage.ru_stime

    def add_noise(self, truth, noisy, kind, amount, seed):
        self("add-noise", truth, noisy, "--kind", *KINDS[kind][0], "--amount", amount, "--seed", seed, "--force",
             "--quiet")


def voxels(path):
    return numpy.asarray(nibabel.load(path).dataobj, dtype=numpy.float64)


def save(path, image, affine):
    nibabel.save(nibabel.Nifti1Image(image.astype(numpy.float32), affine), path)


def file_of(truth):
    return f"{truth.replace(':', '-')}.nii"


def write_truth(quietvox, name, source, size):
    """The truth as floats, so that noise is not rounded, and with no value below 0, so that it may be a magnitude."""
    path = quietvox.folder / file_of(name)
    if size:
        quietvox("phantom", path, "--kind", source.split(":")[1], "--size", size, "--force", "--quiet")
        source = path
    image = voxels(source)
    save(path, image - min(image.min(), 0), nibabel.load(source).affine)


class Case:
    """A truth with noise of a kind and a level."""

    def __init__(self, quietvox, truth, kind, level, seed):
        self.quietvox, self.truth, self.kind, self.level, self.seed = quietvox, truth, kind, level, seed
        self.name = f"{truth}, {kind}, {level} %"
        self.folder = quietvox.folder / self.name.replace(":", "-").replace(", ", "_").replace(" %", "")
        self.recorded, self.noisy = self.folder / "recorded.nii", self.folder / "noisy.nii"

    def amount(self, image):
        top, inside = float(image.max() - image.min()), image[self.inside(image)]
        if self.kind == "impulses":
            return self.level / 100
        sigma = self.level / 100 * top
        if self.kind == "quantisation":
            return sigma * math.sqrt(12)
        if self.kind == "poisson":
            return sigma**2 / float(inside.mean())
        if self.kind == "speckle":
            return sigma / float(numpy.sqrt(numpy.mean(inside**2)))
        return sigma

    @staticmethod
    def inside(image):
        return image > image.min() + 0.04 * (image.max() - image.min())

    def add(self, truth, noisy, amount, seed):
        self.quietvox.add_noise(truth, noisy, self.kind, amount, seed)

    def write(self):
        self.folder.mkdir()
        truth = self.quietvox.folder / file_of(self.truth)
        self.add(truth, self.recorded, 0, self.seed)
        self.add(truth, self.noisy, self.amount(voxels(truth)), self.seed)

    def load(self):
        self.clean, self.image = voxels(self.recorded), voxels(self.noisy)
        truth = voxels(self.quietvox.folder / file_of(self.truth))
        self.mask, self.top = self.inside(truth), float(truth.max() - truth.min())
        self.sigma = float(numpy.std((self.image - self.clean)[self.mask]))
        self.spacing = float(nibabel.load(self.noisy).header.get_zooms()[0])
        return self

    def psnr(self, image):
        error = float(numpy.mean((self.clean[self.mask] - image[self.mask]) ** 2))
        return 10 * math.log10(self.top**2 / max(error, 1e-12 * self.top**2))

    def figures(self, path):
        """Of the whole image, by `quietvox compare`."""
        output, _ = self.quietvox("compare", self.recorded, path, "--json", "--threads", 1, "--quiet")
        result = json.loads(output)["volumes"][0]
        return {"ssim": round(result["ssim"], 4), "edges": round(result["edge_preservation"], 3)}

    def spectrum(self):
        """The power spectrum of the noise, |DFT|^2, from other noise of the kind, with the variance of this one."""
        truth = self.quietvox.folder / file_of(self.truth)
        image = voxels(truth)
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            raised, noisy = pathlib.Path(folder, "raised.nii"), pathlib.Path(folder, "noisy.nii")
            # So bright that magnitudes have Gaussian noise everywhere.
            save(raised, image + 10 * self.top, nibabel.load(truth).affine)
            self.add(raised, noisy, 0, self.seed)
            clean, power = voxels(noisy), 0
            for seed in range(self.seed + 1, self.seed + 9):
                self.add(raised, noisy, self.amount(image), seed)
                power = power + numpy.abs(numpy.fft.fftn(voxels(noisy) - clean)) ** 2
        return power * (self.sigma**2 / power.mean() * image.size)


def product(**values):
    return [dict(zip(values, choice)) for choice in itertools.product(*values.values())]


def numbers(unit, *factors):
    return [f"{unit * factor:.4g}" for factor in factors]


def grid(case, method):
    """What is tried of a filter of quietvox besides its defaults: options with their values."""
    sigma = numbers(case.sigma, 1)
    domains = numbers(case.spacing, 1, 1.5, 2.5)
    if method == "median":
        return product(radius=["1x1x0", "2x2x0", "3x3x0", "1x1x1", "2x2x1"]) + [{"radius": "1x1x0", "shape": "cross"}]
    if method == "gaussian":
        return product(sigma=numbers(case.spacing, 0.4, 0.6, 0.8, 1.5))
    if method == "bilateral":
        return product(**{"domain-sigma": domains, "range-sigma": numbers(case.sigma, 1, 2, 4)})
    if method == "adaptive-bilateral":
        bounds = {"lowest-range-sigma": numbers(case.sigma, 0.5), "highest-range-sigma": numbers(case.sigma, 3)}
        return product(**{"domain-sigma": domains, "kappa": ["1.5", "3", "5"]}, **bounds)
    if method == "nlm":
        models = ["rician"] if case.kind in MAGNITUDES else ["gaussian"]
        return product(**{"sigma": sigma, "strength": ["0.5", "0.8", "1.2", "1.8"], "patch-radius": ["1x1x1", "2x2x1"],
                          "noise-model": models})
    if method == "dct":
        return product(sigma=sigma, strength=["0.7", "1", "1.4", "2"])
    if method == "prinlm":
        return product(**{"sigma": sigma, "strength": ["0.3", "0.45"], "guide-strength": ["1", "1.6"]}) + [
            {"guide": "bm4d"}]
    if method == "bm4d":
        return [{"strength": "0.8"}, {"strength": "1.25"}, {"sigma": sigma[0]}]
    if method == "denoise":
        return [{"strength": "light"}, {"strength": "strong"}]
    return [{"gain": "0"}] + product(coefficients=[f"trained {ridge}.json" for ridge in ("0.0001", "0.01")])


def train(case, folder):
    """Coefficients of `quadratic` for this noise, learnt from another phantom and other noise of the kind."""
    path = case.quietvox.folder / f"training-{file_of(case.truth)}"
    noisy = folder / "training.nii"
    case.add(path, noisy, case.amount(voxels(path)), case.seed + 1)
    for ridge in ("0.0001", "0.01"):
        case.quietvox("train-quadratic", noisy, path, folder / f"trained {ridge}.json", "--size", "5x5", "--ridge",
                      ridge, "--no-keep-flat", "--threads", 1, "--quiet")


def ours(method):
    def runs(case, folder):
        def run(options, name):
            words = [word for key, value in options.items() for word in (f"--{key}", value)]
            words = [folder / word if word.endswith(".json") else word for word in words]
            _, seconds = case.quietvox(method, case.noisy, folder / name, "--threads", 1, "--backend", "cpu", "--force",
                                       "--quiet", *words)
            return seconds

        if method == "quadratic":
            train(case, folder)
        yield True, "", lambda name: run({}, name)
        for options in grid(case, method):
            text = ", ".join(f"{key} {value.removesuffix('.json')}" for key, value in options.items())
            yield False, text, lambda name, options=options: run(options, name)

    return runs


def theirs(runs_of_arrays):
    """Runs that leave files, of a function of the case that yields (automatic, its parameters, function of nothing)."""

    def runs(case, folder):
        affine = nibabel.load(case.noisy).affine
        for automatic, text, function in runs_of_arrays(case):
            def run(name, function=function):
                begin = time.process_time()
                image = numpy.asarray(function())
                seconds = time.process_time() - begin
                save(folder / name, image.reshape(case.image.shape), affine)
                return seconds

            yield automatic, text, run

    return runs


def scikit_nl_means(case):
    from skimage import restoration

    image = case.image.squeeze()

    def run(sigma, size, distance, factor):
        return restoration.denoise_nl_means(image, patch_size=size, patch_distance=distance, h=factor * sigma,
                                            sigma=sigma, fast_mode=True)

    yield True, "", lambda: run(float(restoration.estimate_sigma(image)), 5, 6, 0.8)  # as in its gallery
    for factor in (0.6, 1, 1.8):
        yield False, f"true sigma, patch_size 3, patch_distance 3, h {factor} sigma", lambda factor=factor: run(
            case.sigma, 3, 3, factor)


def scikit_tv(case):
    from skimage import restoration

    image = case.image.squeeze()
    yield True, "", lambda: restoration.denoise_tv_chambolle(image / case.top) * case.top
    for factor in (0.5, 1, 2, 4):
        yield False, f"weight {factor} sigma", lambda factor=factor: restoration.denoise_tv_chambolle(
            image / case.top, weight=factor * case.sigma / case.top) * case.top


def scikit_wavelet(case):
    from skimage import restoration

    image = case.image.squeeze() / case.top
    yield True, "", lambda: restoration.denoise_wavelet(image, rescale_sigma=True) * case.top
    for factor in (0.7, 1.2, 2):
        yield False, f"sigma {factor} of the true one", lambda factor=factor: restoration.denoise_wavelet(
            image, sigma=factor * case.sigma / case.top, rescale_sigma=True) * case.top


def dipy_nlmeans(case):
    from dipy.denoise.nlmeans import nlmeans
    from dipy.denoise.noise_estimate import estimate_sigma

    rician = case.kind in MAGNITUDES

    def run(sigma, **options):
        return nlmeans(case.image, sigma=sigma, rician=rician, num_threads=1, **options)

    yield True, "", lambda: run(float(estimate_sigma(case.image, N=int(rician))[0]))
    for factor in (0.7, 1.2, 2):
        yield False, f"{factor} of the true sigma", lambda factor=factor: run(factor * case.sigma)
        yield False, f"classic, block_radius 3, {factor} of the true sigma", lambda factor=factor: run(
            factor * case.sigma, method="classic", block_radius=3)


def ants_denoise_image(case):
    import ants

    image = ants.from_numpy(case.image.squeeze().astype(numpy.float32))
    yield True, "", lambda: ants.denoise_image(image).numpy()
    yield False, "noise_model Gaussian", lambda: ants.denoise_image(image, noise_model="Gaussian").numpy()
    yield False, "r 1", lambda: ants.denoise_image(image, r=1).numpy()


def bm4d_told(case):
    from bm4d import bm4d

    if case.kind in CORRELATED:
        spectrum = case.spectrum()
        yield False, "true spectrum", lambda: bm4d(case.image, spectrum)
    else:
        yield False, "true sigma", lambda: bm4d(case.image, case.sigma)


# Name, packages, runs; the slowest first, so that none is left for one processor at the end.
PEERS = {
    "BM4D": (("bm4d",), bm4d_told),
    "ants denoise_image": (("antspyx",), ants_denoise_image),
    "scikit-image nl_means": (("scikit-image", "PyWavelets"), scikit_nl_means),
    "dipy nlmeans": (("dipy",), dipy_nlmeans),
    "scikit-image tv_chambolle": (("scikit-image",), scikit_tv),
    "scikit-image wavelet": (("scikit-image", "PyWavelets"), scikit_wavelet),
}
FILTERS = ("denoise", "prinlm", "bm4d", "nlm", "dct", "adaptive-bilateral", "bilateral", "median", "gaussian",
           "quadratic")
# The original BM4D knows additive Gaussian noise alone.
OF_SCANNERS_ALONE = ("BM4D",)
METHODS = {name: theirs(runs) for name, (_, runs) in PEERS.items()} | {name: ours(name) for name in FILTERS}


def measure(case, method):
    case.load()
    result = {"automatic": None, "best": None, "tried": 0}
    with tempfile.TemporaryDirectory(dir=case.folder) as folder:
        folder = pathlib.Path(folder)
        for automatic, text, run in METHODS[method](case, folder):
            seconds = run("result.nii")
            row = {"with": text, "psnr": round(case.psnr(voxels(folder / "result.nii")), 3),
                   "seconds": round(seconds / case.image.size * 1e6, 3)}
            best = result["best"] is None or row["psnr"] > result["best"]["psnr"]
            if automatic or best:
                row |= case.figures(folder / "result.nii")
            if automatic:
                result["automatic"] = row
            if best:
                result["best"] = row
            result["tried"] += 1
    return result


def prepare(case):
    case.write()
    case.load()
    return {"truth": case.truth, "kind": case.kind, "level": case.level, "sigma": round(case.sigma, 4),
            "noisy": {"psnr": round(case.psnr(case.image), 3), **case.figures(case.noisy)}, "methods": {}}


def installed(packages):
    try:
        return {name: importlib.metadata.version(name) for name in packages}
    except importlib.metadata.PackageNotFoundError:
        return None


def write(path, document):
    text = json.dumps(document).replace('{"automatic"', '\n{"automatic"').replace('{"truth"', '\n{"truth"')
    part = path.with_suffix(".part")
    part.write_text(text + "\n", encoding="utf-8")
    part.replace(path)


def write_png(path, gray):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", gray.shape[1], gray.shape[0], 8, 0, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in gray)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) +
                     chunk(b"IEND", b""))


def write_side_by_side(path, place, images, margin):
    """96x96 voxels of each from `place` on, in the window of the first and as much as `margin` beyond."""
    x, y, z = place
    parts = [image[x:x + 96, y:y + 96, z].T for image in images]
    low, high = numpy.percentile(parts[0], (1, 99))
    gray = (numpy.hstack(parts) - low + margin) / (high - low + 2 * margin)
    write_png(path, numpy.round(255 * gray.clip(0, 1)).astype(numpy.uint8))


def draw(quietvox, path, place, shown, case):
    """The truth, the noisy image and automatic results side by side."""
    case.write()
    case.load()
    parts = [case.clean, case.image]
    with tempfile.TemporaryDirectory(dir=case.folder) as folder:
        for method in shown:
            _, _, run = next(METHODS[method](case, pathlib.Path(folder)))
            run("result.nii")
            parts.append(voxels(pathlib.Path(folder, "result.nii")))
    write_side_by_side(path, place, parts, 3 * case.level / 100 * case.top)


def measure_all(options, cases, methods, document):
    known = document["cases"]
    failed = 0
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        for case, facts in zip(cases, pool.map(prepare, cases)):
            known.setdefault(case.name, facts)
        tasks = {}
        for method, case in itertools.product(methods, cases):
            scanner = len(KINDS[case.kind][1]) == 3
            if method not in known[case.name]["methods"] and (scanner or method not in OF_SCANNERS_ALONE):
                tasks[pool.submit(measure, case, method)] = (case, method)
        for done, task in enumerate(concurrent.futures.as_completed(tasks), 1):
            case, method = tasks[task]
            try:
                result = known[case.name]["methods"][method] = task.result()
            except Exception as error:  # of anyone's code: the others shall go on
                failed += 1
                print(f"{case.name}: {method} failed: {error}", file=sys.stderr, flush=True)
                continue
            write(options.result, document)
            first = result["automatic"]
            print(f"{done}/{len(tasks)} {case.name}: {method} {first['psnr'] if first else math.nan:.2f}, best "
                  f"{result['best']['psnr']:.2f} {result['best']['with']}", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("quietvox", type=pathlib.Path)
    parser.add_argument("result", type=pathlib.Path)
    parser.add_argument("truths", nargs="+")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=20261, help="nothing was tuned on the default")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--methods", default=",".join(METHODS), help="in the order in which they run")
    parser.add_argument("--pictures", type=pathlib.Path)
    options = parser.parse_args()
    methods = options.methods.split(",")
    peers = {name: installed(packages) for name, (packages, _) in PEERS.items() if name in methods}
    for name, versions in peers.items():
        if versions is None:
            print(f"{name} is left out: {' or '.join(PEERS[name][0])} is not installed", file=sys.stderr)
            methods.remove(name)
    with tempfile.TemporaryDirectory() as folder:
        quietvox = Quietvox(options.quietvox.resolve(), pathlib.Path(folder))
        version = quietvox("--version")[0].decode().strip()
        document = {"version": version, "seed": options.seed, "peers": {}, "truths": {}, "cases": {}}
        if options.result.exists():
            before = json.loads(options.result.read_text(encoding="utf-8"))
            if (before["version"], before["seed"]) != (version, options.seed):
                raise SystemExit(f"{options.result} is of another version or seed: give another file")
            document = before
        for versions in peers.values():
            document["peers"] |= versions or {}
        names = []
        for source in options.truths:
            names.append(source if source in PHANTOMS else pathlib.Path(source).name.split(".")[0])
            size, training = PHANTOMS.get(source, (None, PHANTOMS["phantom:mr"][1]))
            write_truth(quietvox, names[-1], source, size)
            write_truth(quietvox, "training-" + names[-1], source if source in PHANTOMS else "phantom:mr", training)
            document["truths"][names[-1]] = list(voxels(quietvox.folder / file_of(names[-1])).shape)
        if options.pictures:
            for name, (truth, kind, level, place, shown) in PICTURES.items():
                draw(quietvox, options.pictures / f"{name}.png", place, shown,
                     Case(quietvox, truth, kind, level, options.seed))
            return
        cases = [Case(quietvox, truth, kind, level, options.seed) for truth in names
                 for kind in options.kinds.split(",") for level in KINDS[kind][1]]
        raise SystemExit(1 if measure_all(options, cases, methods, document) else 0)


if __name__ == "__main__":
    main()
