"""Recipes: from one dial, `hidden`, to every hyperparameter, in numbered steps, each with its law and its source.

`fine_grained_moe` is the recipe of Marin's 535B-A23B run, from its public model file and its scaling ladder
(marin-community/marin, experiments/grug/moe_hero_ep). A campaign that deviates says so in `[trainer.set]`, by value or
by one of the `lantern_*` laws below, which hold at laptop sizes only. `measured` means that somebody swept it (the
source says who), `assumed` that it was taken over, `defined` that it is arithmetic.
"""

import math
from dataclasses import dataclass

from fanal.campaign.count import params_active
from fanal.campaign.shape import model_shape
from fanal.campaign.sheet import Given, Sheet

REFERENCE = "Marin 535B-A23B, public model file"
LADDER = "Marin scaling ladder, 768 to 6,144 wide"
MUON = "Muon (Jordan et al. 2024)"
HOUSE = "Fanal"

DEPTH_OF_HIDDEN = {768: 8, 1024: 12, 1536: 16, 2048: 22, 6144: 48}
"""Layers of the reference's rungs and hero; a width between takes the row below it, a smaller one the first."""


def fine_grained_moe(sheet: Sheet) -> None:
    """Fine-grained mixture of experts in a latent space, MuonH, quantile balancing."""
    _depth_and_attention(sheet)
    _experts(sheet)
    _duration(sheet)
    _rates(sheet)
    _schedule_and_guard(sheet)


