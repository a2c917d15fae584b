#!/usr/bin/env python3
# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
"""Times whole commands, from file to file, beside copying the same files.

    bench/whole_command.py QUIETVOX OUT.json FOLDER [--disk FOLDER] [--cores N,N...] [--runs N] [--only CASE,CASE...]

FOLDER is for files in memory (/dev/shm), --disk for files on a disk. Commands run on the first N cores of the machine, for
each N, and so do their peers. The commands of a case and their peers run in turn; all runs are kept. Where a CUDA device
can be used, it is measured too. whole_command_report.py makes the page of what was measured. Needs nothing but Python; `pigz`
for the compressed files.
"""
import argparse
import gzip
import json
import os
import pathlib
import platform
import re
import resource
import shutil
import struct
import subprocess
import sys
import time

LARGEST = 10 ** 9  # voxels of the curve of sizes


def cores_in_order():
    """Processors of the machine, of each physical core one before the second ones."""
    first, second, seen = [], [], set()
    for cpu in sorted(os.sched_getaffinity(0)):
        siblings = pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        core = siblings.read_text().strip() if siblings.exists() else str(cpu)
        (second if core in seen else first).append(cpu)
        seen.add(core)
    return first + second


CORES = cores_in_order()


def run(command, cores, output=None):
    """Seconds and peak memory of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdout=output or subprocess.DEVNULL,
                               stderr=subprocess.PIPE, preexec_fn=lambda: os.sched_setaffinity(0, CORES[:cores]))
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    if status:
        sys.exit(f"{command}: status {status}: {process.stderr.read().decode()}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"wall": wall, "user": after.ru_utime - before.ru_utime, "system": after.ru_stime - before.ru_stime,
            "peak_mib": usage.ru_maxrss / 1024}


def add(one, other):
    """Of two commands, one after the other."""
    return {key: max(one[key], other[key]) if key == "peak_mib" else one[key] + other[key] for key in one}


def remove(path):
    """An output, a file or a folder, with what lies beside it."""
    path = pathlib.Path(path)
    if path.is_dir():
        shutil.rmtree(path)
    elif path.exists():
        path.unlink()
    path.with_name(re.sub(r"\.nii(\.gz)?$", "", path.name) + ".json").unlink(missing_ok=True)


def write_nifti(path, extent, code):
    """A volume of noise on a ramp, int16 (code 4) or float32 (16)."""
    kind, size = {4: ("h", 2), 16: ("f", 4)}[code]
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, *extent, 1, 1, 1, 1)
    struct.pack_into("<2h", header, 70, code, 8 * size)
    struct.pack_into("<8f", header, 76, 1, 1, 1, 1, 1, 1, 1, 1)
    struct.pack_into("<f", header, 108, 352)
    struct.pack_into("<f", header, 112, 1)
    header[344:348] = b"n+1\0"
    plane, state = extent[0] * extent[1], 1
    values = []
    for i in range(plane):
        state = (1103515245 * state + 12345) % 2 ** 31
        values.append(1000 + i % 512 + (state >> 16) % 64)
    slices = [struct.pack(f"<{plane}{kind}", *(values[-shift:] + values[:-shift])) for shift in (97, 1013, 4099, 9001)]
    with open(path, "wb") as file:
        file.write(header)
        for z in range(extent[2]):
            file.write(slices[z % 4])


class Benchmark:
    def __init__(self, arguments):
        self.quietvox = arguments.quietvox
        self.folder = pathlib.Path(arguments.folder)
        self.disk = pathlib.Path(arguments.disk) if arguments.disk else None
        self.runs = arguments.runs
        every = len(CORES)
        self.cores = [int(n) for n in arguments.cores.split(",")] if arguments.cores else [every]
        self.only = arguments.only.split(",") if arguments.only else None
        self.cuda = self.has_cuda()
        self.rows = []

    def has_cuda(self):
        report = subprocess.run([self.quietvox, "benchmark", "--json", "--quiet", "--seconds", "0", "--slices", "8",
                                 "--folder", self.folder], capture_output=True, text=True, check=True).stdout
        return json.loads(report)["cuda"]

    def wants(self, case):
        return self.only is None or case in self.only

    def ours(self, filter_and_options, source, target, cores, backend="cpu"):
        command = [self.quietvox, *filter_and_options, source, target, "--quiet", "--threads", cores, "--backend", backend]
        seconds = run(command, cores)
        remove(target)
        return seconds

    def in_turn(self, case, place, cores, sides, runs=None):
        """Runs the commands of a case in turn; the first round, which warms up, does not count."""
        for side, command in sides.items():
            command()
        kept = {side: [] for side in sides}
        for _ in range(runs or self.runs):
            for side, command in sides.items():
                kept[side].append(command())
        self.rows.append({"case": case, "place": place, "cores": cores, "runs": kept})
        best = {side: min(one["wall"] for one in all_runs) for side, all_runs in kept.items()}
        print(case, place, cores, "cores:", ", ".join(f"{side} {wall:.3f} s" for side, wall in best.items()), flush=True)

    def copied(self, command, target, cores):
        seconds = run(command, cores)
        remove(target)
        return seconds

    def median_and_copies(self, source, target, copy, cores, place="memory"):
        """A median of radius 1, and copies; that to disk waits until the disk has every file, as the median does."""
        to_disk = ["sh", "-c", 'cp -r "$0" "$1" && find "$1" -type f -exec sync {} +', source, copy]
        sides = {"copy": lambda: self.copied(["cp", "-r", source, copy], copy, cores),
                 "median": lambda: self.ours(["median", "--radius", "1x1x1"], source, target, cores)}
        if place == "disk":
            sides["copy to disk"] = lambda: self.copied(to_disk, copy, cores)
        return sides

    def phantom(self, target, size):
        subprocess.run([self.quietvox, "phantom", target, "--size", size, "--noise", "gaussian:20", "--quiet"], check=True)

    def raw(self, folder, place, name, extent, code):
        """A NIfTI file that is not compressed."""
        source, target, copy = folder / "in.nii", folder / "out.nii", folder / "copy.nii"
        write_nifti(source, extent, code)
        for cores in self.cores:
            sides = self.median_and_copies(source, target, copy, cores, place)
            if self.cuda and cores == max(self.cores):
                for label, command in (("median, cuda", ["median", "--radius", "1x1x1"]),
                                       ("bilateral, cuda", ["bilateral", "--radius", "5x5x5", "--range-sigma", "50",
                                                            "--domain-sigma", "2"]),
                                       ("nlm, cuda", ["nlm", "--sigma", "20"]), ("dct, cuda", ["dct", "--sigma", "20"])):
                    sides[label] = lambda command=command: self.ours(command, source, target, cores, "cuda")
            self.in_turn(name, place, cores, sides)
        source.unlink()

    def compressed(self):
        source, target = self.folder / "in.nii.gz", self.folder / "out.nii.gz"
        plain, again = self.folder / "plain.nii", self.folder / "again.nii.gz"
        write_nifti(plain, (256, 256, 256), 4)
        with gzip.open(source, "wb", 1) as file:
            file.write(plain.read_bytes())
        for cores in self.cores:
            def peer(cores=cores):
                with open(plain, "wb") as file:
                    unpacked = run(["gunzip", "-c", source], cores, file)
                with open(again, "wb") as file:
                    packed = run(["pigz", "-1", "-p", cores, "-c", plain], cores, file)
                return add(unpacked, packed)

            self.in_turn("compressed NIfTI", "memory", cores, {
                "gunzip, pigz -1": peer,
                "median": lambda: self.ours(["median", "--radius", "1x1x1"], source, target, cores)})
        for path in (source, plain, again):
            path.unlink()

    def dicom(self, folder, place):
        source, target, copy = folder / "ct600", folder / "ct600.median", folder / "ct600.copy"
        self.phantom(source, "512x512x600")
        for cores in self.cores:
            sides = self.median_and_copies(source, target, copy, cores, place)
            if self.cuda and cores == max(self.cores):
                sides["median, cuda"] = lambda: self.ours(["median", "--radius", "1x1x1"], source, target, cores, "cuda")
            self.in_turn("CT of 600 slices", place, cores, sides)
        shutil.rmtree(source)

    def one_slice(self):
        source, target = self.folder / "slice.nii", self.folder / "out.nii"
        write_nifti(source, (512, 512, 1), 4)
        cores = max(self.cores)
        sides = {"median": lambda: self.ours(["median", "--radius", "1x1x0"], source, target, cores)}
        if self.cuda:
            sides["median, cuda"] = lambda: self.ours(["median", "--radius", "1x1x0"], source, target, cores, "cuda")
            sides["bilateral, cuda"] = lambda: self.ours(["bilateral", "--range-sigma", "50"], source, target, cores, "cuda")
        self.in_turn("one slice", "memory", cores, sides)
        source.unlink()

    def nlm(self):
        source, target = self.folder / "in.nii", self.folder / "out.nii"
        self.phantom(source, "512x512x150")
        for cores in self.cores:
            sides = {"nlm by defaults": lambda: self.ours(["nlm"], source, target, cores)}
            if self.cuda and cores == max(self.cores):
                sides["nlm by defaults, cuda"] = lambda: self.ours(["nlm"], source, target, cores, "cuda")
            self.in_turn("nlm, 512x512x150", "memory", cores, sides, 1)
        source.unlink()

    def sizes(self):
        """A median on all cores, from 10^5 voxels on."""
        source, target, copy = self.folder / "in.nii", self.folder / "out.nii", self.folder / "copy.nii"
        cores = max(self.cores)
        for extent in ((46, 46, 47), (100, 100, 100), (216, 216, 215), (464, 464, 464), (1000, 1000, 1000)):
            if extent[0] ** 3 > 2 * LARGEST:
                break
            write_nifti(source, extent, 4)
            sides = self.median_and_copies(source, target, copy, cores)
            if self.cuda:
                sides["median, cuda"] = lambda: self.ours(["median", "--radius", "1x1x1"], source, target, cores, "cuda")
            self.in_turn(f"{extent[0] * extent[1] * extent[2]} voxels", "memory", cores, sides)
            source.unlink()

    def threads(self):
        """A median of 512x512x768 voxels of 16 bits, on 1, 2, 4, ... cores."""
        source, target = self.folder / "in.nii", self.folder / "out.nii"
        write_nifti(source, (512, 512, 768), 4)
        counts, count = [], 1
        while count < max(self.cores):
            counts.append(count)
            count *= 2
        for cores in [*counts, max(self.cores)]:
            self.in_turn("threads", "memory", cores,
                         {"median": lambda: self.ours(["median", "--radius", "1x1x1"], source, target, cores)})
        source.unlink()

    def measure(self):
        for place, folder in (("memory", self.folder), ("disk", self.disk)):
            if folder is None:
                continue
            if self.wants("raw"):
                self.raw(folder, place, "raw NIfTI, 403 MB of int16", (512, 512, 768), 4)
            if self.wants("large"):
                self.raw(folder, place, "raw NIfTI, 1.6 GB of float32", (1024, 1024, 384), 16)
            if self.wants("dicom"):
                self.dicom(folder, place)
        for case in ("compressed", "one_slice", "nlm", "sizes", "threads"):
            if self.wants(case):
                getattr(self, case)()


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("quietvox")
    parser.add_argument("out")
    parser.add_argument("folder")
    parser.add_argument("--disk")
    parser.add_argument("--cores")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only")
    arguments = parser.parse_args()
    benchmark = Benchmark(arguments)
    benchmark.measure()
    version = subprocess.run([arguments.quietvox, "--version"], capture_output=True, text=True).stdout.strip()
    pathlib.Path(arguments.out).write_text(json.dumps(
        {"version": version, "processor": processor(), "cores": os.cpu_count(), "cuda": benchmark.cuda,
         "rows": benchmark.rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
