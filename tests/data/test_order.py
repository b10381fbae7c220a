from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from fanal.campaign.plan import plan_campaign
from fanal.campaign.spec import Mixture, Phase
from fanal.data.mixture import MAX_ERROR, make_stretches
from fanal.data.order import BLOCK_SEQS, Order, make_order, mixture_event_fields
from fanal.errors import CampaignError, RefusedError
from fanal.record.events import check_event
from tests.data.golden import order_lines, read_golden
from tests.worlds.campaign import tiny_campaign
from tests.worlds.corpus import built_corpus, plain_order


def two_phases(total: int = 1000, seed: int = 3) -> Order:
    phases = (Phase(0.6, {"a": 0.7, "b": 0.2, "c": 0.1}), Phase(1.0, {"a": 0.1, "b": 0.9}))
    names = ("a", "b", "c")
    return Order(names, (90, 37, 11), make_stretches(Mixture(phases), names, total), seed)


def test_the_order_is_the_one_that_was_promised() -> None:
    assert list(order_lines()) == read_golden("data_order.txt")


def test_every_epoch_of_a_domain_holds_each_sequence_once() -> None:
    order = two_phases()
    seen: dict[tuple[int, int], list[int]] = {}
    for position in range(order.total_seqs):
        drawn = order.draw(position)
        seen.setdefault((drawn.domain, drawn.epoch), []).append(drawn.index)
    for (domain, epoch), indices in seen.items():
        last = max(e for d, e in seen if d == domain)
        assert len(set(indices)) == len(indices)
        if epoch < last:
            assert sorted(indices) == list(range(order.num_seqs[domain]))


def test_epochs_are_shuffled_anew_and_seeds_differ() -> None:
    order = plain_order({"a": 40}, 80)
    first, second = ([order.draw(e * 40 + i).index for i in range(40)] for e in (0, 1))
    assert first != second != sorted(second)
    other = plain_order({"a": 40}, 80, seed=1)
    assert [other.draw(i).index for i in range(40)] != first


def test_counts_are_those_of_the_draws_before_a_position() -> None:
    order = two_phases(300)
    running = Counter[int]()
    for position in range(300):
        assert order.counts(position) == tuple(running[d] for d in range(3))
        running[order.draw(position).domain] += 1
    assert order.counts(300) == tuple(running[d] for d in range(3))


def test_at_the_borders_of_blocks_counts_follow_the_phase_weights() -> None:
    order = two_phases(4000)
    for stretch in order.stretches:
        start = order.counts(stretch.first_seq)
        for position in range(stretch.first_seq, stretch.end_seq, BLOCK_SEQS):
            drawn = [b - a for a, b in zip(start, order.counts(position), strict=True)]
            ideal = [(position - stretch.first_seq) * w for w in stretch.weights]
            assert all(abs(n - i) < MAX_ERROR for n, i in zip(drawn, ideal, strict=True))


def test_a_phase_change_replays_nothing() -> None:
    order = two_phases()
    border = order.stretches[1].first_seq
    draws = [order.draw(p) for p in range(border - 40, border + 40)]
    assert len({(d.domain, d.epoch, d.index) for d in draws}) == 80


def test_batches_are_not_periodic() -> None:
    order = plain_order({"a": 100, "b": 100}, 512)
    batches = [tuple(order.draw(8 * b + i).domain for i in range(8)) for b in range(64)]
    assert len(set(batches)) > 40


def test_another_domain_beside_it_changes_no_shuffle_of_a_domain() -> None:
    alone, beside = plain_order({"a": 30}, 30), plain_order({"b": 50, "a": 30}, 60)
    mine = [d.index for d in map(beside.draw, range(60)) if d.domain == 1]
    assert mine == [alone.draw(i).index for i in range(30)]


def test_a_position_is_found_from_what_was_drawn_there() -> None:
    order = two_phases()
    found: dict[tuple[int, int], list[int]] = {}
    for position in range(order.total_seqs):
        drawn = order.draw(position)
        found.setdefault((drawn.domain, drawn.index), []).append(position)
    for domain, index in [(0, 0), (0, 89), (1, 5), (1, 36), (2, 10)]:
        assert list(order.positions_of(domain, index)) == found[domain, index]


@pytest.mark.parametrize("position", [-1, 1000])
def test_a_position_outside_the_run_is_refused(position: int) -> None:
    with pytest.raises(ValueError, match=r"position must be in \[0, 1000\)"):
        two_phases().draw(position)


def test_a_domain_read_too_often_is_refused_before_the_run(tmp_path: Path) -> None:
    corpus = built_corpus(tmp_path)
    campaign = tiny_campaign(mixture__max_epochs=0.01)
    run = plan_campaign(campaign).hero
    with pytest.raises(RefusedError, match=r"would read domain verse .* times .*max_epochs is 0.01"):
        make_order(campaign, run, corpus)


def test_a_weight_for_a_domain_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    corpus, campaign = built_corpus(tmp_path), tiny_campaign()
    smaller = replace(corpus, domains=corpus.domains[1:])
    with pytest.raises(CampaignError, match=r"mixture.phase\[0\].weights.verse: the corpus holds code, ledger"):
        make_order(campaign, plan_campaign(campaign).hero, smaller)


def test_the_plan_of_the_mixture_fits_the_event_table_and_adds_up(tmp_path: Path) -> None:
    campaign = tiny_campaign()
    run = plan_campaign(campaign).hero
    order = make_order(campaign, run, built_corpus(tmp_path))
    fields = mixture_event_fields(order)
    check_event("mixture", fields)
    phases = fields["phases"]
    assert isinstance(phases, list)
    assert sum(sum(p["sequences"].values()) for p in phases) == run.num_steps * run.batch_seqs
    assert [p["first_seq"] for p in phases] == [0, phases[0]["last_seq"] + 1]
