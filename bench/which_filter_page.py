# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
#
# The page docs/reports/which-filter.md of the figures that which_filter.py measured.

PAGE = """# Which filter when

Made by `bench/which_filter.py`, which anyone can run again; do not edit. Three phantoms, whose true values are known,
get noise of seven kinds; every filter of quietvox takes it out, once with its default parameters and once with the best
of a small grid. Best means the largest PSNR, and that takes the truth to find: it says what a filter can do, the default
what it does unasked.

## In short

| noise | {phantoms} |
|---|{short_rule}
{short}

In each cell: the best filter by its defaults, and the best of all with parameters from the grid, with their PSNR in dB;
none where no filter beats the noisy image.

{advice}

## What was measured

{measured}

**PSNR** in dB over the range of the truth, **SSIM** with windows of 7^3 (7x7 for the mammogram), **edges**: correlation of
the Laplacians of result and truth (1: the edges are the same, 0: nothing to do with them). **time**: processor seconds per
million voxels of the whole command, reading and writing included, on one thread. The machine was busy with other
work, which does not count as processor time but makes it less certain: read it as an order of magnitude.

The grid: median, five boxes from 3x3 to 7x7 and 5x5x3 and two crosses; gaussian, sigma of 0.4 to 2.5 pixels; bilateral,
domain sigma of 1, 1.5 and 2.5 pixels, range sigma of 1, 2 and 4 times the root mean square error of the noisy image;
adaptive-bilateral, the same domain sigmas, kappa of 1.5, 3 and 5, and two-pass; nlm, strengths of 0.6 to 1.8, patches of
3^3 and 5x5x3, a search window of 11x11x5, that error as its sigma, both noise models where the noise is Rician;
quadratic, the preset without its quadratic part, and filters of 3x3 and 5x5 trained (ridge 0.0001 and 0.01) on a
phantom of another size with other noise of the same kind.

{tables}
"""


# What the figures say; to be read again whenever they are made anew.
ADVICE = """- **Impulses** (dead pixels, salt-and-pepper): the median, and no other. At 20 % radius 1 does in a volume and 2 in a
  single slice, at 50 % it takes 2 or 3. The others take impulses for structure, or, where half of the voxels are, for
  noise beyond their reach.
- **Gaussian noise**: nlm, whose defaults are the best of the grid on CT and MR. bilateral comes 3 dB behind it in an
  eighth of the time; on the mammogram 2-D nlm costs little more than bilateral.
- **Rician noise**, that of MR magnitude images, where there is air: nlm with `--noise-model rician`, which takes off the
  bias that the noise has there: 8 to 9 dB more on the phantoms of MR and CT, none of whose voxels is negative here. Real
  CT numbers and phases may be negative and have no such noise: there it is refused. No other filter knows of it, but
  `quadratic` can learn it.
- **Noise that grows with the signal** (Poisson, speckle): nlm with a strength of 1.8, or, in slices of much texture
  like the mammogram, adaptive-bilateral.
- **Quantisation** is hardly noise: the estimate finds none, and bilateral, adaptive-bilateral and nlm leave the image
  as it is. A sigma of a third of the step or so, given by hand, lets nlm gain about 1 dB.
- **gaussian and median smooth edges and noise alike**. On the CT and MR phantoms, whose voxels are coarse (2.4 and 1.6
  mm) and whose noise is moderate, their defaults leave a larger error than the noise was.
- **quadratic**: the preset `denoise` gains little. Trained for its noise it is among the better filters, and the best
  of all for speckle on MR and for quantisation on MR and the mammogram. 5x5 beats 3x3 on all three phantoms, by 0.1,
  0.4 and 1.1 dB in the mean: trained on another phantom with other noise, its 351 coefficients were not too many.

Phantoms have large areas of the same tissue. That flatters nlm, which finds many alike; on real scans it gains less.

## What this made of the defaults

Means over the 15 cases without impulses, gain over the noisy image and edges:

- adaptive-bilateral: `kappa` became 3. With 2 it gained 2.3 dB (edges 0.80), with 3 2.5 dB (0.84), as good on CT and
  MR and 0.7 dB better on the mammogram; with 5 no more than that.
- nlm: a strength of 1.2 was as good as any here (4.6 dB). 1.8 gains 0.2 dB in the mean, but loses 0.2 dB on CT.
- bilateral: so were a domain sigma of 1.5 voxels and a range sigma of twice the noise (3.3 dB).
- Phantoms of even pieces flatter wide windows, though: on real anatomy other values are 0.5 to 2.5 dB better, and became
  the defaults of nlm and both bilateral filters ([how they follow the noise](../noise.md)).
- gaussian keeps one voxel, although 0.4 to 0.6 leave the smaller error at this noise: who takes it wants to smooth.
  median keeps radius 1, the best for what it is for. quadratic keeps its preset."""