def _depth_and_attention(sheet: Sheet) -> None:
    # 1. Depth: a row of the reference's table.
    hidden = sheet.dial.hidden
    row = max((width for width in DEPTH_OF_HIDDEN if width <= hidden), default=min(DEPTH_OF_HIDDEN))
    sheet.put("num_layers", DEPTH_OF_HIDDEN[row], "table by hidden: the row at or below it", LADDER, "assumed")
    # 2. Heads of 128; four query heads share a key head (in the reference's full layers eight do: one number here).
    heads = sheet.put("num_heads", hidden // 128, "hidden / 128", LADDER, "assumed")
    sheet.put("num_kv_heads", max(1, heads // 4), "num_heads / 4, at least 1", LADDER, "assumed")
    size = sheet.put("head_size", hidden // max(1, heads), "hidden / num_heads", REFERENCE, "assumed")
    # 3. Positions: half of a head is rotated, in windowed layers only.
    sheet.put("rotary_size", size // 2 // 2 * 2, "head_size / 2, rounded down to even", REFERENCE, "assumed")
    sheet.put("rope_theta", 10_000.0, "constant", REFERENCE, "assumed")
    sheet.put("window_tokens", 2048, "constant", REFERENCE, "assumed")
    sheet.put("full_every", 4, "constant; the last layer too", REFERENCE, "assumed")
    sheet.put("qk_scale", 1.3, "constant", REFERENCE, "assumed")
    sheet.put("init_scale", 0.5, "truncated normal of init_scale / √hidden", REFERENCE, "assumed")
    sheet.put("norm_eps", 1e-6, "constant", HOUSE, "assumed")


def _experts(sheet: Sheet) -> None:
    # 4. Experts: many and narrow, working in a latent of half the width.
    half = sheet.dial.hidden // 2
    sheet.put("num_experts", 384, "constant", REFERENCE, "assumed")
    sheet.put("experts_per_token", 8, "constant", REFERENCE, "assumed")
    sheet.put("num_shared_experts", 2, "constant; each of inner width hidden / 2", REFERENCE, "assumed")
    sheet.put("expert_width", half, "hidden / 2", REFERENCE, "assumed")
    sheet.put("latent_width", half, "hidden / 2", REFERENCE, "assumed")
    sheet.put("capacity_factor", 1.25, "constant", HOUSE, "assumed")
    sheet.put("router_weight_sum", 2.5, "constant", REFERENCE, "assumed")
    sheet.put("router_weights", "sigmoid_renormalised", "sigmoids of unbiased logits, scaled", REFERENCE, "assumed")


def _duration(sheet: Sheet) -> None:
    # 5. Length: a fixed number of tokens for each parameter that a token uses, in whole batches.
    dial = sheet.dial
    active = params_active(model_shape(sheet))
    steps = max(1, round(dial.tokens_per_active_param * active / dial.batch_tokens))
    formula = f"{dial.tokens_per_active_param:g} · params_active / batch_tokens, rounded"
    steps = sheet.put("num_steps", steps, formula, "ladder.tokens_per_active_param", "defined")
    sheet.derive("tokens", steps * dial.batch_tokens, "num_steps · batch_tokens")


def _rates(sheet: Sheet) -> None:
    # 6. Rates and Adam's constants: fitted by the reference on its own ladder, between 768 and 6,144 wide.
    hidden, batch, tokens = sheet.dial.hidden, sheet.dial.batch_tokens, sheet.number("tokens")
    adam = 0.087571 * tokens**-0.3461 * hidden**-0.3448 * math.sqrt(batch)
    formula = "0.087571·tokens^−0.3461·hidden^−0.3448·√batch_tokens"
    sheet.put("adam_lr", adam, formula, LADDER, "measured")
    muonh = sheet.put("muonh_lr", 13 / 3 * adam, f"13/3 · {formula}", LADDER, "measured")
    sheet.put("adamh_lr", muonh, "muonh_lr", REFERENCE, "assumed")
    sheet.put("beta1", 0.9, "constant", REFERENCE, "assumed")
    sheet.put("beta2", published_beta2(batch), "clip(0.999^(batch_tokens/131072), 0.95, 0.9999)", LADDER, "measured")
    sheet.put("adam_eps", 9.676e-18 * math.sqrt(tokens / batch), "9.676e−18·√(tokens/batch_tokens)", LADDER, "measured")
    sheet.put("momentum", 0.95, "constant, Nesterov", MUON, "assumed")
    sheet.put("newton_schulz_steps", 5, "constant", MUON, "assumed")


def _schedule_and_guard(sheet: Sheet) -> None:
    # 7. Schedule: linear up, linear down. 8. Loss and guard.
    batch, steps = sheet.dial.batch_tokens, int(sheet["num_steps"])
    warmup = math.ceil(0.01 * steps) * batch
    sheet.put("warmup_tokens", warmup, "1 % of num_steps, rounded up, · batch_tokens", REFERENCE, "assumed")
    sheet.put("final_lr_frac", 0.05, "constant", REFERENCE, "assumed")
    sheet.put("z_loss", 1e-4, "constant", REFERENCE, "assumed")
    sheet.put("spike_factor", 6.0, "constant", HOUSE, "assumed")
    sheet.put("spike_history", 20, "constant", HOUSE, "assumed")


def published_beta2(batch_tokens: int) -> float:
    """Adam's second decay in the reference's ladder: a memory in tokens, not in steps."""
    return min(0.9999, max(0.95, 0.999 ** (batch_tokens / 131072)))


@dataclass(frozen=True)
class PowerLaw:
    """factor · (hidden / 32)^hidden_exp · (tokens / 100,000)^tokens_exp."""

    factor: float
    hidden_exp: float
    tokens_exp: float

    def __call__(self, hidden: int, tokens: float) -> float:
        return self.factor * (hidden / 32) ** self.hidden_exp * (tokens / 100_000) ** self.tokens_exp

    @property
    def formula(self) -> str:
        terms = [f"{self.factor:g}"]
        terms += [f"(hidden/32)^{self.hidden_exp:g}"] if self.hidden_exp else []
        terms += [f"(tokens/100000)^{self.tokens_exp:g}"] if self.tokens_exp else []
        return "·".join(terms)


LANTERN_RATES = {
    "adam_lr": PowerLaw(0.123, -0.310, -0.280),
    "muonh_lr": PowerLaw(0.0809, -0.397, -0.447),
    "adamh_lr": PowerLaw(0.0809, -0.397, -0.447),
}
"""The lantern's rates, from `fanal ladder tune lantern`: two rungs alone, so the exponents lean on the published ones.
AdamH's was swept tied to MuonH's."""

LANTERN_SOURCE = "swept on d32 and d40 only (`fanal ladder tune lantern`), LOG 2026-12-01"


def _lantern_rate(sheet: Sheet, name: str) -> Given:
    law = LANTERN_RATES[name]
    return Given(law(sheet.dial.hidden, sheet.number("tokens")), law.formula, LANTERN_SOURCE)


def lantern_adam_lr(sheet: Sheet) -> Given:
    """Adam's peak rate at laptop sizes."""
    return _lantern_rate(sheet, "adam_lr")


def lantern_muonh_lr(sheet: Sheet) -> Given:
    """MuonH's peak relative rate at laptop sizes."""
    return _lantern_rate(sheet, "muonh_lr")


def lantern_adamh_lr(sheet: Sheet) -> Given:
    """AdamH's peak relative rate at laptop sizes."""
    return _lantern_rate(sheet, "adamh_lr")


def lantern_beta2(sheet: Sheet) -> Given:
    """The published decay, with a memory of at most an eighth of the run: 1 / (1 − beta2) ≤ num_steps / 8.

    Below 80 steps 0.9 holds instead: Adam's step is unbounded where beta1² exceeds beta2.
    """
    short = max(0.9, 1 - 8 / sheet.number("num_steps"))
    value = min(published_beta2(sheet.dial.batch_tokens), short)
    return Given(value, "min(published law, max(0.9, 1 − 8/num_steps))", HOUSE)


def lantern_warmup_tokens(sheet: Sheet) -> Given:
    """2 % of the run and at least ten steps, within the run."""
    steps = int(sheet["num_steps"])
    warmup = min(steps, max(10, math.ceil(0.02 * steps)))
    return Given(warmup * sheet.dial.batch_tokens, "max(10, 2 % of num_steps, rounded up) · batch_tokens", HOUSE)
