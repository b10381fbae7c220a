"""A plan for people and for programs: what each run is, costs and follows, before anything starts.

Every figure stands with its convention, every hyperparameter with its law, the law's source, and whether it was
measured, assumed, defined or set by the campaign and why. Minutes appear only for widths whose step was measured.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fanal.campaign.count import CONVENTIONS
from fanal.campaign.derived import CampaignPlan, Law, RunPlan
from fanal.campaign.fingerprint import plain

_HEADS = ("run", "hidden", "seed", "matrices", "every leaf", "active", "tokens", "steps", "FLOPs", "with head")
_BYTES_HEADS = ("param bytes", "moment bytes")


def plan_json(plan: CampaignPlan, seconds_per_step: Mapping[int, float] | None = None) -> dict[str, Any]:
    """The plan as JSON: runs in the order of training with counts and laws, and what each count counts.

    Units: `seconds_per_step` by hidden width; `minutes` of a run is null where its width is not there.
    """
    runs = [{**plain(run), "minutes": _minutes(run, seconds_per_step or {})} for run in plan.runs]
    return {"fingerprint": plan.fingerprint, "conventions": dict(CONVENTIONS), "runs": runs}


def plan_text(plan: CampaignPlan, seconds_per_step: Mapping[int, float] | None = None) -> str:
    """The plan as text: a table of runs, what its columns count, and the laws.

    Units: as `plan_json`.
    """
    measured = seconds_per_step or {}
    lines = [f"fingerprint  {plan.fingerprint}", "", *_runs(plan, measured), "", "What is counted"]
    lines += [f"  {name:<26}{text}" for name, text in CONVENTIONS.items()]
    lines += ["", "Hyperparameters, by run where they differ"]
    lines += _laws([run for run in plan.runs if "-s" not in run.run])
    return "\n".join(lines) + "\n"


def _runs(plan: CampaignPlan, measured: Mapping[int, float]) -> Iterator[str]:
    heads = [*_HEADS, *_BYTES_HEADS, *(["minutes"] if measured else [])]
    rows = [_run_row(run, measured) for run in plan.runs]
    tokens, steps = sum(run.tokens for run in plan.runs), sum(run.num_steps for run in plan.runs)
    flops = [sum(run.counts.flops for run in plan.runs), sum(run.counts.flops_with_head for run in plan.runs)]
    total = ["in all", "", "", "", "", "", f"{tokens:,}", f"{steps:,}", *(f"{x:.3g}" for x in flops), "", ""]
    if measured:
        minutes = [_minutes(run, measured) for run in plan.runs]
        total.append("" if None in minutes else f"{sum(m for m in minutes if m is not None):.1f}")
    table = [heads, *rows, total]
    widths = [max(len(row[i]) for row in table) for i in range(len(heads))]
    for row in table:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join([row[0].ljust(widths[0]), *cells]).rstrip()


def _run_row(run: RunPlan, measured: Mapping[int, float]) -> list[str]:
    c = run.counts
    whole = (c.params_matrices, c.params_total, c.params_active, run.tokens, run.num_steps)
    cells = [run.run, str(run.hidden), str(run.seed), *(f"{num:,}" for num in whole)]
    cells += [f"{c.flops:.3g}", f"{c.flops_with_head:.3g}", f"{c.param_bytes:,}", f"{c.moment_bytes:,}"]
    if measured:
        minutes = _minutes(run, measured)
        cells.append("" if minutes is None else f"{minutes:.1f}")
    return cells


def _minutes(run: RunPlan, measured: Mapping[int, float]) -> float | None:
    seconds = measured.get(run.hidden)
    return None if seconds is None else seconds * run.num_steps / 60


def _laws(runs: Sequence[RunPlan]) -> Iterator[str]:
    by_run = [{law.name: law for law in run.laws} for run in runs]
    for name, law in by_run[-1].items():
        laws = [laws[name] for laws in by_run]
        yield f"  {name:<20}{_values(runs, laws)}"
        status = f"set: {law.why}" if law.status == "set" else law.status
        instead = f" (in place of {law.replaces})" if law.replaces else ""
        yield f"  {'':<20}  {law.formula}; {law.source}; {status}{instead}"


def _values(runs: Sequence[RunPlan], laws: Sequence[Law]) -> str:
    shown = [f"{law.value:.6g}" if isinstance(law.value, float) else str(law.value) for law in laws]
    if len(set(shown)) == 1:
        return shown[0]
    return "  ".join(f"{run.run} {value}" for run, value in zip(runs, shown, strict=True))
