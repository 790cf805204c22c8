# SPDX-License-Identifier: MIT
"""The appendix, docs/benchmarks-all.md: every figure, with the faults that keep it from the front page."""

import floor
import micro
import rivals
import scale
from evidence import MARK, Json, marked
from markdown import GENERATED, wrapped
from results import Results, caption

INTRO = f"""This page has every figure of [bench/results](../bench/results). The front page, [Benchmarks](benchmarks.md), sums
them up and defines the [terms and units](benchmarks.md#terms-and-units). A section is marked *not on the front page*
if its figures come from one sample, or from sources with uncommitted changes or of an unknown commit: treat them as
provisional. {MARK} marks a single figure that comes from one sample."""

REPEAT = """`./dev bench --report` makes both pages from the results. `./dev bench --all` first measures everything anew, which
needs a quiet machine. Each sample checks that items were conserved: no item was lost or duplicated."""

RIVALS = """`./dev bench --rivals` measures tryst and its [rivals](../bench/rivals) in turn, each in its best configuration. A
sample takes {seconds:g} s after a warm-up of {warmup:g} s, or three times as long with 100,000 tasks. Each figure is the median of
{repetitions} samples, after a round that does not count. A ratio is the best rival's figure divided by the best of
tryst's: above 1 tryst is better. {lost} marks a loss of tryst,{level} a work at which both are level,{unsteady} one whose samples
are unsteady ([what that means](benchmarks.md#won-and-lost))."""


def packages(meta: Json) -> str:
    compilers = meta.get("compilers", {})
    versions = [*compilers.values(), *(f"{name} {version}" for name, version in meta.get("packages", {}).items()
                                       if name not in compilers)]
    return wrapped(f"Versions: {', '.join(versions)}; {meta['kernel']}.")


def page(files: dict[str, Json | None]) -> str:
    parts = ["# Benchmarks: all figures\n", GENERATED, wrapped(INTRO), wrapped(REPEAT)]
    results = None
    if data := files.get("rivals.json"):
        results, meta = Results(data), data["meta"]
        parts += ["## Tryst and its rivals\n", wrapped(RIVALS.format(**meta, lost=rivals.LOST, **rivals.MARKS)),
                  marked(data), caption(meta) + "\n", rivals.summary(results), packages(meta),
                  *rivals.sections(results)]
    if data := files.get("floor.json"):
        parts += floor.sections(results, data)
    if data := files.get("scale.json"):
        parts += scale.sections(data)
    if data := files.get("micro.json"):
        parts += ["## Variants of tryst\n", micro.intro(data), *micro.sections(data)]
    return "\n".join(filter(None, parts))
