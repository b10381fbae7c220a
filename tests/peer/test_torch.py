"""The optimizers beside PyTorch's own, on equal gradients: the same numbers where both claim the same algorithm."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from fanal.campaign.plan import plan_campaign
from fanal.campaign.read import load
from fanal.model.lm import token_losses
from fanal.optim.adam import AdamMoments, adam_direction
from tests.tolerances import REASSOCIATED, assert_close

pytestmark = pytest.mark.peer

STEPS, LR = 5, 0.01


def test_adam_takes_torchs_steps() -> None:
    with jax.enable_x64(True):
        plan = plan_campaign(load("firefly")).hero.optimizer
        gradients = np.random.default_rng(0).normal(size=(STEPS, 7, 3))
        weights = torch.zeros(7, 3, dtype=torch.float64, requires_grad=True)
        theirs = torch.optim.Adam([weights], lr=LR, betas=(plan.beta1, plan.beta2), eps=plan.adam_eps)
        ours, moments = jnp.zeros((7, 3)), AdamMoments(jnp.zeros((7, 3)), jnp.zeros((7, 3)))
        for update, gradient in enumerate(gradients, start=1):
            weights.grad = torch.from_numpy(gradient)
            theirs.step()
            direction, moments = adam_direction(jnp.asarray(gradient), moments, jnp.asarray(float(update)), plan)
            ours = ours - LR * direction
        assert_close(ours, weights.detach().numpy(), REASSOCIATED["float64"])


def test_cross_entropy_and_its_gradient_are_torchs() -> None:
    rng = np.random.default_rng(1)
    logits, targets = rng.normal(size=(11, 13)) * 4, rng.integers(0, 13, 11)
    theirs_in = torch.from_numpy(logits).requires_grad_()
    loss = torch.nn.functional.cross_entropy(theirs_in, torch.from_numpy(targets))
    loss.backward()

    def ours(x: jax.Array) -> jax.Array:
        nats, _ = token_losses(x[None], jnp.asarray(targets)[None])
        return nats.mean()

    with jax.enable_x64(True):
        value, gradient = jax.value_and_grad(ours)(jnp.asarray(logits))
        assert theirs_in.grad is not None
        assert_close(value, loss.item(), REASSOCIATED["float64"])
        assert_close(gradient, theirs_in.grad.numpy(), REASSOCIATED["float64"])
