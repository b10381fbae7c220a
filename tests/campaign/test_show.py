import json
from dataclasses import fields

from fanal.campaign.count import CONVENTIONS
from fanal.campaign.derived import Law, RunPlan
from fanal.campaign.plan import plan_campaign
from fanal.campaign.read import load
from fanal.campaign.show import plan_json, plan_text

PLAN = plan_campaign(load("lantern"))


def test_the_text_has_a_line_for_every_run_with_its_figures() -> None:
    lines = {line.split()[0]: line.split() for line in plan_text(PLAN).splitlines() if line.strip()}
    for run in PLAN.runs:
        c, cells = run.counts, lines[run.run]
        whole = [c.params_matrices, c.params_total, c.params_active, run.tokens, run.num_steps]
        assert cells[1:3] == [str(run.hidden), str(run.seed)]
        assert [int(cell.replace(",", "")) for cell in cells[3:8]] == whole
        assert cells[8:10] == [f"{c.flops:.3g}", f"{c.flops_with_head:.3g}"]
        assert [int(cell.replace(",", "")) for cell in cells[10:12]] == [c.param_bytes, c.moment_bytes]


def test_every_figure_has_its_convention_and_every_number_its_law() -> None:
    text = plan_text(PLAN)
    assert PLAN.fingerprint in text
    for name, meaning in CONVENTIONS.items():
        assert f"{name} " in text
        assert meaning in text
    for law in PLAN.hero.laws:
        assert f"  {law.name} " in text
        assert f"{law.formula}; {law.source}" in text
        assert law.why in text


def test_a_deviation_is_shown_beside_the_law_it_replaces() -> None:
    line = next(line for line in plan_text(PLAN).splitlines() if "1 − 8/num_steps" in line)
    assert "set: the published law would remember more steps" in line
    assert "(in place of 0.9999: clip(0.999^(batch_tokens/131072), 0.95, 0.9999))" in line


def test_a_number_that_differs_is_shown_by_run_and_one_that_does_not_once() -> None:
    lines = plan_text(PLAN).splitlines()
    assert "  head_size           d32 8  d40 10  d48 12  d64 16  hero 24" in lines
    assert "  num_layers          2" in lines


def test_minutes_appear_only_where_a_step_was_measured() -> None:
    assert "minutes" not in plan_text(PLAN)
    text = plan_text(PLAN, {32: 0.06})
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line.strip()}
    assert len(rows["d32"]) == len(rows["d40"]) + 1
    assert rows["d32"][-1] == "0.1"
    everything = {run.hidden: 0.6 for run in PLAN.runs}
    total = next(line for line in plan_text(PLAN, everything).splitlines() if line.startswith("in all"))
    assert total.split()[-1] == f"{sum(run.num_steps for run in PLAN.runs) / 100:.1f}"


def test_the_json_has_every_field_of_every_run() -> None:
    shown = json.loads(json.dumps(plan_json(PLAN, {96: 0.06}), allow_nan=False))
    assert shown["fingerprint"] == PLAN.fingerprint
    assert shown["conventions"] == CONVENTIONS
    assert [run["run"] for run in shown["runs"]] == [run.run for run in PLAN.runs]
    for run in shown["runs"]:
        assert set(run) == {field.name for field in fields(RunPlan)} | {"minutes"}
        assert all(set(law) == {field.name for field in fields(Law)} for law in run["laws"])
    assert [run["minutes"] for run in shown["runs"][:-1]] == [None] * 8
    assert shown["runs"][-1]["minutes"] == PLAN.hero.num_steps * 0.06 / 60
