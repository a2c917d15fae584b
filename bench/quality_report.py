#!/usr/bin/env python3
# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/reports/quality.md, docs/reports/which-filter.md and the table of docs/denoise.md of what quality.py
measured, bench/results/quality.json. Their prose about the figures stands here: read it again when they are new.

    bench/quality_report.py [--check]

--check writes nothing, and fails where a page is not what the figures give.
"""
import argparse
import collections
import difflib
import json
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILTERS = ("median", "gaussian", "bilateral", "adaptive-bilateral", "nlm", "quadratic", "dct", "prinlm", "bm4d",
           "denoise")
PEERS = ("scikit-image nl_means", "scikit-image tv_chambolle", "scikit-image wavelet", "dipy nlmeans",
         "ants denoise_image", "BM4D")
CORRELATED = ("zero-filled", "ct-soft", "ct-sharp", "interpolated")
SCANNERS = ("white", "rician", "zero-filled", "g-factor", "ct-soft", "ct-sharp", "interpolated")
TRUTHS = {"t1_template": "T1 head", "phantom:ct": "CT phantom", "phantom:mr": "MR phantom",
          "phantom:mammogram": "mammogram phantom"}
MARGIN = 0.1  # dB; less is no difference

QUALITY = """# Denoising quality against a ground truth

Made by `bench/quality_report.py` of what `bench/quality.py` measured; do not edit. Anyone can run both again:

```sh
bench/quality.py build/bin/quietvox bench/results/quality.json t1_template.nii.gz phantom:ct phantom:mammogram
```

{version} beside
{peers}.
Truths without noise get noise as scanners write it (`quietvox add-noise`), of 1, 3 and 9 % of the range:
{sizes}. The head is an
average of many scans; it is not part of quietvox, and any other will do. Figures are PSNR in dB, in the object, against
what the scanner would record without noise.

**automatic**: by defaults, or as the authors recommend: given nothing but the image. nl_means of scikit-image and dipy
take the sigma that their own libraries estimate; dipy is given whether the image is a magnitude, ANTs takes it for one
by default. **grid**: the best of the automatic one and of a few settings, given the noise and judged by the truth. That
says what a filter could do.
**BM4D** (the original, PyPI, for non-commercial use only, run by hand) does not estimate noise. It is given the true
spectrum of correlated noise and the true sigma of other noise, and so stands in the grid's columns alone. It was run on
scanner noise.{missing}

The noise, the phantoms and `denoise` are by the same authors. Defaults of quietvox were chosen with this head and these
kinds of phantom, but never with this seed of the noise. That favours quietvox.

## In short

Gain over the noisy image in dB, mean of the {count} cases of scanner noise on each truth; empty where a case is
missing. Seconds are processor seconds per million voxels on one thread, by defaults (median; of quietvox with reading
and writing), on an Intel Xeon of 16 cores with 12 to 16 jobs at once. They are older than the PSNR: since then bilateral
and nlm try parameters, which takes 0.1 to 0.3 s of these, whatever the size of the volume.

{summary}

{verdict}

{advice}

## Pictures

![A part of a slice, six times](quality-ct.png)

*CT phantom, soft kernel, 3 %. Truth | noisy | denoise | nlm | nl_means of scikit-image | denoise_image of ANTs, all
automatic.*

![A part of a mammogram, six times](quality-mammogram.png)

*Mammogram phantom, white noise, 3 %. The same.*

## Where another automatic filter beats denoise

In scanner noise. Against quantisation and impulses others are better too, as the tables below show.

{losses}

## All figures

**Bold**: the best of its row, and what is less than {margin} dB from it. Poisson, speckle, quantisation and impulses
stand here too; the means above leave them out.

{tables}
"""

# What the figures say; to be read again whenever they are made anew.
QUALITY_ADVICE = """What the figures say for `denoise`:

- Told nothing, it gains 7.7, 6.2 and 10.8 dB in the mean. The best of its own grid, judged by the truth, gains at
  most 0.1 dB more in the mean. Of the filters of others, the best automatic ones gain 2.9 (dipy), 1.9 (nl_means) and
  5.5 dB (tv_chambolle); the best grids, given the noise, gain 6.1, 4.5 (both dipy) and 9.2 dB (tv_chambolle).
