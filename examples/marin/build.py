"""Makes the record: four rungs, the hero with the seven runs it really was, and what was written about it.

One call on a new folder; costs seconds. Rows carry the source's time where it has one and time 0, "not known", where it
has none. Incidents are references, which no rule reads. The attempts are those that the public log names: a restart
inside one of the seven runs shows only as a gap in time.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from examples.marin import figures
from examples.marin.figures import Row
from fanal.record.attempt import Run, Start, start

RUNGS = ("d768", "d1024", "d1536", "d2048")
HERO_RUNS = (
    (0, "hero-12d8b6f0-dee637", "start"),
    (58_014, "hero-wd-gate-router-p02-step58k", "weight decay 0.02 on gate and router"),
    (81_716, "hero-ragged_a2a-nccl2307-ep-step81k", "ragged expert kernel"),
    (108_000, "run from step 108,000", "data mixture, phase 0 to phase 1"),
    (108_778, "hero-nopdl-step108k", "kernel and runtime packages"),
    (121_638, "run from step 121,638", "planned deployment"),
    (146_139, "hero-fa4sm100-nomask-step146k", "kernel bundle"),
)
"""First step, name and change of each run of the hero's lineage."""
BATCH_SEQS = 11_264
PHASE_STEPS = (0, 108_000, 312_200, 390_251)
"""Where the mixture's phases begin: the second by the log, the third and the end at 80 % and 100 % of the steps."""
NORMS = (
    "Norm of each parameter tensor over the first day: lowest, highest, mean. Tensors of group `none` are set by the "
    "balancing rule and have no gradient. Comment 5357943524 of github.com/marin-community/marin/issues/8435"
)
LAST = "the public captures end here, and the training went on"
ABOUT = "Public figures of the 535B-A23B run, retyped from public captures of its dashboards"


def build(folder: Path, record: Path) -> None:
    """Write the record of the figures in `folder` into `record`.

    Raises:
        RecordError: `record` holds other things.
        FileNotFoundError: a table is missing.
    """
    about = {rung["rung"]: rung for rung in figures.ladder(folder)["rungs"]}
    for rung in RUNGS:
        run = start(record, Start(project="marin", id=rung, name=rung, config=about[rung], role="rung", cause="import"))
        _describe(run)
        _log(run, figures.rung_rows(folder, rung))
        run.finish()
    dense, evals = list(figures.dense_rows(folder)), figures.eval_rows(folder)
    late, router = list(figures.late_rows(folder)), list(figures.router_rows(folder))
    starts = [first for first, *_ in HERO_RUNS[1:]]
    ends = [*starts, 1 << 40]
    for (first, name, change), end in zip(HERO_RUNS, ends, strict=True):
        hero = start(record, _hero(first, name, change, about["d6144"]))
        if first == 0:
            _describe(hero)
            _facts(hero, folder)
        for rows in (dense, late, router, evals):
            _log(hero, (row for row in rows if first <= row[0] < end))
        hero.finish("interrupted", f"the run went on under another name at step {end:,}" if end in starts else LAST)


def _hero(first_step: int, name: str, change: str, about: dict[str, Any]) -> Start:
    config = {**about, "run": name, "change": change}
    cause = "resume" if first_step else "import"
    from_step = first_step or None
    return Start("marin", "hero", "hero 535B-A23B", config, role="hero", cause=cause, from_step=from_step)


def _describe(run: Run) -> None:
    for metric in figures.METRICS:
        run.event(
            "metric",
            pattern=metric.pattern,
            text=metric.text,
            unit=metric.unit,
            better=metric.better,
            source=f"shared figures, {metric.source}",
        )


def _facts(run: Run, folder: Path) -> None:
    """What belongs to no row."""
    run.event("source", name="marin", where="github.com/marin-community/marin/issues/8506", text=ABOUT)
    for letter, where in figures.sources(folder):
        run.event("source", name=letter, where=where.partition(" (")[0], text=where)
    run.event("ladder", document=figures.ladder(folder))
    mixture = figures.mixture(folder)
    seqs = [step * BATCH_SEQS for step in PHASE_STEPS]
    phases = [
        {"first_seq": seqs[phase], "last_seq": seqs[phase + 1] - 1, "weights": weights}
        for phase, weights in mixture["phases"].items()
    ]
    run.event("mixture", phases=phases)
    domains = [{"id": number, "name": name} for number, name in mixture["domains"].items()]
    run.event("figures", name="domains", text="Names of the clusters cNN of the mixture's cells", rows=domains)
    run.event("figures", name="param_norms_first_day", text=NORMS, rows=figures.norm_ranges(folder))
    for incident in figures.incidents(folder):
        run.event("incident.reference", step=incident["first_step"], **incident)
    for text in figures.patterns(folder):
        run.event("note", text=f"Seen in the series, inferred: {text}", author="whoever typed the series")


def _log(run: Run, rows: Iterable[Row]) -> None:
    for step, time_ns, values in rows:
        run.log(values, step, time_ns=time_ns)
