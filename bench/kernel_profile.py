#!/usr/bin/env python3
# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
"""How much of each unit of the GPU the kernels of dct, prinlm and bm4d keep busy, by Nsight Compute.

    bench/kernel_profile.py CUDA_BENCHMARK QUIETVOX RESULT.json [COMMIT]

Runs QUIETVOX under `ncu` on a noisy volume of 256^3 voxels, and CUDA_BENCHMARK for the ceilings. gpu_report.py makes a
table of RESULT.json.
"""
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

FILTERS = {
    "dct": ["dct"],
    "prinlm": ["prinlm", "--search-radius", "5x5x5"],
    "bm4d": ["bm4d"],
    "bm4d, 8x8x1": ["bm4d", "--block", "8x8x1"],
}
PEAK = "pct_of_peak_sustained_elapsed"
METRICS = {
    "gpu__time_duration.sum": "time",
    f"sm__inst_issued.avg.{PEAK}": "instructions",
    f"sm__pipe_fma_cycles_active.avg.{PEAK}": "fma",
    f"l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.{PEAK}": "shared",
    f"l1tex__throughput.avg.{PEAK}": "l1",
    f"lts__throughput.avg.{PEAK}": "l2",
    f"dram__throughput.avg.{PEAK}": "dram",
    "lts__t_sectors_op_atom.sum": "atomic_sectors",
    "lts__t_sectors_op_red.sum": "reduction_sectors",
}


def number(text):
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def launches(text):
    """One dictionary for each kernel that ran."""
    rows = csv.DictReader(line for line in text.splitlines() if line.startswith('"'))
    found = {}
    for row in rows:
        value = number(row["Metric Value"])
        if value is None or row["Metric Name"] not in METRICS:
            continue
        name = METRICS[row["Metric Name"]]
        launch = found.setdefault(row["ID"], {"kernel": row["Kernel Name"]})
        launch[name] = value * 1e-6 if name == "time" else value  # ns
    return list(found.values())


def by_kernel(all_launches):
    """Times are sums, shares means by time; kernels below a hundredth of the time are left out."""
    whole = sum(launch.get("time", 0) for launch in all_launches)
    kernels = {}
    for launch in all_launches:
        kernels.setdefault(launch["kernel"], []).append(launch)
    rows = []
    for name, each in kernels.items():
        time = sum(launch["time"] for launch in each)
        if time < whole / 100:
            continue
        row = {"kernel": name, "launches": len(each), "ms": round(time, 4)}
        for share in ("instructions", "fma", "shared", "l1", "l2", "dram"):
            values = [(launch[share], launch["time"]) for launch in each if share in launch]
            if values:
                row[share] = round(sum(value * weight for value, weight in values) / sum(w for _, w in values), 1)
        sectors = sum(launch.get(key, 0) for launch in each for key in ("atomic_sectors", "reduction_sectors"))
        row["atomic_additions_per_s"] = sectors * 4 / (time * 1e-3)  # of 8 bytes in sectors of 32, all full: the most
        rows.append(row)
    return sorted(rows, key=lambda row: -row["ms"])


def main():
    benchmark, quietvox, result = sys.argv[1].split(), sys.argv[2].split(), pathlib.Path(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        subprocess.run([*benchmark, "--only", "nothing", folder / "ceilings.json", *sys.argv[4:]], check=True)
        document = json.loads((folder / "ceilings.json").read_text(encoding="utf-8"))
        subprocess.run([*quietvox, "phantom", folder / "in.nii", "--kind", "mr", "--size", "256x256x256", "--noise",
                        "gaussian:50", "--quiet"], check=True)
        document["rows"] = []
        for name, words in FILTERS.items():
            command = ["ncu", "--csv", "--clock-control", "none", "--print-kernel-base", "function", "--print-units", "base",
                       "--target-processes", "all", "--metrics", ",".join(METRICS), *quietvox, *words,
                       folder / "in.nii", folder / "out.nii", "--sigma", "50", "--backend", "cuda", "--force", "--quiet"]
            done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode:
                sys.exit(done.stdout[-2000:])
            document["rows"] += [{"filter": name, **row} for row in by_kernel(launches(done.stdout))]
        result.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