- BM4D, given the noise, gains 7.1, 6.3 and 10.2 dB, and takes 80 to 100 times as long. Where it is given one sigma and the noise
  has more to it, it is behind: by up to 4.8 dB in g-factor noise, up to 2.2 dB in strong Rician noise. In white noise
  it is between 0.5 dB behind and 0.3 dB ahead. Told the spectrum of correlated noise, it is between 0.4 dB behind and
  0.3 dB ahead on the head; on the CT phantom it is ahead by up to 0.7 dB at 3 % and 1.3 dB at 9 %.
- `prinlm` and `dct` are 1.0 to 1.6 dB behind it in the mean, in a quarter to a third of its time; so is `nlm`, 1.0 to 1.8 dB
  behind.
- Noise that follows the value, Poisson or speckle, it makes Gaussian first, where it sees that, and so do `dct`, `nlm`
  and `prinlm`. In the mammogram it has 42.6 and 42.4 dB, `dct` 42.1 and 42.0; the best grid of others is 41.0 and 40.7 or
  less. At 3 % on the head and the CT phantom it does not see it, and filters as ever.

And against it:

- It takes 2.0 to 2.8 s per million voxels, by how busy the other cores are: 4 to 5 times as long as `nlm`, 5 to 6 times
  as long as `bilateral`, about twice as long as nlmeans of dipy and tv_chambolle. nl_means of scikit-image and ANTs take 6 to
  14 times as long as `denoise`.
- **g-factor noise.** At 1 and 3 % on the head `--strength strong` has 0.3 to 0.4 dB more. And air beside the object
  stays a little grey: SSIM, which counts air, is 0.91 and 0.84 at 3 and 9 %; in Rician noise 0.99 and 0.93.
- **Strong correlated noise in a single slice is another.** In the mammogram with 9 % of CT noise it finds too little:
  32.4 dB where `--strength strong` has 34.3 and BM4D, given the spectrum, 33.6 (soft kernel), and 36.3 where `strong`
  and BM4D have 37.1 and 37.2 (sharp kernel).
- **Impulses**: it leaves them all, and a warning names `median`, which gains 10 to 25 dB.
- **Quantisation**: it finds no noise and changes nothing. nl_means of scikit-image gains 1.6 dB on the head, given
  nothing; `dct` given the sigma gains 4.1.

Why filters of others fall behind: nl_means of scikit-image takes a sigma that is right for white noise, and in soft
CT and interpolated noise it finds next to none. tv_chambolle has one weight for all images. ANTs and nlmeans of dipy
blur the fine structure of the head and of the CT phantom, which have coarse voxels, even at 1 % of noise; on the
mammogram both gain at 1 %."""

WHICH = """# Which filter when

Made by `bench/quality_report.py` of the figures of [the benchmark of quality](quality.md); do not edit. Truths without
noise get noise of eleven kinds; every filter of quietvox takes it out, once with its default parameters and once with
the best of a small grid. Best means the largest PSNR, and that takes the truth to find: it says what a filter can do,
the default what it does unasked.

## In short

{short}

In each cell: the best filter by its defaults, and the best of all with parameters from the grid, with their PSNR in
dB; none where no filter beats the noisy image. `denoise` and `bm4d` are one filter where noise is Gaussian; where
they are equal, `denoise` is named. The percentage is the standard deviation over the range; of impulses the share of
voxels.

{advice}

## What was measured

{sizes}.
Seconds and peers are on [the other page](quality.md). The grid: median, boxes from 3x3 to 7x7 and 5x5x3, a cross;
gaussian, sigma of 0.4 to 1.5 pixels; bilateral, domain sigma of 1, 1.5 and 2.5 pixels and range sigma of 1, 2 and 4
times the true sigma; adaptive-bilateral, the same domain sigmas and kappa of 1.5, 3 and 5; nlm, the true sigma,
strengths of 0.5 to 1.8, two patches, Rician where the noise is; quadratic, the preset without its quadratic part and
5x5 trained on another phantom with other noise of the kind; dct, the true sigma and strengths of 0.7 to 2; prinlm,
the true sigma, two strengths and two of its guide; bm4d, strengths of 0.8 and 1.25, and the true sigma as white
noise; denoise, light and strong.

In each cell: PSNR, SSIM and edges (correlation of the Laplacians of result and truth) by the defaults; then, where the
grid has better, that PSNR and with what.

{pictures}

