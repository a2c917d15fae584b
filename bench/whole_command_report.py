#!/usr/bin/env python3
# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/reports/whole-command.md from bench/results/whole_command_*.json, which whole_command.py measured.

    bench/whole_command_report.py [--check]

--check says where the page is not what the figures give, and changes nothing.
"""
import difflib
import json
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reports" / "whole-command.md"

# Case: its peer, what is measured against it, the most that it may take, and what was aimed at.
RATIOS = {
    "raw NIfTI, 403 MB of int16": ("copy", "median", 3, 1.5),
    "raw NIfTI, 1.6 GB of float32": ("copy", "median", 3, 1.5),
    "CT of 600 slices": ("copy", "median", 3.5, 2.5),
    "compressed NIfTI": ("gunzip, pigz -1", "median", 0.4, 0.3),
}
ON_DISK = "copy to disk"  # which waits until the disk has all of it
MANY_CORES = 16
COMPRESSED_ON_MANY = (0.2, 0.1)
GPU_SECONDS = (0.3, 0.1)  # more than the CPU's median
FIRST_RESULT = (0.25, 0.15)

HEAD = """# Whole commands

Made by `bench/whole_command_report.py` from `bench/results/whole_command_*.json`; do not edit. `bench/whole_command.py`
measures whole commands, from file to file, beside programs that only copy or pack the same files, in turn and on the same
cores. Files lie in memory or on the disk, and in the page cache. Times are the best of {runs} runs, ratios the median of
those within each round. A core is a physical one, as far as the system tells.

{machines}
"""


def best(runs):
    return min(run["wall"] for run in runs)


def ratio(row, ours, peer):
    return statistics.median(one["wall"] / other["wall"] for one, other in zip(row["runs"][ours], row["runs"][peer]))


def number(value):
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def line(*cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def table(head, rows):
    return "\n".join([line(*head), "|" + "---|" * len(head), *(line(*row) for row in rows)])


def short(result):
    return re.sub(r".*\((?:NVIDIA )?(.*)\).*", r"host of the \1", result["cuda"]) if result["cuda"] else result["processor"]


def over(value, most, text):
    """In bold where it is more than it may be."""
    return f"**{text}**" if value > most else text


def ratios(results):
    rows = []
    for result in results:
        for row in result["rows"]:
            if row["case"] not in RATIOS:
                continue
            peer, ours, floor, target = RATIOS[row["case"]]
            if row["case"] == "compressed NIfTI" and row["cores"] >= MANY_CORES:
                floor, target = COMPRESSED_ON_MANY
            runs = row["runs"][ours]
            rows.append((row["case"], row["place"], short(result), row["cores"], number(best(row["runs"][peer])),
                         number(best(runs)), over(ratio(row, ours, peer), floor, number(ratio(row, ours, peer))), floor, target,
                         number(ratio(row, ours, ON_DISK)) if ON_DISK in row["runs"] else "",
                         f"{max(run['peak_mib'] for run in runs):.0f}"))
    return table(("input", "on", "machine", "cores", "peer, s", "median, s", "times the peer", "at most", "aim",
                  f"times the {ON_DISK}", "MiB"), rows)


def gpu(results):
    rows = []
    for result in results:
        for row in result["rows"]:
            cpu = next((row["runs"][name] for name in ("median", "nlm by defaults") if name in row["runs"]), None)
            for name, runs in row["runs"].items():
                if name.endswith(", cuda"):
                    more = best(runs) - best(cpu)
                    rows.append((row["case"], row["place"], name.removesuffix(", cuda"), number(best(cpu)),
                                 number(best(runs)), over(more, GPU_SECONDS[0], f"{more:+.2f}")))
    return table(("input", "on", "filter on the GPU", "CPU's median, s", "GPU, s", "difference, s"), rows)


def nlm(results):
    return " and ".join(f"{number(best(row['runs']['nlm by defaults']))} s on {row['cores']} cores ({short(result)})"
                        for result in results for row in result["rows"] if "nlm by defaults" in row["runs"])


def curve(results, case_of, unit):
    columns, cells = [], {}
    for result in results:
        for row in result["rows"]:
            key = case_of(row)
            if key is None:
                continue
            for name, runs in row["runs"].items():
                column = f"{name}, {short(result)}"
                if column not in columns:
                    columns.append(column)
                cells.setdefault(key, {})[column] = number(best(runs)) if best(runs) >= 0.1 else f"{best(runs):.3f}"
    return table((unit, *columns), [(f"{key:,}".replace(",", " "), *(cells[key].get(column, "") for column in columns))
                                    for key in sorted(cells)])


def page(results):
    machines = "\n".join(
        f"- {result['processor']}, {result['cores']} cores" + (f", {result['cuda']}" if result["cuda"] else "") +
        f"; quietvox {result['version'].split()[-1]}" for result in results)
    counts = {len(runs) for result in results for row in result["rows"] for runs in row["runs"].values()}
    runs = " to ".join(map(str, sorted({min(counts), max(counts)})))
    size = lambda row: int(row["case"].split()[0]) if row["case"].endswith(" voxels") else None
    threads = lambda row: row["cores"] if row["case"] == "threads" else None
    parts = [HEAD.format(runs=runs, machines=machines), "## Beside programs that only copy or pack\n",
             "A median of radius 1. " + BEFORE, "", ratios(results), "", NLM.format(nlm(results)), "", "## On a GPU\n",
             GPU_TEXT.format(*GPU_SECONDS, *FIRST_RESULT), "", gpu(results), "", "## Seconds by the number of voxels\n",
             "A median of radius 1, raw int16, in memory, on all cores of the machine.", "", curve(results, size, "voxels"),
             "", "## Seconds by the number of cores\n", "A median of radius 1 over 512 x 512 x 768 raw int16 in memory.",
             "", curve(results, threads, "cores")]
    return "\n".join(parts) + "\n"


BEFORE = """Before this page was first made (commit 6c80ca9), the raw files took 5 to 10 times as long as
the copy on two cores and 6.4 on 32, the CT series 4.6 times, and the compressed file 0.54 of its peer on two cores. The
copy goes through memory twice. The command reads the input once for its voxels and once for its hash, writes the
output, reads that again to check it, and waits until a disk has it, which `cp` does not. The copy to disk is `cp` and
then `sync` of the files, which waits, too. What is more than it may be is in bold."""

NLM = """`nlm` by its defaults over 512 x 512 x 150 voxels, which is all arithmetic, takes {}. It took 31 s."""

GPU_TEXT = """Any filter from file to file should take at most {} s longer on a GPU than the CPU's median, {} s at best, and the
first result of one slice {} s, {} s at best. A program of one empty kernel takes 0.23 to 0.25 s on an H100: 0.10 s
for the driver to begin (`cuInit`), 0.06 s for a context of one queue (eight take 0.12 s) and 0.05 s to end.
`--backend auto` takes the CPU where that needs less than 0.4 s."""


def main():
    results = [json.loads(path.read_text(encoding="utf-8"))
               for path in sorted((ROOT / "bench" / "results").glob("whole_command_*.json"))]
    text = page(results)
    if "--check" not in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
        return
    found = PAGE.read_text(encoding="utf-8")
    if found != text:
        sys.stdout.writelines(difflib.unified_diff(found.splitlines(True), text.splitlines(True), str(PAGE), "the figures"))
        sys.exit("whole-command.md is not what the figures give; run bench/whole_command_report.py")


if __name__ == "__main__":
    main()
