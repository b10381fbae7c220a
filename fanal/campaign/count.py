"""Parameters, FLOPs and bytes of a model, each figure by one named convention.

Closed formulas over `ModelShape`, costing nothing; the tests count the same things a second time, leaf by leaf.
FLOPs are those of the model (a multiply-add is two; the backward pass costs twice the forward), never those of
recomputation, padding or empty expert slots, and float, since a large run's do not fit 64-bit integers. The
router's bias is set by a rule and trained by no gradient: it is no parameter here. Embedding and head are untied.
"""

from fanal.campaign.derived import Counts, ModelShape

PARAM_BYTES = 4
"""Parameters and moments are float32."""

CONVENTIONS: dict[str, str] = {
    "params_total": "every trained leaf: matrices, embedding, head and norm weights; the router's bias is not one",
    "params_matrices": "trained matrices only, all experts, embedding and head included; no norm weights",
    "params_active": "matrices that one token uses, router included; no embedding, no head, no norm weights",
    "flops_per_token": "6 a parameter of params_active, and 12 · head_size a query head and query-key pair; "
    "pairs causal and windowed as if a sequence were one document; head not counted",
    "flops_per_token_with_head": "flops_per_token and 6 · vocab · hidden for the head; the embedding's look-up is 0",
    "flops": "flops_per_token · tokens of the run",
    "flops_with_head": "flops_per_token_with_head · tokens of the run",
    "param_bytes": "params_total in float32",
    "moment_bytes": "float32: one moment for MuonH's matrices, two for AdamH's head and Adam's leaves",
}
"""What each figure of `Counts` counts; printed wherever the figure is."""


def count(shape: ModelShape, seq_tokens: int, tokens: int) -> Counts:
    """All figures of one run of `tokens` tokens in sequences of `seq_tokens`."""
    per_token = flops_per_token(shape, seq_tokens)
    with_head = per_token + 3 * head_forward_flops(shape.vocab, shape.hidden)
    return Counts(
        params_total=params_total(shape),
        params_matrices=params_matrices(shape),
        params_active=params_active(shape),
        flops_per_token=per_token,
        flops_per_token_with_head=with_head,
        flops=per_token * tokens,
        flops_with_head=with_head * tokens,
        param_bytes=PARAM_BYTES * params_total(shape),
        moment_bytes=moment_bytes(shape),
    )


def params_total(shape: ModelShape) -> int:
    """Every trained leaf."""
    return params_matrices(shape) + norm_params(shape)


def params_matrices(shape: ModelShape) -> int:
    """Trained matrices only: layers with all their experts, embedding and head."""
    layer = moe_params(shape.num_experts, expert_params(shape), _layer_rest(shape))
    return shape.num_layers * layer + embedding_and_head_params(shape.vocab, shape.hidden, tied=False)


def params_active(shape: ModelShape) -> int:
    """Matrices that one token uses: embedding, head and norm weights not counted, the router counted."""
    return shape.num_layers * moe_params(shape.experts_per_token, expert_params(shape), _layer_rest(shape))


def moe_params(num_experts: int, expert: int, rest: int) -> int:
    """A layer whose experts have `expert` parameters each and whose other matrices have `rest`.

    With all experts this is the total; with those of one token, what is active.
    """
    return rest + num_experts * expert


def embedding_and_head_params(vocab: int, hidden: int, *, tied: bool) -> int:
    """Embedding and head; one leaf where they are tied, counted once."""
    return vocab * hidden if tied else 2 * vocab * hidden


def norm_params(shape: ModelShape) -> int:
    """Weights of the norms: two and the latent's in a layer, the embedding's and the last; q and k norms have none."""
    return shape.num_layers * (2 * shape.hidden + shape.latent_width) + 2 * shape.hidden


def expert_params(shape: ModelShape) -> int:
    """One routed expert: gate, up and down."""
    return 3 * shape.latent_width * shape.expert_width


def attention_params(shape: ModelShape) -> int:
    """One layer's q, k, v and output matrices."""
    return 2 * shape.hidden * shape.head_size * (shape.num_heads + shape.num_kv_heads)


def shared_width(shape: ModelShape) -> int:
    """Inner width of a layer's shared experts together: hidden/2 each."""
    return shape.num_shared_experts * (shape.hidden // 2)


def _layer_rest(shape: ModelShape) -> int:
    """One layer's matrices outside the routed experts."""
    router = shape.hidden * shape.num_experts
    latent = 2 * shape.hidden * shape.latent_width
    shared = 3 * shape.hidden * shared_width(shape)
    return attention_params(shape) + router + latent + shared


def full_pairs(seq_tokens: int) -> int:
    """Query-key pairs of a sequence without a mask."""
    return seq_tokens * seq_tokens


def causal_pairs(seq_tokens: int) -> int:
    """Query-key pairs of a sequence when each position sees itself and what precedes it."""
    return seq_tokens * (seq_tokens + 1) // 2


def windowed_pairs(seq_tokens: int, window_tokens: int) -> int:
    """Causal pairs when each position sees at most `window_tokens` positions, itself included."""
    window = min(seq_tokens, window_tokens)
    return causal_pairs(window) + (seq_tokens - window) * window


def score_forward_flops(pairs: int, num_heads: int, head_size: int) -> float:
    """Scores and their use on the values, forward; counted by query heads, whatever the number of key heads."""
    return 2.0 * 2.0 * pairs * num_heads * head_size


def head_forward_flops(vocab: int, hidden: int) -> float:
    """The head's product for one token, forward: the same tied or not, and the embedding's look-up costs nothing."""
    return 2.0 * vocab * hidden


def flops_per_token(shape: ModelShape, seq_tokens: int) -> float:
    """Forward and backward for one token, averaged over a sequence; the head not counted."""
    full = sum(shape.full_layers)
    windowed = windowed_pairs(seq_tokens, shape.window_tokens)
    pairs = full * causal_pairs(seq_tokens) + (shape.num_layers - full) * windowed
    scores = 3 * score_forward_flops(pairs, shape.num_heads, shape.head_size) / seq_tokens
    return 6.0 * params_active(shape) + scores


def moment_bytes(shape: ModelShape) -> int:
    """Optimizer state: one moment for each MuonH parameter, two for those of AdamH and Adam."""
    embedding = shape.vocab * shape.hidden
    router = shape.num_layers * shape.hidden * shape.num_experts
    adam = embedding + router + norm_params(shape)
    adamh = shape.vocab * shape.hidden
    muonh = params_total(shape) - adam - adamh
    return PARAM_BYTES * (muonh + 2 * adamh + 2 * adam)