{tables}
"""

WHICH_ADVICE = """- **Noise of scanners** (white, Rician, zero-filled, g-factor, CT, interpolated): `denoise`.
  In the mean `prinlm` and `dct` are 1.0 to 1.6 dB behind in a quarter to a third of its time, `nlm` 1.0 to 1.8 dB, and
  `bilateral` 3.0 to 3.7 dB in a fifth; in g-factor noise `dct` 3 to 5 dB.
- **Rician noise**: filters that go by the measured noise take out the bias of magnitudes. `median`, `gaussian` and
  `quadratic` do it with `--stabilise rician`.
- **g-factor**: where noise is left, try `denoise --strength strong`: at 1 % on the head it has 46.2 dB instead of
  45.8.
- **Strong noise in a single slice** like the mammogram: try `--strength strong` too. At 9 % of CT noise it gains 1.9
  (soft kernel) and 0.8 dB more (sharp).
- **Poisson noise and speckle**: `denoise`, which makes them Gaussian first where it sees them, as in the mammogram.
  `--stabilise auto`, the default, does so around all filters that go by the measured noise.
- **Impulses** (dead pixels, salt-and-pepper): `median`, and no other. In volumes a cross of radius 1x1x0 is best at
  5 %, and radius 1 along all three axes at 30 %. In a single slice the default is best at 5 %; at 30 % it is too
  small, 24.5 dB where 2x2x0 has 37.8. `denoise`, `bm4d`, `prinlm`, `dct`, `nlm` and both bilateral filters leave
  impulses; `denoise` says so.
- **Quantisation**: no noise is found, and those filters change nothing. With 0.29 steps (the step over the root of
  12) as `--sigma` and a strength of 1.4 or 2, `dct` gains 4.1 dB on the head, 0.9 dB on the CT phantom and 3.8 dB on
  the mammogram. `nlm` and `bm4d` come within 1.1 dB of that.
- **gaussian and median smooth edges and noise alike.** On the head and the CT phantom, whose voxels are coarse, their
  defaults often leave a larger error than the noise was.
- **quadratic**: the preset gains less than most. Trained for its noise it gains 7.0 dB on the mammogram, more than
  `median` and `gaussian` with any setting of the grid, in the same time; `dct` gains 10.0. On volumes no setting
  gains more than 2.0 dB: it looks at single slices. It is there to enhance, not to denoise.

SSIM and edges below count the whole image, air too. Filters that go by the noise make the air of magnitudes dark,
others leave it grey: with Rician, zero-filled and g-factor noise these two figures say more of air than of the object. The
phantoms have large areas of the same tissue, which flatters every filter that averages."""

WHICH_PICTURES = """![A part of a slice, six times](which-filter-impulses.png)

*Impulses, 5 % of the voxels, CT phantom. Truth | noisy | median | bilateral | nlm | denoise, by their defaults.*

![A part of a mammogram, six times](which-filter-poisson.png)

