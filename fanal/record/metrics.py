"""The names of every metric Fanal itself logs: one constant or function each, used by writer and reader.

A key is `/`-separated; a name of an axis element follows its axis (`layer0`, `e07`). `DESCRIBED`
says what each means and its unit; a test holds that the trainer logs no key that is not described.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase

TRAIN_LOSS = "train/loss"
TRAIN_Z_LOSS = "train/z_loss"
TRAIN_TOKENS = "train/tokens"
TRAIN_SCORED_TOKENS = "train/scored_tokens"
TRAIN_UPDATES = "train/updates"
TRAIN_SKIPPED = "train/skipped"
TRAIN_GRAD_NORM = "train/grad_norm"
TRAIN_PARAM_NORM = "train/param_norm"
TRAIN_STEP_SECONDS = "train/step_seconds"
TRAIN_TOKENS_PER_SECOND = "train/tokens_per_second"
LR_ADAM = "lr/adam"
LR_MUONH = "lr/muonh"
LR_ADAMH = "lr/adamh"
PULSE_MACRO = "eval/pulse/macro"
FULL_MACRO = "eval/full/macro"
EVAL_SECONDS = "eval/seconds"


def eval_loss(eval_set: str, domain: str) -> str:
    """Loss of one domain on `pulse` or `full`; `macro` is the mean over domains."""
    return f"eval/{eval_set}/{domain}"


def eval_bits_per_byte(eval_set: str, domain: str) -> str:
    """Bits per byte of one domain on `pulse` or `full`; `macro` is the mean over domains."""
    return f"eval/{eval_set}_bpb/{domain}"


def data_tokens(domain: str) -> str:
    """Tokens drawn so far from one domain."""
    return f"data/tokens/{domain}"


def router_load(layer: int, expert: int) -> str:
    """Tokens sent to one expert over the even share."""
    return f"router/load/layer{layer}/e{expert:03d}"


def router_bias(layer: int, expert: int) -> str:
    """Balancing bias of one expert."""
    return f"router/bias/layer{layer}/e{expert:03d}"


def router_entropy(layer: int) -> str:
    """Entropy of the load over a layer's experts."""
    return f"router/entropy/layer{layer}"


def router_dropped(layer: int) -> str:
    """Share of a layer's assignments that found no slot."""
    return f"router/dropped_frac/layer{layer}"


def norm2(kind: str, leaf: str) -> str:
    """Squared norm of one leaf (`kind`: param, grad, update); an expert matrix has one key an expert."""
    return f"norm2/{kind}/{leaf}"


_EVALS = "fanal/evals/perplexity.py"


@dataclass(frozen=True)
class Described:
    """What the keys of a pattern mean."""

    pattern: str
    text: str
    unit: str
    better: str = ""
    source: str = "fanal/train/report.py"
    """The file whose lines log it."""


DESCRIBED = (
    Described(TRAIN_LOSS, "Cross-entropy of the batch's scored tokens, before the step", "nats per token", "lower"),
    Described(TRAIN_Z_LOSS, "Mean squared log-normaliser of the logits, times its factor", "nats per token", "lower"),
    Described(TRAIN_TOKENS, "Tokens drawn since the run's start, this batch included", "tokens"),
    Described(TRAIN_SCORED_TOKENS, "Tokens of this batch whose prediction is scored", "tokens"),
    Described(TRAIN_UPDATES, "Updates applied so far; a skipped step applies none", "updates"),
    Described(TRAIN_SKIPPED, "1 where the guard skipped the step's update, else 0", ""),
    Described(TRAIN_GRAD_NORM, "Norm of the gradient over all trained leaves", "", ""),
    Described(TRAIN_PARAM_NORM, "Norm of all trained leaves (router bias not among them)", "", ""),
    Described(TRAIN_STEP_SECONDS, "Wall time of the step", "s", "lower"),
    Described(TRAIN_TOKENS_PER_SECOND, "Tokens of the batch over the step's wall time", "tokens/s", "higher"),
    Described("lr/*", "Learning rate of one optimizer at this step", ""),
    Described(
        "eval/pulse/*",
        "Loss on the small frozen eval set; macro is the mean over domains",
        "nats per token",
        "lower",
        _EVALS,
    ),
    Described(
        "eval/full/*",
        "Loss on the full frozen eval set; macro is the mean over domains",
        "nats per token",
        "lower",
        _EVALS,
    ),
    Described("eval/pulse_bpb/*", "The same in bits per byte", "bits per byte", "lower", _EVALS),
    Described("eval/full_bpb/*", "The same in bits per byte", "bits per byte", "lower", _EVALS),
    Described(EVAL_SECONDS, "Wall time of the evals at this step", "s", "lower", "fanal/train/journal.py"),
    Described("data/tokens/*", "Tokens drawn so far from one domain", "tokens", source="fanal/train/journal.py"),
    Described("router/load/*", "Tokens sent to one expert over the even share; 1 is even", ""),
    Described("router/bias/*", "Balancing bias added to one expert's logit when experts are chosen", ""),
    Described(
        "router/entropy/*", "Entropy of the load over experts; the logarithm of their number is even", "nats", "higher"
    ),
    Described("router/dropped_frac/*", "Share of assignments that found no slot in their expert", "", "lower"),
    Described("norm2/param/*", "Squared norm of one leaf's values", ""),
    Described("norm2/grad/*", "Squared norm of one leaf's gradient", ""),
    Described("norm2/update/*", "Squared norm of one leaf's change in this step", ""),
)


def describe(key: str) -> Described | None:
    """The first description whose pattern matches `key`, or None."""
    return next((d for d in DESCRIBED if fnmatchcase(key, d.pattern)), None)
