"""One training step, whole: loss, gradients, candidate update, one flag, next state and report.

A pure function of (state, batch), made to be jitted with the state donated; it never looks at the clock and never
leaves the device. Position and step advance whatever happens; everything else advances only where the guard applies
the update. Squared norms of every leaf, layer and expert are part of the report; `report.py` turns it into metrics.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from fanal.campaign.derived import RunPlan
from fanal.campaign.schedule import lr_frac
from fanal.model.lm import RouterReport
from fanal.model.names import leaf_norm2, named, scaled_norm2, with_named
from fanal.optim.groups import update_all
from fanal.optim.guard import all_finite, choose, judge, loss_limit, remember
from fanal.train.loss import Losses, StepBatch, objective
from fanal.train.state import TrainState


class Norms(eqx.Module):
    """Squared norms in the order of `leaf_names`, the values before the step; X counts leaves."""

    param_X: Float[Array, " X"]
    grad_X: Float[Array, " X"]
    """Of gradients over `grad_scale`, as `scaled_norm2` gives them."""
    grad_scale: Float[Array, ""]
    update_X: Float[Array, " X"]
    bias_L: Float[Array, " L"]
    bias_update_L: Float[Array, " L"]


class StepReport(eqx.Module):
    """What one step did, on the device; `reason` is a code of `optim/guard.py`."""

    position: Int[Array, ""]
    updates: Int[Array, ""]
    losses: Losses
    reason: Int[Array, ""]
    loss_limit: Float[Array, ""]
    lr_frac: Float[Array, ""]
    norms: Norms
    routers: RouterReport
    bias_LE: Float[Array, "L E"]


def make_step(run: RunPlan) -> Callable[[TrainState, StepBatch], tuple[TrainState, StepReport]]:
    """The step of one run; its sizes, rates and rules are those of the plan."""
    plan = run.optimizer

    def step(state: TrainState, batch: StepBatch) -> tuple[TrainState, StepReport]:
        differentiate = jax.value_and_grad(objective, has_aux=True)
        (_, (losses, routers)), gradient = differentiate(state.model, batch, state.router_bias_LE, plan.z_loss)
        position = state.position + batch.inputs_BS.shape[0]
        frac = rate_frac(run, position, losses.cross_entropy.dtype)
        params, grads = named(state.model), named(gradient)
        new, moments = update_all(params, grads, state.moments, state.updates, frac, plan)
        candidate = (with_named(state.model, new), moments, routers.next_bias_LE)
        limit = loss_limit(state.guard, plan.spike_factor)
        reason = judge(losses.cross_entropy, losses.scored, all_finite((grads, candidate)), limit)
        advanced = (*candidate, state.updates + 1, remember(state.guard, losses.cross_entropy))
        before = (state.model, state.moments, state.router_bias_LE, state.updates, state.guard)
        model, moments, bias_LE, updates, guard = choose(reason != 0, before, advanced)
        after = TrainState(model, moments, bias_LE, position, state.step + 1, updates, guard)
        report = StepReport(
            position, updates, losses, reason, limit, frac, _norms(state, after, grads), routers, state.router_bias_LE
        )
        return after, report

    return step


def rate_frac(run: RunPlan, position: Int[Array, ""], dtype: jnp.dtype) -> Float[Array, ""]:
    """The schedule at the tokens drawn up to `position`, this batch included."""
    return lr_frac(
        position.astype(dtype) * run.seq_tokens,
        total_tokens=run.tokens,
        warmup_tokens=run.optimizer.warmup_tokens,
        final_frac=run.optimizer.final_lr_frac,
        xp=jnp,
    )


def _norms(state: TrainState, after: TrainState, grads: dict[str, Array]) -> Norms:
    params, moved = named(state.model), named(after.model)
    grad_scale, grad_X = scaled_norm2(grads)
    change_LE = after.router_bias_LE - state.router_bias_LE
    return Norms(
        param_X=leaf_norm2(params),
        grad_X=grad_X,
        grad_scale=grad_scale.astype(grad_X.dtype),
        update_X=leaf_norm2({name: moved[name] - params[name] for name in params}),
        bias_L=jnp.sum(jnp.square(state.router_bias_LE), axis=1),
        bias_update_L=jnp.sum(jnp.square(change_LE), axis=1),
    )