NAMES = {"ct": "CT", "mr": "MR", "mammogram": "mammogram"}
UNITS = {"salt-and-pepper": "of the voxels", "Gaussian": "standard deviation", "Rician": "standard deviation",
         "Poisson": "times the value is the variance", "speckle": "times the value is the standard deviation",
         "quantisation": "the step"}


def best_of(rows):
    return max(rows, key=lambda row: row["psnr"])


def described(parameters):
    if not parameters:
        return "default"
    return ", ".join(f"{key} {value.removesuffix('.json')}" for key, value in parameters.items()
                     if (key, value) != ("noise-model", "gaussian"))


def figures(row, with_time=True):
    time = f" | {row['seconds_per_mvoxel']:.2g}" if with_time else ""
    return f"{row['psnr']:.1f} | {row['ssim']:.3f} | {row['edges']:.2f}{time}"


def table(noise, cases):
    amounts = ", ".join(f"{NAMES[case['phantom']]} {case['amount']:g}" for case in cases)
    unit = UNITS[noise.split(",")[0]]
    slug = noise.split(" %")[0].replace(", ", "-").lower()
    lines = [f"## {noise[0].upper() + noise[1:]}", "", f"{amounts} ({unit}).", "",
             f"![{noise}: noisy, best result, difference](which-filter-{slug}.png)", "",
             "*Noisy | the best result | the difference.*", "",
             "| | filter | PSNR | SSIM | edges | time | best: PSNR | SSIM | edges | time | with |",
             "|---|---|---|---|---|---|---|---|---|---|---|"]
    for case in cases:
        noisy = figures({**case["noisy"]}, with_time=False)
        lines.append(f"| {NAMES[case['phantom']]} | none | {noisy} | | | | | | |")
        top_default = max(rows[0]["psnr"] for rows in case["filters"].values())
        top = max(best_of(rows)["psnr"] for rows in case["filters"].values())
        for name, rows in case["filters"].items():
            first, best = rows[0], best_of(rows)
            mark = "**" if first["psnr"] == top_default else ""
            mark_best = "**" if best["psnr"] == top else ""
            cells = figures(first).replace(f"{first['psnr']:.1f}", f"{mark}{first['psnr']:.1f}{mark}", 1)
            best_cells = figures(best).replace(f"{best['psnr']:.1f}", f"{mark_best}{best['psnr']:.1f}{mark_best}", 1)
            lines.append(f"| {NAMES[case['phantom']]} | {name} | {cells} | {best_cells} | {described(best['parameters'])} |")
    return "\n".join(lines)


def in_short(cases):
    cells = []
    for case in cases:
        nothing = (case["noisy"]["psnr"] + 0.005, "none")  # those that change nothing are no better
        by_default = max([nothing] + [(rows[0]["psnr"], name) for name, rows in case["filters"].items()])
        of_all = max([nothing] + [(best_of(rows)["psnr"], name) for name, rows in case["filters"].items()])
        cells.append(f"{by_default[1]} {by_default[0]:.1f}; {of_all[1]} {of_all[0]:.1f}")
    return " | ".join(cells)


def write_page(results, path):
    noises = list(dict.fromkeys(case["noise"] for case in results["cases"]))
    of = {noise: [case for case in results["cases"] if case["noise"] == noise] for noise in noises}
    sizes = ", ".join(f"{NAMES[kind]} {'x'.join(map(str, size))}" for kind, size in results["phantoms"].items())
    measured = (f"{results['version']}, CPU. Phantoms of `quietvox phantom`: {sizes}; to the CT 1000 is\nadded, so that no "
                "value is negative.")
    path.write_text(PAGE.format(
        phantoms=" | ".join(NAMES[kind] for kind in results["phantoms"]), short_rule="---|" * len(results["phantoms"]),
        short="\n".join(f"| {noise} | {in_short(of[noise])} |" for noise in noises), advice=ADVICE, measured=measured,
        tables="\n\n".join(table(noise, of[noise]) for noise in noises)), encoding="utf-8")
