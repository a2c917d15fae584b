#!/usr/bin/python3
# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
#
# nlm_and_dipy.py QUIETVOX [THREADS] [RUNS]: non-local means beside DIPY's classic algorithm (python3-dipy), on the same
# volume and as many threads, in turn: seconds, processor seconds, and million voxel-offsets a processor second.
# quietvox reads and writes files besides. Stops where the two results differ.
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import nibabel
import numpy
from dipy.denoise.nlmeans import nlmeans

SIZE, PATCH, SEARCH, SIGMA = (64, 64, 48), 1, 5, 30.0


def processor_seconds():
    return sum(usage.ru_utime + usage.ru_stime
               for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def measured(name, work):
    start, spent = time.perf_counter(), processor_seconds()
    result = work()
    elapsed, spent = time.perf_counter() - start, processor_seconds() - spent
    offsets = numpy.prod(SIZE) * (2 * SEARCH + 1) ** 3
    print(f"{name:9} {elapsed:8.3f} s, processor {spent:8.3f} s, {offsets / spent / 1e6:8.1f} M voxel-offsets/s")
    return result, spent


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    threads, runs = (int(argument) for argument in (sys.argv[2:] + ["1", "3"][len(sys.argv) - 2:]))
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "in.nii"), os.path.join(folder, "out.nii")
        subprocess.run([program, "phantom", source, "--kind", "mr", "--size", "x".join(map(str, SIZE)), "--noise",
                        f"rician:{SIGMA}", "--quiet"], check=True)
        voxels = nibabel.load(source).get_fdata(dtype=numpy.float64)

        def ours():
            # DIPY's h^2 is sqrt(2) sigma^2, it averages squares, and reflects what lies beyond the edge.
            subprocess.run([program, "nlm", source, target, "--patch-radius", str(PATCH), "--search-radius", str(SEARCH),
                            "--sigma", str(SIGMA), "--strength", repr(2**0.25), "--noise-model", "rician", "--border",
                            "reflect", "--backend", "cpu", "--threads", str(threads), "--quiet", "--force"], check=True)
            return nibabel.load(target).get_fdata(dtype=numpy.float64)

        def theirs():
            return nlmeans(voxels, SIGMA, patch_radius=PATCH, block_radius=PATCH + SEARCH, rician=True,
                           num_threads=threads)

        ratios = []
        for _ in range(runs):
            (our_result, our_time), (their_result, their_time) = measured("quietvox", ours), measured("DIPY", theirs)
            if numpy.abs(our_result**2 - their_result**2).max() > 2e-5 * (voxels**2).max():
                raise SystemExit("the results differ by more than the filter's contract allows")
            ratios.append(their_time / our_time)
        print(f"ratio of processor seconds: {', '.join(f'{ratio:.1f}' for ratio in ratios)}")


if __name__ == "__main__":
    main()
