#!/usr/bin/env python3
# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
#
# gpu_report.py: writes docs/reports/gpu-speed.md and docs/reports/gpu-speed.svg from what the benchmarks left in bench/results.
import json
import math
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"

PAGE = """# Speed on a GPU

Made by `bench/gpu_report.py` from `bench/results`; do not edit. GPU: {gpu}, CUDA runtime {runtime}, driver for CUDA
{driver}, commit `{commit}`. Measured in the same run, and so the ceilings of all that follows:

| copy, read and write | float min or max | 16-bit min or max | exponentials | multiply-adds | to the device | from the device |
|---|---|---|---|---|---|---|
| {copy:.2f} TB/s | {minmax_f32:.1f} T/s | {minmax_s16x2:.1f} T/s | {exp2:.2f} T/s | {fma:.1f} T/s | {upload:.1f} GB/s | {download:.1f} GB/s |

![Median and bilateral filter: radius against throughput](gpu-speed.svg)

## Kernels

Time on the device for the whole filter, borders and missing voxels included, on noise. A setting is a radius where
nothing else is said. "Of the ceiling": of the rate that the slowest unit allows, which is the copy of the volume (of the
Gaussian one per axis), the minima and maxima of the selection network, a third of them made by sums in another unit, one
exponential for each neighbour, although two voxels may share theirs, or the multiplications of the pairs. "T tap/s":
neighbours of each window a second. Peers ran on the same GPU on the same sizes, CuPy's 3-D median on 256^3; its Gaussian
ends at 4 sigma, ours at 5.

| filter | setting | voxels | type | Gvoxel/s | T tap/s | of the ceiling | times NPP | times CuPy |
|---|---|---|---|---|---|---|---|---|
{kernels}

## Kernels of the strong denoisers

{profile_gpu}, commit `{profile_commit}`, 256^3 voxels of noise, by Nsight Compute: what share of its peak each unit of the device works
at, over the time of the kernel. The highest one is what the kernel is bound by; the rest to 100 is waiting. "Issue": instructions of
any kind; "FP32": multiply-adds. Measured ceilings of that device: {profile_fma:.1f} T multiply-adds/s, {profile_atomics:.2f} T additions/s of
64-bit atomics in the L2 cache, {profile_shared:.1f} TB/s from shared memory. "Atomics": of the former.

| filter | kernel | launches | ms | issue, % | FP32, % | shared memory, % | L1, % | L2, % | memory, % | atomics, % |
|---|---|---|---|---|---|---|---|---|---|---|
{profile}

## Beside ITK and OpenCV on a CPU

Our filters, those of ITK {itk} and those of OpenCV {opencv} on {threads} cores of the processor beside the GPU, an {processor},
from memory to memory in one run of `quietvox benchmark`, ITK and OpenCV on a part of the volume. The GPU's rates are those of
the kernels above, and "times" says how many times as fast that is. OpenCV's bilateral filter leaves out the corners of the window.

| filter | setting | GPU, Gvoxel/s | ours on the CPU, Mvoxel/s | times | ITK, Mvoxel/s | times | OpenCV, Mvoxel/s | times |
|---|---|---|---|---|---|---|---|---|
{cpu}

## The papers' own methods

Kernels of five papers, built anew from their text (`bench/published_methods.cu`), beside our filter: on the same image
with the same settings, in one run on this GPU, at sizes of the papers' images and tracks. Results are the same but for
rounding, save for the recursion from both ends, which is an approximation: {psnr} against our Gaussian. Their
kernels know no missing voxels, and those of 2023 see 8-bit pixels, whose range weights the bilateral filter and the
non-local means look up. Calls follow each other on the device without a gap. The shortest took {shortest_theirs:.1f} µs of theirs and
{shortest_ours:.1f} µs of ours, most of which is the start and the end of a kernel.

| paper | method | filter | setting | pixels | its Gpixel/s | ours, Gpixel/s | times |
|---|---|---|---|---|---|---|---|
{papers}

## Aims

Least rates that the project set itself before the kernels were written, from counted operations and prototypes, and what
better ideas should bring; both as the share that is reached. Rates are of float voxels, in Gvoxel/s where nothing else is
said. The adaptive bilateral filter was to have 0.8 (0.95) of the bilateral filter's taps, and the median of 16-bit voxels
1.9 (2.0) times the rate of floats: shares of what the other was to reach, since a faster bilateral filter makes no adaptive
one slow. What they have of the other's rate today stands beside theirs. The prototype behind 1.9 read words in which two
voxels stood ready; those of an image have to be put together first.

| filter | setting | rate | floor | reached | target | reached |
|---|---|---|---|---|---|---|
{aims}

The strong denoisers and nlm by a later commit, `{later_commit}`, on an {later_gpu}, float voxels, in Gvoxel/s:

| filter | setting | rate | floor | target |
|---|---|---|---|---|
{later}

## From host memory to host memory

512 x 512 x 512 float voxels, uploaded, filtered and fetched by the pipeline. The ceiling is the slower direction of
the bus.

| filter | setting | host memory | Gvoxel/s | of the bus |
|---|---|---|---|---|
{hosts}

## To measure again

On a machine with such a GPU, after `cmake --preset bench && cmake --build --preset bench`, with COMMIT what was built:

```bash
cd build-bench/bin
./cuda_benchmark ../../bench/results/h200.json COMMIT
./published_methods ../../bench/results/h200_published_methods.json COMMIT
./quietvox benchmark --json > ../../bench/results/h200_cpu.json  # built with OpenCV: docs/building.md
```

`bench/peers_npp.cu` and `bench/peers_cupy.py` say how they are run. Then `bench/gpu_report.py` writes this page.
"""


