"""What follows from a campaign, as types: the exact plan of every run, before anything starts.

`plan.py` computes these once; model, optimizer, data and loop read them and derive nothing again.
Every number that a law gave stands in `laws` with the law's name, its source and whether it was
measured here or assumed. All frozen, JSON-able by `dataclasses.asdict`.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Law:
    """One derived number and where it comes from."""

    name: str
    """The number's name, e.g. `adam_lr`."""
    value: float | int | bool | str
    formula: str
    """The formula in words or symbols, e.g. `0.0876·tokens^−0.346·hidden^−0.345·√batch_tokens`."""
    source: str
    """Paper, model file, issue or LOG entry."""
    status: str
    """`measured`, `assumed`, `defined` (arithmetic), or `set` (the campaign deviates; `why` says why)."""
    why: str = ""
    replaces: str = ""
    """With `set`: the recipe's value and formula, which the campaign put aside."""


@dataclass(frozen=True)
class ModelShape:
    """The model's sizes and switches; the model is built from this and nothing else."""

    vocab: int
    hidden: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_size: int
    rotary_size: int
    """Leading components of a head that are rotated; even."""
    rope_theta: float
    window_tokens: int
    """Positions that a windowed layer sees, itself included."""
    full_every: int
    """Every n-th layer, and the last, sees everything and has no positions."""
    qk_scale: float
    """Factor on the normalised queries (1.3)."""
    num_experts: int
    experts_per_token: int
    num_shared_experts: int
    expert_width: int
    latent_width: int
    capacity_factor: float
    """Slots of an expert over its even share of a batch's assignments."""
    router_weight_sum: float
    """What the mixing weights of a token's experts add up to (2.5)."""
    router_weights: str
    """How scores become mixing weights: `sigmoid_renormalised`."""
    init_scale: float
    """Standard deviation of the truncated normal is `init_scale / sqrt(hidden)` (0.5)."""
    norm_eps: float

    @property
    def full_layers(self) -> tuple[bool, ...]:
        """Which layers see everything: every `full_every`-th, and the last."""
        last = self.num_layers - 1
        return tuple((i + 1) % self.full_every == 0 or i == last for i in range(self.num_layers))


@dataclass(frozen=True)
class OptimizerPlan:
    """Rates and constants of the three optimizers, the schedule and the guard."""

    adam_lr: float
    """Peak rate of Adam (embedding, norms, router)."""
    muonh_lr: float
    """Peak relative rate of MuonH (matrices, each expert's its own): length of a step over the matrix's norm."""
    adamh_lr: float
    """Peak relative rate of AdamH (head)."""
    beta1: float
    beta2: float
    adam_eps: float
    momentum: float
    """MuonH's Nesterov momentum."""
    newton_schulz_steps: int
    warmup_tokens: int
    """Tokens at which the rate reaches its peak."""
    final_lr_frac: float
    """Rate at the last token over the peak; linear in between."""
    z_loss: float
    """Factor of the mean squared log-normaliser."""
    spike_factor: float
    """A step is skipped when its loss is above mean + factor · standard deviation of the accepted losses."""
    spike_history: int
    """How many accepted losses are remembered; the rule waits until they are there."""


@dataclass(frozen=True)
class Counts:
    """Parameters, FLOPs and bytes, each by a named convention of `count.py`."""

    params_total: int
    """Every trained leaf."""
    params_matrices: int
    """Trained matrices only, embedding and head included."""
    params_active: int
    """Matrices that one token uses, embedding and head not counted."""
    flops_per_token: float
    """Forward and backward, causal and windowed attention counted by pairs, head not counted."""
    flops_per_token_with_head: float
    flops: float
    """`flops_per_token` × tokens of the run."""
    flops_with_head: float
    param_bytes: int
    moment_bytes: int


@dataclass(frozen=True)
class RunPlan:
    """One training, exactly."""

    run: str
    """Id in the record: `d32`, `d32-s1`, `hero`."""
    role: str
    """`rung` or `hero`."""
    hidden: int
    seed: int
    model: ModelShape
    optimizer: OptimizerPlan
    seq_tokens: int
    batch_seqs: int
    num_steps: int
    tokens: int
    """num_steps · batch_seqs · seq_tokens."""
    pulse_steps: tuple[int, ...]
    """Steps after which pulse is scored (0 is before the first); the last is num_steps."""
    full_steps: tuple[int, ...]
    sample_steps: tuple[int, ...]
    checkpoint_steps: tuple[int, ...]
    counts: Counts
    laws: tuple[Law, ...]

    @property
    def batch_tokens(self) -> int:
        return self.batch_seqs * self.seq_tokens


@dataclass(frozen=True)
class CampaignPlan:
    """Every run of a campaign in the order of training, the hero last."""

    runs: tuple[RunPlan, ...]
    fingerprint: str
    """SHA-256 of the canonical JSON of the resolved campaign (what was written and every derived number)."""
    resolved: str
    """That canonical JSON."""

    @property
    def rungs(self) -> tuple[RunPlan, ...]:
        return tuple(run for run in self.runs if run.role == "rung")

    @property
    def hero(self) -> RunPlan:
        return next(run for run in self.runs if run.role == "hero")
