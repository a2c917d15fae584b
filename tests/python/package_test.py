# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
"""The Python package beside the command line, SciPy, and what its documentation promises."""

import inspect
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import warnings

try:
    import jsonschema
    import nibabel
    import numpy
    from scipy import ndimage
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import quietvox

SOURCE = pathlib.Path(os.environ["SOURCE"])


def run_program(*arguments):
    """Returns what the program prints."""
    command = [os.environ["QUIETVOX"], *map(str, arguments), "--quiet"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def noisy(shape, sigma=20, seed=1):
    z, y, x = numpy.indices(shape)
    truth = 300 + 100 * ((x // 9 + y // 9 + z // 9) % 2)
    return (truth + numpy.random.default_rng(seed).normal(0, sigma, shape)).astype(numpy.float32)


class Scans(unittest.TestCase):
    """Tests in a folder of their own that holds ct/ and t1.nii.gz."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.before = os.getcwd()
        os.chdir(cls.folder.name)
        run_program("phantom", "ct", "--kind", "ct", "--size", "64x64x8", "--noise", "gaussian:25")
        run_program("phantom", "t1.nii.gz", "--kind", "mr", "--size", "48x56x16", "--noise", "rician:30")

    @classmethod
    def tearDownClass(cls):
        os.chdir(cls.before)
        cls.folder.cleanup()

    def test_arrays_of_nibabel_come_out_as_files_do(self):
        image = nibabel.load("t1.nii.gz")
        told = run_program("denoise", "t1.nii.gz", "by-program.nii", "--output-type", "float32", "--json")
        expected = nibabel.load("by-program.nii").get_fdata(dtype=numpy.float32)
        spacing = nibabel.affines.voxel_sizes(image.affine)
        quiet, report = quietvox.denoise(image.get_fdata(), spacing, axes="xyz", report=True)
        numpy.testing.assert_array_equal(quiet, expected)
        copy = numpy.ascontiguousarray(image.get_fdata())  # where voxels lie in memory does not matter
        numpy.testing.assert_array_equal(quietvox.denoise(copy, spacing, axes="xyz"), expected)
        self.assertEqual(report["filters"][0]["name"], "bm4d")
        volume = json.loads(told)["volumes"][0]
        self.assertEqual(volume.pop("stabilised"), "Rician noise")
        self.assertEqual({key: report[key] for key in ("filters", "noises")}, volume)

    def test_a_series_comes_out_as_its_file_does(self):
        series = numpy.stack([noisy((12, 40, 48), sigma, seed) for seed, sigma in enumerate((10, 12, 60, 11, 12))])
        image = nibabel.Nifti1Image(series.T, numpy.diag([1, 1, 3, 1]))
        for units, is_time in (("sec", True), ("unknown", False)):
            image.header.set_xyzt_units("mm", units)
            nibabel.save(image, "series.nii")
            told = json.loads(run_program("denoise", "series.nii", "quiet.nii", "--json", "--force"))
            expected = nibabel.load("quiet.nii").get_fdata(dtype=numpy.float32)
            options = {"time_series": is_time, "report": True}
            with warnings.catch_warnings(record=True) as caught:
                quiet, report = quietvox.denoise(series.T, (1, 1, 3), axes="xyz", **options)
            numpy.testing.assert_array_equal(quiet, expected)
            self.assertEqual([str(warning.message) for warning in caught], told["warnings"])
            self.assertEqual(report["volumes"], told["volumes"])
            self.assertEqual(report.get("noise_source"), told.get("noise_source"))
            quiet, _ = quietvox.denoise(series, (3, 1, 1), **options)
            numpy.testing.assert_array_equal(quiet, expected.T)
            quiet, _ = quietvox.denoise(series.transpose(1, 0, 2, 3), (3, 1, 1), axes="ztyx", **options)
            numpy.testing.assert_array_equal(quiet.transpose(1, 0, 2, 3), expected.T)

    def test_filters_and_masks_of_a_series(self):
        series = numpy.stack([noisy((6, 20, 24), seed=seed) for seed in range(3)])
        expected = numpy.stack([quietvox.median(volume, radius=(0, 1, 2)) for volume in series])
        numpy.testing.assert_array_equal(quietvox.median(series, radius=(0, 1, 2)), expected)
        got = quietvox.median(series.T, axes="xyzt", radius=(2, 1, 0))
        numpy.testing.assert_array_equal(got, expected.T)
        mask = numpy.zeros(series.shape[1:], bool)
        mask[:, 6:, :] = True
        expected = numpy.stack([quietvox.median(volume, radius=1, mask=mask) for volume in series])
        numpy.testing.assert_array_equal(quietvox.median(series, radius=1, mask=mask), expected)
        turned = quietvox.median(series.transpose(2, 0, 3, 1), axes="ytxz", radius=1, mask=mask.transpose(1, 2, 0))
        numpy.testing.assert_array_equal(turned, expected.transpose(2, 0, 3, 1))
        far = quietvox.median(series.astype(float) + 1e8, radius=1, mask=mask)
        numpy.testing.assert_allclose(far - 1e8, expected, atol=1e-3)
        numpy.testing.assert_array_equal(far[:, :, :6], series[:, :, :6].astype(float) + 1e8)
        # Volumes far from each other keep their digits, too.
        apart = numpy.array([0, 1e8, -2e8])[:, None, None, None]
        far = quietvox.median(series.astype(float) + apart, radius=1, mask=mask)
        numpy.testing.assert_allclose(far - apart, expected, atol=1e-3)
        turned = quietvox.median((series.astype(float) + apart).T, axes="xyz", radius=1, mask=mask.T)
        numpy.testing.assert_array_equal(turned, far.T)

    def test_the_noise_of_a_series_is_measured_as_that_of_its_file(self):
        series = numpy.stack([noisy((12, 40, 48), sigma, seed) for seed, sigma in enumerate((10, 12, 14))])
        nibabel.save(nibabel.Nifti1Image(series.T, numpy.diag([1, 1, 3, 1])), "series.nii")
        told = json.loads(run_program("estimate", "series.nii", "--map", "map.nii", "--json", "--force"))
        noises, sigma = quietvox.estimate(series, (3, 1, 1), map=True)
        self.assertEqual(noises, [volume["noise"] for volume in told["volumes"]])
        numpy.testing.assert_array_equal(sigma, nibabel.load("map.nii").get_fdata(dtype=numpy.float32).T)
        mask = numpy.ones(series.shape[1:], bool)
        mask[:4] = False
        inside = quietvox.estimate(series, (3, 1, 1), mask=mask)
        self.assertEqual(inside, quietvox.estimate(series.T, (1, 1, 3), axes="xyz", mask=mask.T))
        self.assertNotEqual(inside, noises)

    def test_a_scan_from_file_to_file(self):
        report = quietvox.denoise_scan("ct", pathlib.Path("ct-quiet"), threads=1)
        self.assertEqual(len(list(pathlib.Path("ct-quiet").iterdir())), 8)
        schema = json.loads((SOURCE / "docs/schema/quietvox-1.json").read_text())
        schema["$ref"] = "#/$defs/filter"
        jsonschema.validate({"schema": 1} | report, schema)
        with self.assertRaises(quietvox.Error) as caught:
            quietvox.denoise_scan("ct", "ct-quiet", ["median"])
        self.assertEqual(caught.exception.code, "exists")
        self.assertEqual(caught.exception.remedy, "use force=True to replace it")
        with self.assertRaisesRegex(quietvox.Error, "force = 'maybe' is not allowed"):
            quietvox.denoise_scan("ct", "ct-quiet", ["median"], force="maybe")
        steps = [quietvox.Filter("median", radius=(1, 1, 0)), "gaussian"]
        report = quietvox.denoise_scan(b"ct", "ct-quiet", steps, force=True, residual="residual.nii")
        self.assertEqual([step["name"] for step in report["requested"]], ["median", "gaussian"])
        self.assertEqual(report["volumes"][0]["filters"][0]["parameters"]["radius"], [1, 1, 0])
        self.assertTrue(pathlib.Path("residual.nii").exists())

    def test_an_unknown_option_is_refused_before_anything_is_done(self):
        with self.assertRaisesRegex(quietvox.Error, "no option is called 'thread'.* There are strength, .*threads") as caught:
            quietvox.denoise_scan("ct", "ct-never", thread=2)
        self.assertEqual(caught.exception.parameter, "threads")
        self.assertFalse(pathlib.Path("ct-never").exists())

    def test_a_scan_that_is_done_does_not_fail_by_its_progress(self):
        def fail(fraction):
            if fraction == 1:
                raise LookupError(fraction)

        seen = []
        hook, sys.unraisablehook = sys.unraisablehook, seen.append
        try:
            done = quietvox.denoise_scan("t1.nii.gz", "told.nii", "median", progress=fail)
        finally:
            sys.unraisablehook = hook
        self.assertTrue(os.path.exists(done["output"]))
        self.assertTrue(all(issubclass(one.exc_type, LookupError) for one in seen))

    def test_names_of_files_are_those_of_python(self):
        done = quietvox.denoise_scan("t1.nii.gz", b"\xfcber.nii", "median")
        self.assertTrue(all(os.path.exists(name) for name in [done["output"], *done["files"]]))
        for names in (("t1.nii.gz\0x", "never.nii"), ("t1.nii.gz", "never.nii\0.gz")):
            with self.assertRaisesRegex(ValueError, "null byte"):
                quietvox.denoise_scan(*names, "median")
        with self.assertRaisesRegex(ValueError, "mask.*null byte"):
            quietvox.denoise_scan("t1.nii.gz", "never.nii", "median", mask="a\0b")

    def test_the_readme_says_what_runs(self):
        blocks = re.findall(r"^```python\n(.*?)^```$", (SOURCE / "README.md").read_text(), re.DOTALL | re.MULTILINE)
        self.assertTrue(blocks)
        for block in blocks:
            exec(block, {})


class Volumes(unittest.TestCase):
    def test_what_is_given_per_axis_is_in_the_order_of_the_axes(self):
        volume = noisy((12, 20, 30))
        for layout in (volume, numpy.asfortranarray(volume), volume[::-1, :, ::2], volume.transpose(1, 0, 2)):
            expected = ndimage.median_filter(layout, size=(1, 3, 5), mode="nearest")
            for axes in ("zyx", "xyz", "yzx"):
                got = quietvox.median(layout, axes=axes, radius=(0, 1, 2), border="replicate")
                numpy.testing.assert_array_equal(got, expected)
        for axes, spacing, radius in (
            ("zyx", (9, 1, 1), [1, 1, 0]),
            ("zyx", (1, 1, 9), [0, 1, 1]),
            ("xyz", (9, 1, 1), [0, 1, 1]),
        ):
            _, report = quietvox.median(volume, spacing, axes=axes, report=True)
            self.assertEqual(report["filters"][0]["parameters"]["radius"], radius)  # x, y, z
        with self.assertWarnsRegex(UserWarning, "the window extends along z, where voxels lie 9 mm apart"):
            quietvox.median(volume, (9, 1, 1), radius=1)

    def test_equal_arrays_give_equal_results(self):
        volume = noisy((12, 24, 30))
        flat = volume[5]
        expected = quietvox.quadratic(flat)
        for image in (flat[None], flat[None].copy(), numpy.asfortranarray(flat), flat.astype(float)):
            numpy.testing.assert_array_equal(quietvox.quadratic(image).reshape(flat.shape), expected)
        layers = numpy.broadcast_to(flat, (8, 24, 30))
        numpy.testing.assert_array_equal(quietvox.quadratic(layers), quietvox.quadratic(layers.copy()))
        expected = quietvox.denoise(volume)
        numpy.testing.assert_array_equal(quietvox.denoise(numpy.asfortranarray(volume)), expected)
        numpy.testing.assert_array_equal(quietvox.denoise(volume, None, None, strength=None), expected)
        turned = quietvox.denoise(volume.transpose(2, 1, 0), axes="xyz")
        numpy.testing.assert_array_equal(turned.transpose(2, 1, 0), expected)

    def test_an_image_of_two_axes(self):
        image = noisy((40, 50, 1))[:, :, 0]
        got = quietvox.median(image, spacing=(1, 1), radius=(2, 1), border="replicate")
        numpy.testing.assert_array_equal(got, ndimage.median_filter(image, size=(5, 3), mode="nearest"))
        got = quietvox.median(image.T, spacing=(1, 1), axes="xy", radius=(1, 2), border="replicate")
        numpy.testing.assert_array_equal(got.T, ndimage.median_filter(image, size=(5, 3), mode="nearest"))
        self.assertEqual(quietvox.denoise(image.T).shape, (50, 40))

    def test_values_far_from_zero_keep_their_digits(self):
        volume = noisy((12, 24, 24)).round()
        expected = quietvox.median(volume, radius=1)
        for kind in ("f8", "i8"):
            far = volume.astype(kind) + 10**11
            got = quietvox.median(far, radius=1)
            self.assertEqual(got.dtype, numpy.float64)
            numpy.testing.assert_array_equal(got - 10**11, expected)
        blurred = quietvox.gaussian(volume.astype("f8") + 3e7, sigma=1) - 3e7
        numpy.testing.assert_allclose(blurred, quietvox.gaussian(volume, sigma=1), atol=0.01)
        mask = numpy.zeros(volume.shape)
        mask[:, :9] = 1
        got = quietvox.gaussian(volume + 1e8 / 3, mask=mask)
        numpy.testing.assert_array_equal(got[:, 9:], (volume + 1e8 / 3)[:, 9:])
        with self.assertRaisesRegex(quietvox.Error, "quadratic"):
            quietvox.quadratic(volume.astype("f8") + 1e8)
        with self.assertRaisesRegex(ValueError, "32-bit floats"):
            quietvox.median(volume.astype("f8") * 1e38)
        with self.assertRaisesRegex(ValueError, r"beyond 2\*\*53"):
            quietvox.median(volume.astype("i8") + 2**60)
        with self.assertRaisesRegex(ValueError, r"beyond 2\*\*53"):
            quietvox.median(volume.astype("u8") + 2**63)
        wide = numpy.full((4, 8, 8), 20_000_001)
        wide[0] = 0
        with self.assertRaisesRegex(ValueError, "20000001 does not fit into a 32-bit float"):
            quietvox.median(wide, radius=0)

    def test_labels_and_phases_are_known_by_their_looks(self):
        labels = numpy.kron(numpy.random.default_rng(2).integers(0, 6, (6, 6, 6)), numpy.ones((6, 6, 6)))
        with self.assertRaisesRegex(quietvox.Error, "look like labels.*force_kind='scalar'"):
            quietvox.gaussian(labels)
        self.assertEqual(quietvox.gaussian(labels, force_kind="scalar").shape, labels.shape)
        with self.assertRaisesRegex(quietvox.Error, "look like labels"):
            quietvox.gaussian(labels.astype(int) + 10**9)
        ramps = numpy.indices((16, 32, 120)).sum(0) % 100 + numpy.random.default_rng(3).normal(0, 1, (16, 32, 120))
        for offset in (500, 500 + 1e7):  # a period, but no turn
            self.assertEqual(quietvox.gaussian(ramps + offset).shape, ramps.shape)

    def test_voxels_of_every_real_type(self):
        volume = noisy((8, 16, 16)).astype(numpy.int16)
        expected = quietvox.median(volume.astype(numpy.float32), radius=1)
        for kind in ("<i2", ">i2", "u2", "i4", "f8", ">f4"):
            got = quietvox.median(volume.astype(kind), radius=1)
            self.assertEqual(got.dtype, numpy.float32)
            numpy.testing.assert_array_equal(got, expected)
        volume.flags.writeable = False
        numpy.testing.assert_array_equal(quietvox.median(volume, radius=1), expected)

    def test_every_filter_is_a_function(self):
        volume = noisy((12, 24, 24))
        before = volume.copy()
        names = set(quietvox.__all__) - {"Error", "Filter", "denoise", "denoise_scan", "estimate"}
        self.assertGreaterEqual(names, {"median", "bilateral", "adaptive_bilateral", "gaussian", "nlm", "dct", "bm4d"})
        for name in names:
            function = getattr(quietvox, name)
            self.assertIn("default", function.__doc__)
            self.assertGreater(len(inspect.signature(function).parameters), len(inspect.signature(quietvox.denoise).parameters) - 2)
            with self.subTest(name):
                self.assertEqual(function(volume).shape, volume.shape)
                numpy.testing.assert_array_equal(function(volume), quietvox.denoise(volume, None, quietvox.Filter(name)))
        numpy.testing.assert_array_equal(volume, before)

    def test_denoising_comes_nearer_to_the_truth(self):
        truth = noisy((16, 48, 48), sigma=0)
        volume = noisy((16, 48, 48))
        error = quietvox.denoise(volume) - truth
        self.assertLess(numpy.sqrt(numpy.mean(error**2)), 6)

    def test_masks_and_missing_voxels(self):
        volume = noisy((8, 24, 24))
        volume[3, 4, 5] = numpy.nan
        mask = numpy.zeros(volume.shape, bool)
        mask[:, 6:, :] = True
        got = quietvox.median(volume, radius=1, mask=mask)
        numpy.testing.assert_array_equal(got[:, :6], volume[:, :6])
        self.assertTrue((got[:, 6:] != volume[:, 6:]).any())
        unmasked = quietvox.median(volume, radius=1)
        self.assertTrue(numpy.isnan(unmasked[3, 4, 5]))
        self.assertEqual(numpy.isnan(unmasked).sum(), 1)
        for same in (mask.astype(float) * 1e-60, numpy.asfortranarray(mask), numpy.where(mask, 7, 0)):
            numpy.testing.assert_array_equal(quietvox.median(volume, radius=1, mask=same), got)
        with self.assertWarnsRegex(UserWarning, "no voxel is inside"):
            quietvox.median(volume, radius=1, mask=numpy.zeros(volume.shape))

    def test_the_noise_is_measured(self):
        volume = 500 + numpy.random.default_rng(3).normal(0, 20, (24, 64, 64))
        noise, sigma = quietvox.estimate(volume, map=True)
        self.assertAlmostEqual(noise["sigma"], 20, delta=1)
        self.assertEqual(sigma.shape, volume.shape)
        self.assertAlmostEqual(float(sigma.mean()), 20, delta=1)
        self.assertEqual(quietvox.estimate(volume, threads=1), noise)
        self.assertEqual(quietvox.estimate(volume, axes=None), noise)

    def test_the_noise_is_measured_inside_a_mask(self):
        rng = numpy.random.default_rng(4)
        volume = rng.normal(0, 20, (24, 64, 96))
        volume[:, :, 48:] *= 3
        mask = numpy.zeros(volume.shape, bool)
        mask[:, :, 48:] = True
        inside = quietvox.estimate(volume, mask=mask, force_kind="scalar")
        self.assertAlmostEqual(inside["sigma"], 60, delta=4)
        xyz = quietvox.estimate(volume.T, mask=mask.T, axes="xyz", force_kind="scalar")
        self.assertEqual(xyz, inside)
        with self.assertRaises(ValueError):
            quietvox.estimate(volume, mask=mask[1:])

    def test_bad_values_are_refused_with_the_keyword(self):
        volume = noisy((8, 16, 16))
        with self.assertRaises(quietvox.Error) as caught:
            quietvox.bilateral(volume, range_sigma=-1)
        self.assertEqual((caught.exception.code, caught.exception.parameter), ("invalid_argument", "range_sigma"))
        self.assertIn("range_sigma = '-1' is not allowed; give", str(caught.exception))
        for error, call in (
            (quietvox.Error, lambda: quietvox.median(volume, radios=1)),
            (quietvox.Error, lambda: quietvox.denoise(volume, None, "mediam")),
            (quietvox.Error, lambda: quietvox.denoise(volume, None, "median", strength="strong")),
            (quietvox.Error, lambda: quietvox.denoise(volume, backend="cuda:99")),
            (quietvox.Error, lambda: quietvox.denoise(volume, force_kind="labels")),
            (quietvox.Error, lambda: quietvox.median(volume, radius=1.5)),
            (TypeError, lambda: quietvox.denoise(volume, threads=())),
            (TypeError, lambda: quietvox.median(volume, radius=(1, 1))),
            (TypeError, lambda: quietvox.median(volume, radius=volume)),
            (TypeError, lambda: quietvox.denoise(volume, None, ["median", 3])),
            (TypeError, lambda: quietvox.denoise(volume, None, "median", radius=1)),
            (TypeError, lambda: quietvox.Filter(3)),
            (TypeError, lambda: quietvox.denoise(volume, progress=3)),
            (TypeError, lambda: quietvox.denoise_scan("ct", "out", progress=3)),
            (ValueError, lambda: quietvox.denoise(volume, "111")),
            (TypeError, lambda: quietvox.denoise("ct")),
            (TypeError, lambda: quietvox.denoise(numpy.ma.masked_array(volume, volume > 300))),
            (TypeError, lambda: quietvox.estimate(volume, backend="cpu")),
            (ValueError, lambda: quietvox.denoise(volume, axes="yx")),
            (ValueError, lambda: quietvox.denoise(volume, axes=(0, 1, 2))),
            (ValueError, lambda: quietvox.denoise(volume[0], axes="zzyx")),
            (ValueError, lambda: quietvox.denoise(volume, 1.5)),
            (ValueError, lambda: quietvox.denoise(volume, spacing=(1, 1))),
            (ValueError, lambda: quietvox.denoise(volume, spacing=(1, 0, 1))),
            (ValueError, lambda: quietvox.denoise(volume, spacing=(1, float("nan"), 1))),
            (ValueError, lambda: quietvox.denoise(volume[0, 0])),
            (ValueError, lambda: quietvox.denoise(volume[None, None])),
            (ValueError, lambda: quietvox.denoise(volume[None], axes="txy")),
            (ValueError, lambda: quietvox.denoise(volume[None], spacing=(2, 1, 1, 1))),
            (ValueError, lambda: quietvox.denoise(volume[None], mask=volume[None])),
            (ValueError, lambda: quietvox.denoise(volume, time_series=True)),
            (ValueError, lambda: quietvox.estimate(volume, time_series=True)),
            (quietvox.Error, lambda: quietvox.denoise(volume[None], time_series="yes")),
            (ValueError, lambda: quietvox.denoise(volume[:0])),
            (ValueError, lambda: quietvox.denoise(volume, mask=volume[1:])),
            (TypeError, lambda: quietvox.denoise(volume * 1j)),
            (TypeError, lambda: quietvox.denoise(type("Image", (list,), {"GetSpacing": None})([[[1.0] * 4] * 4] * 4))),
            (TypeError, lambda: quietvox.denoise([["a"]])),
        ):
            with self.assertRaises(error):
                call()

    def test_warnings_are_pythons(self):
        with self.assertWarnsRegex(UserWarning, "noise") as caught:
            quietvox.denoise(numpy.full((8, 16, 16), 7.0))
        self.assertEqual(caught.filename, __file__)
        with self.assertWarnsRegex(UserWarning, "noise") as caught:
            quietvox.bilateral(numpy.full((8, 16, 16), 7.0))
        self.assertEqual(caught.filename, __file__)

    def test_progress_and_what_it_raises(self):
        volume = noisy((40, 128, 128))
        told = []
        quietvox.nlm(volume, progress=told.append, backend="cpu")
        self.assertEqual(told, sorted(told))
        self.assertEqual(told[-1], 1)
        of_chain = []
        quietvox.denoise(volume[:8], None, ["median", "bilateral", "dct"], progress=of_chain.append)
        self.assertEqual(of_chain, sorted(of_chain))
        self.assertEqual(of_chain[-1], 1)

        def fail(fraction):
            raise LookupError(fraction)

        with self.assertRaises(LookupError):
            quietvox.nlm(volume, search_radius=6, progress=fail, backend="cpu")

    def test_threads_left_behind_end_with_the_interpreter(self):
        script = """
import threading, time, numpy, quietvox
volume = numpy.random.default_rng(1).normal(300, 20, (40, 128, 128))
def run():
    while True:
        try:
            quietvox.bm4d(volume, sigma=15, quality="best", threads=1, backend="cpu")
        except quietvox.Error:
            pass
for _ in range(3):
    threading.Thread(target=run, daemon=True).start()
time.sleep(0.3)
"""
        command = [sys.executable, "-c", script]
        self.assertEqual(subprocess.run(command, stderr=subprocess.DEVNULL, timeout=60).returncode, 0)

    def test_signals_end_the_work(self):
        volume = noisy((64, 256, 256))
        signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        start = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            quietvox.nlm(volume, search_radius=15, threads=1, backend="cpu")
        self.assertLess(time.monotonic() - start, 5)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    unittest.main()
