"""From a campaign to the exact plan of its runs: pure, the same on every machine, and complete before anything starts.

Runs come in the order of training: rungs ascending, each rung's further seeds after it, the hero last. Steps at which
something happens are rounded shares of the run. It costs milliseconds. How often a domain would be read is known only
once the corpus has been counted: `data/order.py` holds it.
"""

import math
from collections.abc import Iterator
from fractions import Fraction

from fanal.campaign.count import count
from fanal.campaign.derived import CampaignPlan, RunPlan
from fanal.campaign.fingerprint import canonical_json, sha256_hex
from fanal.campaign.shape import model_shape, optimizer_plan
from fanal.campaign.sheet import Dial, Sheet, resolve
from fanal.campaign.spec import Campaign
from fanal.errors import CampaignError


def plan_campaign(campaign: Campaign) -> CampaignPlan:
    """Every run of the campaign, and the fingerprint of all that was written and derived.

    Raises:
        CampaignError: sizes that cannot be, or a setting that the recipe does not have.
    """
    runs = tuple(
        plan_run(campaign, hidden, run=run, role=role, seed=seed) for run, role, hidden, seed in _run_list(campaign)
    )
    resolved = canonical_json({"campaign": campaign, "runs": runs})
    return CampaignPlan(runs=runs, fingerprint=sha256_hex(resolved), resolved=resolved)


def plan_run(campaign: Campaign, hidden: int, *, run: str, role: str, seed: int) -> RunPlan:
    """The plan of one training at width `hidden`.

    Raises:
        CampaignError: as `plan_campaign`, naming campaign and run.
    """
    try:
        sheet = _fill(campaign, hidden)
        model, optimizer = model_shape(sheet), optimizer_plan(sheet)
    except CampaignError as error:
        raise CampaignError(f"campaign {campaign.name}, run {run}: {error}") from error
    ladder, steps, tokens = campaign.ladder, int(sheet["num_steps"]), int(sheet["tokens"])
    return RunPlan(
        run=run,
        role=role,
        hidden=hidden,
        seed=seed,
        model=model,
        optimizer=optimizer,
        seq_tokens=ladder.seq_tokens,
        batch_seqs=ladder.batch_seqs,
        num_steps=steps,
        tokens=tokens,
        pulse_steps=steps_every(campaign.evals.pulse.every, steps, from_start=True),
        full_steps=tuple(sorted({round(share * steps) for share in campaign.evals.full.at})),
        sample_steps=steps_every(campaign.samples.every, steps, from_start=True),
        checkpoint_steps=steps_every(campaign.checkpoints.keep_every, steps, from_start=False),
        counts=count(model, ladder.seq_tokens, tokens),
        laws=sheet.laws,
    )


def steps_every(every: float, num_steps: int, *, from_start: bool) -> tuple[int, ...]:
    """The steps nearest to each multiple of the share `every`, the last step always among them."""
    share = Fraction(str(every))
    multiples = range(0 if from_start else 1, math.floor(1 / share) + 1)
    steps = {round(k * share * num_steps) for k in multiples} | {num_steps}
    return tuple(sorted(step for step in steps if step > 0 or from_start))


def _run_list(campaign: Campaign) -> Iterator[tuple[str, str, int, int]]:
    """Id, role, width and seed of every run, in the order of training."""
    ladder = campaign.ladder
    for hidden in ladder.rungs:
        yield f"d{hidden}", "rung", hidden, ladder.seed
        for extra in range(1, ladder.extra_seeds.get(hidden, 0) + 1):
            yield f"d{hidden}-s{extra}", "rung", hidden, ladder.seed + extra
    yield "hero", "hero", ladder.hero, ladder.seed


def _fill(campaign: Campaign, hidden: int) -> Sheet:
    ladder, trainer = campaign.ladder, campaign.trainer
    dial = Dial(hidden, campaign.tokenizer.vocab, ladder.seq_tokens, ladder.batch_seqs, ladder.tokens_per_active_param)
    sheet = Sheet(dial, trainer.set)
    resolve(trainer.recipe, "trainer.recipe")(sheet)
    sheet.check_settings()
    return sheet