def load(name):
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def peer_rates(name):
    return {(row["filter"], row["setting"]): row["gvoxel_per_s"] for row in load(name)["rows"] if "gvoxel_per_s" in row}


def version(number):
    return f"{number // 1000}.{number % 1000 // 10}"


def line(*cells):
    return f"| {' | '.join(map(str, cells))} |"


# Per filter and setting: what is counted, the floor and the target.
AIMS = {
    **{("median", setting): ("Gvoxel/s", floor, target) for setting, floor, target in (
        ("1x1x0", 380, 460), ("2x2x0", 190, 235), ("3x3x0", 110, 130), ("4x4x0", 64, 76), ("5x5x0", 45, 54),
        ("6x6x0", 31, 39), ("7x7x0", 18, 32), ("15x15x0", 2, 8), ("1x1x1", 130, 170), ("2x2x1", 46, 58),
        ("2x2x2", 22, 28), ("3x3x1", 20, 28), ("3x3x3", 3, 9))},
    **{("bilateral", setting): ("T tap/s", floor, 5.5) for setting, floor in (
        ("3x3x0", 3.4), ("5x5x0", 3.6), ("7x7x0", 3.6), ("9x9x0", 3.6), ("3x3x3", 3.4), ("5x5x5", 3.6))},
    **{("nlm", f"patch {patch}, search {search}"): ("T offset/s", 1.0, 2.2) for patch, search in (
        ("1x1x0", "10x10x0"), ("2x2x0", "10x10x0"), ("1x1x1", "5x5x5"), ("2x2x2", "5x5x5"))},
    **{("gaussian", f"sigma {sigma}"): ("Gvoxel/s", 80, 150) for sigma in (1, 3, 6, 8)},
    ("quadratic", "3x3"): ("of the copy", 0.6, 0.85),
    ("quadratic", "5x5"): ("Gvoxel/s", 45, 75),
    ("dct", "4x4x4"): ("Gvoxel/s", 6.7, 17),
    ("prinlm", "search 5x5x5"): ("Gvoxel/s", 0.89, 2.2),
    ("bm4d", "4x4x4, default"): ("Gvoxel/s", 0.13, 0.38),
}
ADAPTIVE = (0.8, 0.95)  # of bilateral's
PACKED = (1.9, 2.0)  # 16 bits, times float, from 5x5 and 3x3x3 up, for windows with a network


def aims(rows):
    """Lines of the table of aims, from the first row of each filter and setting."""
    found, lines = {}, []
    for row in rows:
        if row["what"] == "kernel":
            found.setdefault((row["filter"], row["setting"], row["type"]), row)

    def add(name, setting, unit, rate, floor, target):
        lines.append(line(name, setting, f"{rate:.3g} {unit}", f"{floor:g}", f"{rate / floor:.2f}", f"{target:g}",
                          f"{rate / target:.2f}"))

    for (name, setting), (unit, floor, target) in AIMS.items():
        row = found[name, setting, "float"]
        rate = {"Gvoxel/s": row["gvoxel_per_s"], "of the copy": row["of_ceiling"]}.get(unit) or row["ttap_per_s"]
        add(name, setting, unit, rate, floor, target)

    def add_share(name, row, other, of_what, what, unit, shares):
        rate = row[what]
        floor, target = (float(f"{share * aim:.3g}") for share, aim in zip(shares, AIMS[other][1:]))
        add(name, row["setting"], f"{unit} ({rate / found[*other, 'float'][what]:.2f} of {of_what})", rate, floor, target)

    for row in found.values():
        name, setting = row["filter"], row["setting"]
        if name == "adaptive-bilateral":
            add_share(name, row, ("bilateral", setting.split(",")[0]), "bilateral's", "ttap_per_s", "T tap/s", ADAPTIVE)
        if (row["type"] == "int16" and setting != "1x1x0" and (name, setting) in AIMS
                and "no network" not in row["ceiling"]):
            add_share(f"{name}, 16-bit", row, (name, setting), "float's", "gvoxel_per_s", "Gvoxel/s", PACKED)
    for row in rows:
        if row["what"] == "pinned":
            add(f"{row['filter']}, host to host", row["setting"], "of the bus", row["of_ceiling"], 0.7, 0.9)
    return lines


