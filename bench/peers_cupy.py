# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
#
# peers_cupy.py [RESULT.json]: CuPy's median and Gaussian filters on the GPU, at the sizes that cuda_benchmark times.
import json
import sys

import cupy as cp
import cupyx.scipy.ndimage as ndimage
import numpy as np


def seconds(body, runs=3, repeats=1):
    """Median time of a few measurements on the device, after one to warm up; `repeats` hide the time to queue."""
    times = []
    for run in range(-1, runs):
        start, stop = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        for _ in range(repeats):
            body()
        stop.record()
        stop.synchronize()
        if run >= 0:
            times.append(cp.cuda.get_elapsed_time(start, stop) / 1e3 / repeats)
    return sorted(times)[len(times) // 2]


def main():
    random = np.random.default_rng(0)
    flat = cp.asarray(random.normal(1000, 150, (4096, 4096)).astype(np.float32))
    deep = cp.asarray(random.normal(1000, 150, (256, 256, 256)).astype(np.float32))
    rows = []
    for radius, size in [(f"{r}x{r}x0", 2 * r + 1) for r in (1, 2, 3, 4, 5, 6, 7, 15)]:
        time = seconds(lambda: ndimage.median_filter(flat, size=size, mode="nearest"), repeats=10 if size < 9 else 1)
        rows.append({"peer": "cupy", "filter": "median", "setting": radius, "gvoxel_per_s": flat.size / time / 1e9})
    for radius, size in [("1x1x1", 3), ("2x2x1", (3, 5, 5)), ("2x2x2", 5), ("3x3x1", (3, 7, 7)), ("3x3x3", 7)]:
        time = seconds(lambda: ndimage.median_filter(deep, size=size, mode="nearest"), 1)
        rows.append({"peer": "cupy", "filter": "median", "setting": radius, "gvoxel_per_s": deep.size / time / 1e9})
    cube = cp.asarray(random.standard_normal((512, 512, 512), np.float32) * 150 + 1000)
    for sigma in (1, 3, 6, 8):
        time = seconds(lambda: ndimage.gaussian_filter(cube, sigma, mode="nearest"))
        rows.append({"peer": "cupy", "filter": "gaussian", "setting": f"sigma {sigma}",
                     "gvoxel_per_s": cube.size / time / 1e9})
    for row in rows:
        print(f"cupy {cp.__version__} {row['filter']} {row['setting']:8} {row['gvoxel_per_s']:9.3f} Gvoxel/s")
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w", encoding="utf-8") as file:
            json.dump({"cupy": cp.__version__, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
