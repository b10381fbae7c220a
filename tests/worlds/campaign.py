"""Tiny campaigns: one valid file as text, to be spoiled, and the same as a `Campaign`, to be changed.

`tiny_campaign()` trains in seconds: rungs 16, 20 and 24, hero 32, eight experts, three made domains, 300 tokens.
"""

from dataclasses import replace
from typing import Any

from fanal.campaign.read import parse
from fanal.campaign.spec import Campaign

TINY_TOML = """\
format = 1
name = "tiny"
title = "Tiny"
question = "Does it run?"

[trainer]
kind = "fanal"
recipe = "fanal.campaign.recipes:fine_grained_moe"
[trainer.set]
num_layers = { value = 2, why = "seconds" }
num_heads = { value = 4, why = "narrow" }
num_kv_heads = { value = 2, why = "narrow" }
window_tokens = { value = 8, why = "a quarter of the sequence" }
full_every = { value = 2, why = "two layers" }
num_experts = { value = 8, why = "seconds" }
experts_per_token = { value = 2, why = "seconds" }
capacity_factor = { value = 1.5, why = "a small batch" }
adam_lr = { law = "fanal.campaign.recipes:lantern_adam_lr", why = "narrow" }
muonh_lr = { law = "fanal.campaign.recipes:lantern_muonh_lr", why = "narrow" }
adamh_lr = { law = "fanal.campaign.recipes:lantern_adamh_lr", why = "narrow" }
beta2 = { law = "fanal.campaign.recipes:lantern_beta2", why = "short" }
warmup_tokens = { law = "fanal.campaign.recipes:lantern_warmup_tokens", why = "short" }

[ladder]
rungs = [16, 20, 24]
hero = 32
tokens_per_active_param = 0.5
seq_tokens = 32
batch_seqs = 4
extra_seeds = { 16 = 1 }

[[corpus.source]]
name = "verse"
from = "made:made_verse"
licence = "CC0-1.0"
sample_bytes = 60_000
[[corpus.source]]
name = "code"
from = "made:made_code"
licence = "CC0-1.0"
sample_bytes = 60_000
[[corpus.source]]
name = "ledger"
from = "made:made_ledger"
licence = "CC0-1.0"
sample_bytes = 60_000
[corpus.stages]
normalise = {}
exact_duplicates = {}
near_duplicates = { jaccard = 0.8, ngram_words = 5 }
decontaminate = { ngram_words = 13, share = 0.5 }

[tokenizer]
kind = "byte_bpe"
vocab = 300

[mixture]
max_epochs = 8
[[mixture.phase]]
until = 0.75
weights = { verse = 0.5, code = 0.3, ledger = 0.2 }
[[mixture.phase]]
until = 1.0
weights = { verse = 0.7, code = 0.2, ledger = 0.1 }

[evals]
pulse = { tokens_per_domain = 64, every = 0.25 }
full = { bytes_per_domain = 2_000, at = [1.0] }

[samples]
every = 0.5
tokens = 8
prompts = ["the "]

[[watch.rule]]
name = "bias"
reads = "router/bias/*"
when = "max(abs) > 400"

[[metrics]]
key = "train/loss"
text = "Loss"
better = "lower"
"""


def tiny_campaign(**changes: Any) -> Campaign:
    """The tiny campaign with `changes`: a field, or a field of a section as `ladder__hero=40`."""
    campaign = parse(TINY_TOML, "tiny.toml")
    for path, value in changes.items():
        section, _, key = path.partition("__")
        new = replace(getattr(campaign, section), **{key: value}) if key else value
        campaign = replace(campaign, **{section: new})
    return campaign