def later_lines(rows):
    """Rates and, in the same unit, what they were to be."""
    lines = []
    for row in (row for row in rows if row["what"] == "kernel" and row["filter"] in ("nlm", "dct", "prinlm", "bm4d")):
        unit, *wanted = AIMS.get((row["filter"], row["setting"]), ("Gvoxel/s", None, None))
        in_gvoxels = [value * row["gvoxel_per_s"] / row.get("ttap_per_s", 1) if unit == "T offset/s" else value
                      for value in wanted if value]
        lines.append(line(row["filter"], row["setting"], f"{row['gvoxel_per_s']:.2f}",
                          *([f"{value:.2g}" for value in in_gvoxels] or ["", ""])))
    return lines


def extent(row):
    return " x ".join(str(count) for count in row["extent"] if count > 1)


def kernel_line(row, peers):
    key = (row["filter"], row["setting"])
    taps = f"{row['ttap_per_s']:.2f}" if "ttap_per_s" in row else ""
    ratios = [f"{row['gvoxel_per_s'] / peer[key]:.1f}" if key in peer and row["type"] == "float" else ""
              for peer in peers]
    return line(row["filter"], row["setting"], extent(row), row["type"], f"{row['gvoxel_per_s']:.4g}", taps,
                f"{row['of_ceiling']:.2f} of {row['ceiling']}", *ratios)


def cpu_lines(kernels, filters):
    """Of each filter that was measured on the CPU: the GPU's rate, those of the CPU, and how many times faster it is."""
    on_gpu = {(row["filter"], row["setting"]): row["gvoxel_per_s"] for row in reversed(kernels)
              if row["type"] == "float"}
    for entry in filters:
        name, parameters = entry["filter"]["name"], entry["filter"]["parameters"]
        setting = "x".join(map(str, parameters["radius"])) if "radius" in parameters \
            else f"sigma {parameters['sigma'][0]:g}"
        gpu, cells = on_gpu[name, setting], []
        for who in ("cpu", "itk", "opencv"):
            rate = entry["voxels_per_second"].get(who, 0) / 1e6
            cells += [f"{rate:.{0 if rate > 100 else 2}f}", f"{1e3 * gpu / rate:.0f}"] if rate else ["", ""]
        yield line(name, setting, f"{gpu:.4g}", *cells)


def paper_line(row):
    return line(row["paper"], row["method"], row["filter"], row["setting"], extent(row), f"{row['gvoxel_per_s']:.4g}",
                f"{row['ours_gvoxel_per_s']:.4g}", f"{row['ratio']:.3g}")


def half_width(row):
    return int(row["setting"].split("x")[0])


def plot(series, path):
    """Lines of (half width, Gvoxel/s) on a logarithmic scale."""
    width, height, left, top, right, bottom = 860, 420, 70, 20, 250, 50
    radii = sorted({x for _, points, _, _ in series for x, _ in points})
    values = [y for _, points, _, _ in series for _, y in points]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def place(x, y):
        along = radii.index(x) / (len(radii) - 1)
        up = (math.log10(y) - low) / (high - low)
        return left + along * (width - left - right), height - bottom - up * (height - top - bottom)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
           f'font-size="12"><rect width="100%" height="100%" fill="white"/>']
    for power in range(low, high + 1):
        _, y = place(radii[0], 10.0**power)
        out.append(f'<path d="M{left} {y:.1f}H{width - right}" stroke="#ddd"/>'
                   f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g}</text>')
    for radius in radii:
        x, _ = place(radius, 10.0**low)
        out.append(f'<text x="{x:.1f}" y="{height - bottom + 18}" text-anchor="middle">{radius}</text>')
    middle = (left + width - right) / 2
    out.append(f'<text x="{middle}" y="{height - 10}" text-anchor="middle">radius in voxels</text>'
               f'<text transform="translate(18 {height / 2}) rotate(-90)" text-anchor="middle">Gvoxel/s</text>')
    for number, (name, points, colour, dash) in enumerate(series):
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in sorted(points)))
        out.append(f'<polyline points="{corners}" fill="none" stroke="{colour}" stroke-width="2" '
                   f'stroke-dasharray="{dash}"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in
                (place(*point) for point in points)]
        y = top + 20 * number + 10
        out.append(f'<path d="M{width - right + 20} {y}h30" stroke="{colour}" stroke-width="2" '
                   f'stroke-dasharray="{dash}"/><text x="{width - right + 58}" y="{y + 4}">{name}</text>')
    path.write_text("\n".join(out) + "\n</svg>\n", encoding="utf-8")


