#!/usr/bin/env python3
# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
#
# report.py: writes docs/gpu-speed.md and docs/gpu-speed.svg from what the benchmarks left in bench/results.
import json
import math
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"

PAGE = """# Speed on a GPU

Made by `bench/report.py` from `bench/results`; do not edit. GPU: {gpu}, CUDA runtime {runtime}, driver for CUDA
{driver}, commit `{commit}`. Measured in the same run, and so the ceilings of all that follows:

| copy, read and write | float min or max | 16-bit min or max | exponentials | multiply-adds | to the device | from the device |
|---|---|---|---|---|---|---|
| {copy:.2f} TB/s | {minmax_f32:.1f} T/s | {minmax_s16x2:.1f} T/s | {exp2:.2f} T/s | {fma:.1f} T/s | {upload:.1f} GB/s | {download:.1f} GB/s |

![Median and bilateral filter: radius against throughput](gpu-speed.svg)

## Kernels

Time on the device for the whole filter, borders and missing voxels included, on noise. A setting is a radius where
nothing else is said. "Of the ceiling": of the rate that the slowest unit allows, which is the copy of the volume (of the
Gaussian one per axis), the minima and maxima of the selection network, a third of them made by sums in another unit, one
exponential for each neighbour, or the multiplications of the pairs. "T tap/s": neighbours of each window a second. Peers
ran on the same GPU on the same sizes, CuPy's 3-D median on 256^3; its Gaussian ends at 4 sigma, ours at 5.

| filter | setting | voxels | type | Gvoxel/s | T tap/s | of the ceiling | times NPP | times CuPy |
|---|---|---|---|---|---|---|---|---|
{kernels}

## Aims

Least rates that the project set itself before the kernels were written, from counted operations and prototypes, and what
better ideas should bring; both as the share that is reached. Rates are of float voxels, in Gvoxel/s where nothing else is
said.

| filter | setting | rate | floor | reached | target | reached |
|---|---|---|---|---|---|---|
{aims}

## From host memory to host memory

512 x 512 x 512 float voxels, uploaded, filtered and fetched by the pipeline. The ceiling is the slower direction of
the bus.

| filter | setting | host memory | Gvoxel/s | of the bus |
|---|---|---|---|---|
{hosts}
"""


def load(name):
    path = RESULTS / name
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def peer_rates(data):
    return {(row["filter"], row["setting"]): row["gvoxel_per_s"] for row in data["rows"] if "gvoxel_per_s" in row}


def version(number):
    return f"{number // 1000}.{number % 1000 // 10}"


# Per filter and setting: what is counted, the floor and the target.
AIMS = {
    **{("median", setting): ("Gvoxel/s", floor, target) for setting, floor, target in (
        ("1x1x0", 380, 460), ("2x2x0", 190, 235), ("3x3x0", 110, 130), ("4x4x0", 64, 76), ("5x5x0", 45, 54),
        ("6x6x0", 31, 39), ("7x7x0", 18, 32), ("15x15x0", 2, 8), ("1x1x1", 130, 170), ("2x2x1", 46, 58),
        ("2x2x2", 22, 28), ("3x3x1", 20, 28), ("3x3x3", 3, 9))},
    **{("bilateral", setting): ("T tap/s", floor, 5.5) for setting, floor in (
        ("3x3x0", 3.4), ("5x5x0", 3.6), ("7x7x0", 3.6), ("9x9x0", 3.6), ("3x3x3", 3.4), ("5x5x5", 3.6))},
    **{("adaptive-bilateral", f"{radius}, {rule}"): ("taps over bilateral's", 0.8, 0.95)
       for rule in ("variance", "two-pass") for radius in ("3x3x0", "5x5x0", "3x3x3")},
    **{("nlm", f"patch {patch}, search {search}"): ("T offset/s", 1.0, 2.2) for patch, search in (
        ("1x1x0", "10x10x0"), ("2x2x0", "10x10x0"), ("1x1x1", "5x5x5"), ("2x2x2", "5x5x5"))},
    **{("gaussian", f"sigma {sigma}"): ("Gvoxel/s", 80, 150) for sigma in (1, 3, 6, 8)},
    ("quadratic", "3x3"): ("of the copy", 0.6, 0.85),
    ("quadratic", "5x5"): ("Gvoxel/s", 45, 75),
}
FLOOR_16_BIT, TARGET_16_BIT = 1.9, 2.0  # times float, from 5x5 and 3x3x3 up, for windows with a network