*Poisson noise, 3 %, mammogram phantom. The same.*"""


def row(cells):
    return "| " + " | ".join(cells) + " |"


def table(head, rows):
    return "\n".join([row(head), "|" + "---|" * len(head), *map(row, rows)])


def listed(names):
    names = list(names)
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


class Figures:
    def __init__(self, document):
        self.document = document
        self.cases = list(document["cases"].values())
        self.truths = list(document["truths"])

    def of(self, truth, kinds=None):
        cases = [case for case in self.cases if case["truth"] == truth and (kinds is None or case["kind"] in kinds)]
        order = list(dict.fromkeys(case["kind"] for case in self.cases))
        return sorted(cases, key=lambda case: (order.index(case["kind"]), case["level"]))

    def sizes(self):
        return listed(f"{TRUTHS.get(truth, truth)} {'x'.join(map(str, extent))}"
                      for truth, extent in self.document["truths"].items())


def psnr(case, method, which):
    """None where the method was not measured so."""
    if method == "noisy":
        return case["noisy"]["psnr"]
    result = case["methods"].get(method)
    return result[which]["psnr"] if result and result[which] else None


def shown(value, best):
    if value is None:
        return ""
    return f"**{value:.1f}**" if value > best - MARGIN else f"{value:.1f}"


def full_table(cases, which):
    methods = [name for name in FILTERS + PEERS if any(psnr(case, name, which) is not None for case in cases)]
    rows = []
    for case in cases:
        values = [psnr(case, method, which) for method in methods]
        best = max([value for value in values if value is not None] + [case["noisy"]["psnr"]])
        rows.append([f"{case['kind']}, {case['level']} %", f"{case['noisy']['psnr']:.1f}"] +
                    [shown(value, best) for value in values])
    return table(["noise", "noisy", *methods], rows)


def summary(figures):
    rows = []
    for method in FILTERS + PEERS:
        cells, seconds = [], []
        for truth in figures.truths:
            cases = figures.of(truth, SCANNERS)
            for which in ("automatic", "best"):
                gains = [psnr(case, method, which) - case["noisy"]["psnr"] for case in cases
                         if psnr(case, method, which) is not None]
                cells.append(f"{statistics.mean(gains):.1f}" if gains and len(gains) == len(cases) else "")
            for case in cases:
                result = case["methods"].get(method)
                if result:
                    seconds.append((result["automatic"] or result["best"])["seconds"])
        if seconds:
            middle_one = statistics.median(seconds)
            rows.append([method, *cells, f"{middle_one:.0f}" if middle_one >= 10 else f"{middle_one:.2g}"])
    heads = [f"{TRUTHS.get(truth, truth)}, {which}" for truth in figures.truths for which in ("automatic", "grid")]
    return table(["", *heads, "seconds"], rows)


def compared(figures):
    """Of scanner noise: the case, its best automatic method besides denoise and bm4d, by how much denoise leads."""
    for truth in figures.truths:
        for case in figures.of(truth, SCANNERS):
            others = {name: psnr(case, name, "automatic") for name in (*FILTERS, *PEERS)}
            others = {name: value for name, value in others.items()
                      if value is not None and name not in ("denoise", "bm4d")}
            if others and psnr(case, "denoise", "automatic") is not None:
                best = max(others, key=others.get)
                yield case, best, psnr(case, "denoise", "automatic") - others[best]


def losses(figures):
    rows = [[TRUTHS.get(case["truth"], case["truth"]), f"{case['kind']}, {case['level']} %",
             f"{psnr(case, 'denoise', 'automatic'):.1f}", f"{best} {psnr(case, best, 'automatic'):.1f}"]
            for case, best, lead in sorted(compared(figures), key=lambda item: item[2]) if lead < -MARGIN]
    return table(["truth", "noise", "denoise", "better"], rows) if rows else "Nowhere, by more than the margin."


def verdict(figures):
    leads = list(compared(figures))
    wins, ties = sum(lead > MARGIN for *_, lead in leads), sum(abs(lead) <= MARGIN for *_, lead in leads)
    foreign = [psnr(case, "denoise", "automatic") - max(psnr(case, name, "automatic") or 0 for name in PEERS)
               for case, *_ in leads]
    bm4d = [psnr(case, "denoise", "automatic") - psnr(case, "BM4D", "best") for case, *_ in leads
            if psnr(case, "BM4D", "best") is not None]
    grids = [psnr(case, "denoise", "automatic") - max(psnr(case, name, "best") or 0 for name in PEERS if name != "BM4D")
             for case, *_ in leads]
    lines = [f"Of {len(leads)} cases of scanner noise `denoise` is the best automatic filter in {wins}, as good as the "
             f"best (within {MARGIN} dB) in\n{ties}, and worse in {len(leads) - wins - ties}. (`bm4d` is the same "
             "filter, and is left out here.)\nIt beats every automatic filter of "
             f"others in {sum(value > MARGIN for value in foreign)}, and the best of their grids, given the noise, in "
             f"{sum(value > MARGIN for value in grids)}."]
    if bm4d:
        lines.append(f"\nBM4D, given the noise, is better than `denoise`, which measures it, in "
                     f"{sum(value < -MARGIN for value in bm4d)} of {len(bm4d)} cases, and worse in "
                     f"{sum(value > MARGIN for value in bm4d)}.")
    return "\n".join(lines)


def quality_report(figures):
    tables = []
    for truth in figures.truths:
        for which, name in (("automatic", "automatic"), ("best", "best of the grid")):
            tables.append(f"### {TRUTHS.get(truth, truth)}, {name}\n\n{full_table(figures.of(truth), which)}")
    counts = {len(figures.of(truth, SCANNERS)) for truth in figures.truths}
    scanned = [case for truth in figures.truths for case in figures.of(truth, SCANNERS)]
    lacking = sum(psnr(case, "BM4D", "best") is None for case in scanned)
    missing = f" {lacking} of {len(scanned)} cases are missing: their cells are empty." if lacking else ""
    peers = listed(f"{name} {version}" for name, version in sorted(figures.document["peers"].items()))
    return QUALITY.format(version=figures.document["version"], sizes=figures.sizes(), peers=peers, count=max(counts),
                          summary=summary(figures), verdict=verdict(figures), advice=QUALITY_ADVICE, margin=MARGIN,
                          missing=missing, losses=losses(figures),
                          tables="\n\n".join(tables))


def middle(cases):
    """Of each kind what stands for it: impulses at both levels, else 3 %."""
    levels = collections.Counter(case["kind"] for case in cases)
    return [case for case in cases if levels[case["kind"]] < 3 or case["level"] == 3]


def best_of_ours(case, which):
    nothing = ("none", case["noisy"]["psnr"] + 0.005)  # those that change nothing are no better
    values = [(name, psnr(case, name, which)) for name in FILTERS if psnr(case, name, which) is not None]
    of_equals = {"none": 2, "denoise": 1}
    return max([nothing, *values], key=lambda item: (round(item[1], 1), of_equals.get(item[0], 0)))


def which_cell(case, method):
    result = case["methods"].get(method)
    if not result:
        return ""
    first, best = result["automatic"], result["best"]
    text = f"{shown(first['psnr'], best_of_ours(case, 'automatic')[1])} ({first['ssim']:.2f}, {first['edges']:.2f})"
    if best["psnr"] > first["psnr"] + 0.05:
        text += f"; {shown(best['psnr'], best_of_ours(case, 'best')[1])} {best['with']}"
    return text


def which_page(figures):
    cases = {truth: {(case["kind"], case["level"]): case for case in middle(figures.of(truth))}
             for truth in figures.truths}
    kinds = list(dict.fromkeys(key for of_truth in cases.values() for key in of_truth))
    names = [TRUTHS.get(truth, truth) for truth in figures.truths]
    short, tables = [], []
    for kind in kinds:
        there = [cases[truth].get(kind) for truth in figures.truths]
        title = f"{kind[0]}, {kind[1]} %"
        short.append([title, *("; ".join("{} {:.1f}".format(*best_of_ours(case, which))
                                         for which in ("automatic", "best")) if case else "" for case in there)])
        rows = [["none", *(f"{case['noisy']['psnr']:.1f} ({case['noisy']['ssim']:.2f}, {case['noisy']['edges']:.2f})"
                           if case else "" for case in there)]]
        rows += [[name, *(which_cell(case, name) if case else "" for case in there)] for name in FILTERS]
        tables.append(f"## {title[0].upper() + title[1:]}\n\n{table(['filter', *names], rows)}")
    return WHICH.format(short=table(["noise", *names], short), advice=WHICH_ADVICE, sizes=figures.sizes(),
                        pictures=WHICH_PICTURES, tables="\n\n".join(tables))


def denoise_page(figures, text):
    """The page with its table made again."""
    rows = []
    for case in figures.of("t1_template", SCANNERS):
        values = [psnr(case, name, "automatic") for name in ("noisy", "nlm", "dct", "prinlm", "denoise")]
        values.append(psnr(case, "BM4D", "best"))
        rows.append([f"{case['kind']}, {case['level']} %",
                     *("" if value is None else f"{value:.1f}" for value in values)])
    lines = text.split("\n")
    begin = lines.index("| noise | noisy | nlm | dct | prinlm | denoise | BM4D, given the noise |")
    end = next(i for i in range(begin, len(lines)) if not lines[i].startswith("|"))
    made = table(["noise", "noisy", "nlm", "dct", "prinlm", "denoise", "BM4D, given the noise"], rows)
    return "\n".join(lines[:begin] + made.split("\n") + lines[end:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    figures = Figures(json.loads((ROOT / "bench/results/quality.json").read_text(encoding="utf-8")))
    denoise = ROOT / "docs/denoise.md"
    pages = {ROOT / "docs/reports/quality.md": quality_report(figures),
             ROOT / "docs/reports/which-filter.md": which_page(figures),
             denoise: denoise_page(figures, denoise.read_text(encoding="utf-8"))}
    differences = []
    for path, text in pages.items():
        if check:
            differences += difflib.unified_diff(path.read_text(encoding="utf-8").split("\n"), text.split("\n"),
                                                str(path.relative_to(ROOT)), "bench/quality_report.py", lineterm="")
        else:
            path.write_text(text, encoding="utf-8")
    print("\n".join(differences), end="\n" if differences else "")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