def profile_lines(profile):
    shares = ("instructions", "fma", "shared", "l1", "l2", "dram")
    return [line(row["filter"], f"`{row['kernel']}`", str(row["launches"]), f"{row['ms']:.3f}",
                 *(f"{row[share]:.0f}" if share in row else "" for share in shares),
                 f"{100 * row['atomic_additions_per_s'] / profile['ceilings']['atomics']:.0f}") for row in profile["rows"]]


def main():
    ours, cpu, papers = load("h200.json"), load("h200_cpu.json"), load("h200_published_methods.json")["rows"]
    npp, cupy = peer_rates("h200_npp.json"), peer_rates("h200_cupy.json")
    profile = load("kernel_profile.json")
    later = load("h100.json")
    kernels = [row for row in ours["rows"] if row["what"] == "kernel"]
    hosts = [row for row in ours["rows"] if row["what"] != "kernel"]
    psnrs = [row["psnr_db"] for row in papers if "psnr_db" in row]
    shortest = {f"shortest_{whose}": min(math.prod(row["extent"]) / row[rate] for row in papers) / 1e3
                for whose, rate in (("theirs", "gvoxel_per_s"), ("ours", "ours_gvoxel_per_s"))}
    per_second = {name: rate / (1e9 if name in ("upload", "download") else 1e12)
                  for name, rate in ours["ceilings"].items()}
    (ROOT / "docs" / "reports" / "gpu-speed.md").write_text(PAGE.format(
        gpu=ours["gpu"], runtime=version(ours["cuda_runtime"]), driver=version(ours["cuda_driver"]),
        profile_gpu=profile["gpu"], profile_commit=profile["commit"], profile="\n".join(profile_lines(profile)),
        **{f"profile_{name}": profile["ceilings"][name] / 1e12 for name in ("fma", "atomics", "shared")},
        commit=ours["commit"], **per_second, **shortest, psnr=f"PSNR {min(psnrs):.0f} to {max(psnrs):.0f} dB",
        **{key: cpu[key] for key in ("processor", "threads", "itk", "opencv")},
        kernels="\n".join(kernel_line(row, (npp, cupy)) for row in kernels),
        cpu="\n".join(cpu_lines(kernels, cpu["filters"])), papers="\n".join(map(paper_line, papers)),
        aims="\n".join(aims(ours["rows"])), later="\n".join(later_lines(later["rows"])),
        later_commit=later["commit"], later_gpu=later["gpu"],
        hosts="\n".join(line(row["filter"], row["setting"], row["what"], f"{row['gvoxel_per_s']:.2f}",
                             f"{row['of_ceiling']:.2f}") for row in hosts)), encoding="utf-8")

    def ours_2d(name, kind):
        rows = [row for row in kernels
                if row["filter"] == name and row["type"] == kind and row["setting"].endswith("x0")]
        return [(half_width(row), row["gvoxel_per_s"]) for row in rows], \
            [(half_width(row), row["gvoxel_per_s"] / row["of_ceiling"]) for row in rows if "no network" not in row["ceiling"]]

    def peer_2d(rates, name):
        return [(int(radius.split("x")[0]), rate) for (kind, radius), rate in rates.items()
                if kind == name and radius.endswith("x0")]

    series = []
    for name, colour in (("median", "#1f77b4"), ("bilateral", "#d62728")):
        points, ceiling = ours_2d(name, "float")
        series += [(f"{name} 2-D, float", points, colour, ""), ("its ceiling", ceiling, colour, "2 4")]
        for peer, rates, dash in (("NPP", npp, "8 4"), ("CuPy", cupy, "12 3 3 3")):
            points = peer_2d(rates, name)
            if points:
                series.append((f"{name} 2-D, {peer}", points, colour, dash))
    plot([entry for entry in series if entry[1]], ROOT / "docs" / "reports" / "gpu-speed.svg")


if __name__ == "__main__":
    main()