def aims(rows):
    """Lines of the table of aims, from the first row of each filter and setting."""
    found, lines = {}, []
    for row in rows:
        if row["what"] == "kernel":
            found.setdefault((row["filter"], row["setting"], row["type"]), row)

    def add(name, setting, unit, rate, floor, target):
        lines.append(f"| {name} | {setting} | {rate:.3g} {unit} | {floor} | {rate / floor:.2f} | {target} | "
                     f"{rate / target:.2f} |")

    for (name, setting), (unit, floor, target) in AIMS.items():
        row = found[name, setting, "float"]
        if unit.startswith("taps"):
            rate = row["ttap_per_s"] / found["bilateral", setting.split(",")[0], "float"]["ttap_per_s"]
        else:
            rate = {"Gvoxel/s": row["gvoxel_per_s"], "of the copy": row["of_ceiling"]}.get(unit) or row["ttap_per_s"]
        add(name, setting, unit, rate, floor, target)
    for (name, setting, kind), row in found.items():
        if kind == "int16" and setting != "1x1x0" and "no network" not in row["ceiling"]:
            rate = row["gvoxel_per_s"] / found[name, setting, "float"]["gvoxel_per_s"]
            of_floor = row["gvoxel_per_s"] / AIMS[name, setting][1]
            add(f"{name}, 16-bit", setting, f"times float ({of_floor:.2g} times its floor)", rate, FLOOR_16_BIT,
                TARGET_16_BIT)
    for row in rows:
        if row["what"] == "pinned":
            add(f"{row['filter']}, host to host", row["setting"], "of the bus", row["of_ceiling"], 0.7, 0.9)
    return lines


def extent(row):
    return " x ".join(str(count) for count in row["extent"] if count > 1)


def tap_rate(row):
    return f"{row['ttap_per_s']:.2f}" if "ttap_per_s" in row else ""


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


def main():
    ours = load("h200.json")
    npp, cupy = (peer_rates(load(name) or {"rows": []}) for name in ("h200_npp.json", "h200_cupy.json"))
    kernels, hosts = [], []
    for row in ours["rows"]:
        if row["what"] != "kernel":
            hosts.append(f"| {row['filter']} | {row['setting']} | {row['what']} | {row['gvoxel_per_s']:.2f} | "
                         f"{row['of_ceiling']:.2f} |")
            continue
        key = (row["filter"], row["setting"])
        ratios = [f"{row['gvoxel_per_s'] / peer[key]:.1f}" if key in peer and row["type"] == "float" else ""
                  for peer in (npp, cupy)]
        kernels.append(f"| {row['filter']} | {row['setting']} | {extent(row)} | {row['type']} | {row['gvoxel_per_s']:.4g} | "
                       f"{tap_rate(row)} | {row['of_ceiling']:.2f} of {row['ceiling']} | {' | '.join(ratios)} |")
    ceilings = ours["ceilings"]
    (ROOT / "docs" / "gpu-speed.md").write_text(PAGE.format(
        gpu=ours["gpu"], runtime=version(ours["cuda_runtime"]), driver=version(ours["cuda_driver"]),
        commit=ours["commit"], copy=ceilings["copy"] / 1e12, minmax_f32=ceilings["minmax_f32"] / 1e12,
        minmax_s16x2=ceilings["minmax_s16x2"] / 1e12, exp2=ceilings["exp2"] / 1e12, fma=ceilings["fma"] / 1e12, upload=ceilings["upload"] / 1e9,
        download=ceilings["download"] / 1e9, kernels="\n".join(kernels), hosts="\n".join(hosts), aims="\n".join(aims(ours["rows"]))), encoding="utf-8")

    def ours_2d(name, kind):
        rows = [row for row in ours["rows"] if row["what"] == "kernel" and row["filter"] == name
                and row["type"] == kind and row["setting"].endswith("x0")]
        return [(half_width(row), row["gvoxel_per_s"]) for row in rows], \
            [(half_width(row), row["gvoxel_per_s"] / row["of_ceiling"]) for row in rows if "no network" not in row["ceiling"]]

    def peer_2d(rates, name):
        return [(int(radius.split("x")[0]), rate) for (kind, radius), rate in rates.items()
                if kind == name and radius.endswith("x0")]

    series = []
    for name, colour in (("median", "#1f77b4"), ("bilateral", "#d62728")):
        points, ceiling = ours_2d(name, "float")
        series += [(f"{name} 2-D, float", points, colour, ""), (f"its ceiling", ceiling, colour, "2 4")]
        for peer, rates, dash in (("NPP", npp, "8 4"), ("CuPy", cupy, "12 3 3 3")):
            points = peer_2d(rates, name)
            if points:
                series.append((f"{name} 2-D, {peer}", points, colour, dash))
    plot([entry for entry in series if entry[1]], ROOT / "docs" / "gpu-speed.svg")


if __name__ == "__main__":
    main()
