"""From a filled sheet to `ModelShape` and `OptimizerPlan`, or to the reason why such sizes cannot be.

Each class's fields are read from the sheet by their own names, so a recipe that leaves one out is told which.
Every rule says which number to change. Nothing is rounded or repaired here.
"""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from fanal.campaign.derived import ModelShape, OptimizerPlan
from fanal.campaign.sheet import Sheet
from fanal.errors import CampaignError

MIN_VOCAB = 257
"""Every byte and the document separator."""


def model_shape(sheet: Sheet) -> ModelShape:
    """The model's sizes as the sheet has them.

    Raises:
        CampaignError: sizes that cannot be; one line a reason, each naming what to change.
    """
    stated = {"hidden": sheet.dial.hidden, "vocab": sheet.dial.vocab}
    values: dict[str, Any] = {f.name: stated[f.name] if f.name in stated else sheet[f.name] for f in fields(ModelShape)}
    shape = ModelShape(**values)
    problems = [*_sizes(shape), *_heads(shape), *_experts(shape)]
    if problems:
        raise CampaignError("\n".join(f"hidden {shape.hidden}: {problem}" for problem in problems))
    return shape


def optimizer_plan(sheet: Sheet) -> OptimizerPlan:
    """The optimizers' numbers as the sheet has them.

    Raises:
        CampaignError: a rate, decay or warm-up out of its range.
    """
    values: dict[str, Any] = {f.name: sheet[f.name] for f in fields(OptimizerPlan)}
    plan = OptimizerPlan(**values)
    problems = list(_optimizer(plan, int(sheet.number("tokens"))))
    if problems:
        raise CampaignError("\n".join(f"hidden {sheet.dial.hidden}: {problem}" for problem in problems))
    return plan


def _sizes(s: ModelShape) -> Iterator[str]:
    positive = ("num_layers", "full_every", "window_tokens", "num_experts", "experts_per_token", "expert_width")
    for name in positive:
        if getattr(s, name) < 1:
            yield f"{name} must be at least 1, got {getattr(s, name)}; set it in [trainer.set]"
    for name in ("rope_theta", "qk_scale", "router_weight_sum", "init_scale", "norm_eps"):
        if not getattr(s, name) > 0:
            yield f"{name} must be above 0, got {getattr(s, name)}; set it in [trainer.set]"
    if s.vocab < MIN_VOCAB:
        yield f"tokenizer.vocab must be at least {MIN_VOCAB} (256 bytes and the separator), got {s.vocab}"
    if s.hidden % 2:
        yield "hidden must be even, for the experts' latent is half of it; choose another rung"


def _heads(s: ModelShape) -> Iterator[str]:
    if s.num_heads < 1 or s.num_kv_heads < 1:
        yield (
            f"needs at least one head and one key head, got num_heads {s.num_heads} and num_kv_heads {s.num_kv_heads}; "
            "the recipe's heads of 128 do not fit so small a model: set both in [trainer.set]"
        )
        return
    if s.hidden % s.num_heads:
        yield f"num_heads {s.num_heads} does not divide hidden {s.hidden}; choose another rung or set num_heads"
    if s.num_heads % s.num_kv_heads:
        yield f"num_kv_heads {s.num_kv_heads} does not divide num_heads {s.num_heads}; set num_kv_heads"
    if s.head_size < 1 or s.rotary_size < 2 or s.rotary_size % 2 or s.rotary_size > s.head_size:
        yield (
            f"rotary_size must be even, at least 2 and at most head_size, got {s.rotary_size} of {s.head_size}; "
            "use fewer heads"
        )


def _experts(s: ModelShape) -> Iterator[str]:
    if s.experts_per_token >= s.num_experts:
        yield (
            f"experts_per_token {s.experts_per_token} must be below num_experts {s.num_experts}: "
            "balancing compares a token's experts with the next best one; set either"
        )
    if s.latent_width < 1:
        yield f"latent_width must be at least 1, got {s.latent_width}"
    if s.num_shared_experts < 1:
        yield f"num_shared_experts must be at least 1, got {s.num_shared_experts}; set it in [trainer.set]"
    if s.capacity_factor < 1:
        yield f"capacity_factor must be at least 1, or an even load would be dropped, got {s.capacity_factor}"
    if s.router_weights != "sigmoid_renormalised":
        yield f"router_weights must be 'sigmoid_renormalised', got {s.router_weights!r}"


def _optimizer(plan: OptimizerPlan, tokens: int) -> Iterator[str]:
    for name in ("adam_lr", "muonh_lr", "adamh_lr", "adam_eps", "spike_factor"):
        if not getattr(plan, name) > 0:
            yield f"{name} must be above 0, got {getattr(plan, name)}"
    for name in ("beta1", "beta2", "momentum"):
        if not 0 <= getattr(plan, name) < 1:
            yield f"{name} must be at least 0 and below 1, got {getattr(plan, name)}"
    if not 0 <= plan.final_lr_frac <= 1:
        yield f"final_lr_frac must lie between 0 and 1, got {plan.final_lr_frac}"
    if not 0 <= plan.warmup_tokens <= tokens:
        yield f"warmup_tokens must lie within the run's {tokens} tokens, got {plan.warmup_tokens}"
    if plan.z_loss < 0 or plan.newton_schulz_steps < 1 or plan.spike_history < 2:
        yield "z_loss must be at least 0, newton_schulz_steps at least 1, spike_history at least 2"
