#!/usr/bin/env python3
# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
#
# cpu_report.py: writes docs/reports/cpu-speed.md from bench/results/cpu_2_cores.json.
# cpu_report.py BUILD FOLDER [RUNS]: measures that first, RUNS times, with the programs in BUILD/bin and files in FOLDER.
# Figures are the best of the runs; ratios are taken within each run, and their median counts.
import csv
import io
import json
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULT = ROOT / "bench" / "results" / "cpu_2_cores.json"

# Rows of the benchmarks: what they are called, how often ITK's rate they should reach, at least and at best.
AIMS = {
    "median/3x3x3/float": ("median 3x3x3", 200, 350),
    "median/5x5x5/float": ("median 5x5x5", 140, 220),
    "median/3x3/float": ("median 3x3", 100, 160),
    "median/5x5/float": ("median 5x5", 200, 350),
    "median/7x7/float": ("median 7x7", 240, 400),
    "median/11x11/float": ("median 11x11", 160, 250),
    "bilateral/3d_r3": ("bilateral 7x7x7", 35, 60),
    "gaussian/3d_sigma3_recursive": ("gaussian 3-D, sigma 3, recursive", 4, 8),
}
COMMAND_AIMS = (5, 2.5)

PAGE = """# Speed on a CPU

Made by `bench/cpu_report.py` from `bench/results/cpu_2_cores.json`; do not edit. {processor}, {cores} cores, ITK {itk}
on the same cores in the same runs, wall time, {runs} runs. Rates and times are the best of the runs; what is over ITK or
`cp -r` is the median of the ratios within each run. "Floor" and "target" are what the project set itself.

| filter | Mvoxel/s | times ITK | floor | reached | target | reached |
|---|---|---|---|---|---|---|
{rows}

Voxels are floats that all are whole numbers of 16 bits, as most scanners store them: the median then works on 16 bits.
With other floats:

| filter | Mvoxel/s | times ITK | floor | reached | target | reached |
|---|---|---|---|---|---|---|
{others}

The command, `quietvox median` of radius 1 from an uncompressed CT series of 512 x 512 x 600 voxels to another, in memory, over
the wall time of `cp -r` of that series:

| | wall, s | user, s | system, s | peak memory, MiB | times `cp -r` | floor | target |
|---|---|---|---|---|---|---|---|
{command}

How the filters gain from more cores, and what was tried, stands in [bench/NOTES.md](../../bench/NOTES.md).
"""


def rates(program, pattern):
    """Voxels a second of the rows that match."""
    text = subprocess.run([program, f"--benchmark_filter={pattern}", "--benchmark_format=csv"], check=True,
                          capture_output=True, text=True).stdout
    rows = csv.DictReader(io.StringIO(text[text.index("name,"):]))
    return {row["name"].replace("/process_time/real_time", ""): float(row["voxel/s"]) for row in rows}


def command(build, folder):
    """Figures of one run of the command and of one copy."""
    text = subprocess.run([ROOT / "bench" / "median_beside_cp", build / "bin" / "quietvox", folder, "1"], check=True,
                          capture_output=True, text=True).stderr
    found = re.findall(r"^(cp -r|quietvox) +([\d.]+) s, user ([\d.]+) s, system ([\d.]+) s, peak (\d+) KiB", text, re.M)
    return {name: dict(zip(("wall", "user", "system", "peak_kib"), map(float, figures))) for name, *figures in found}


def measure(build, folder, runs):
    names = "|".join(re.escape(name) for name in AIMS)
    programs = {name.split("/")[0] for name in AIMS}
    filters, commands = [], []
    for _ in range(runs):
        found = {}
        for program in sorted(programs):
            found |= rates(build / "bin" / f"{program}_benchmark", f"^({names})(, no whole numbers)?/")
        filters.append(found)
        commands.append(command(build, folder))
    about = json.loads(subprocess.run([build / "bin" / "quietvox", "benchmark", "--seconds", "0", "--slices", "8", "--json"],
                                      check=True, capture_output=True, text=True).stdout)
    RESULT.write_text(json.dumps({
        "processor": about["processor"], "instruction_set": about["instruction_set"], "itk": about["itk"],
        "cores": about["threads"], "voxels_per_second": filters, "command": commands}, indent=1) + "\n", encoding="utf-8")


def main():
    if len(sys.argv) > 2:
        measure(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 3)
    data = json.loads(RESULT.read_text(encoding="utf-8"))
    runs = data["voxels_per_second"]

    def best(name):
        return max(run[name] for run in runs)

    def over_itk(name, kind=""):
        return statistics.median(run[f"{name}{kind}/quietvox"] / run[f"{name}/itk"] for run in runs)

    def row(name, kind=""):
        title, floor, target = AIMS[name]
        ratio = over_itk(name, kind)
        return (f"| {title} | {best(f'{name}{kind}/quietvox') / 1e6:.0f} | {ratio:.0f} | {floor} | {ratio / floor:.2f} | "
                f"{target} | {ratio / target:.2f} |")

    kind = ", no whole numbers"
    rows = [row(name) for name in AIMS]
    others = [row(name, kind) for name in AIMS if f"{name}{kind}/quietvox" in runs[0]]

    lines = []
    fastest = {name: min((run[name] for run in data["command"]), key=lambda figures: figures["wall"])
               for name in ("quietvox", "cp -r")}
    ratio = statistics.median(run["quietvox"]["wall"] / run["cp -r"]["wall"] for run in data["command"])
    for program, aims in (("quietvox", f"{ratio:.1f} | {COMMAND_AIMS[0]} | {COMMAND_AIMS[1]}"), ("cp -r", "1 | | ")):
        figures = fastest[program]
        lines.append(f"| `{program}` | {figures['wall']:.2f} | {figures['user']:.2f} | {figures['system']:.2f} | "
                     f"{figures['peak_kib'] / 1024:.0f} | {aims} |")
    (ROOT / "docs" / "reports" / "cpu-speed.md").write_text(PAGE.format(
        **{key: data[key] for key in ("processor", "cores", "itk")}, runs=len(runs), rows="\n".join(rows),
        others="\n".join(others), command="\n".join(lines)), encoding="utf-8")


if __name__ == "__main__":
    main()
