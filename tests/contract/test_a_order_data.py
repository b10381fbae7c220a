"""Data order and resume, rows A1 to A7: the values that the reports should have got."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from fanal.data.batches import BatchSource, host_slice
from fanal.data.corpus import Corpus
from fanal.data.order import Order
from fanal.data.shards import make_shard, open_shard
from fanal.errors import DataError
from tests.worlds.corpus import built_corpus, plain_order

ROOT = Path(__file__).parent.parent.parent


def draws(order: Order, first: int, end: int) -> list[int]:
    return [order.draw(position).index for position in range(first, end)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return built_corpus(Path(tmp_path_factory.mktemp("corpus")))


def test_a1_resume_inside_a_later_epoch_follows_the_unbroken_order() -> None:
    straight = draws(plain_order({"all": 10}, 30), 0, 30)
    resume = (
        "import json; from tests.worlds.corpus import plain_order; order = plain_order({'all': 10}, 30); "
        "print(json.dumps([order.draw(p).index for p in range(16, 30)]))"
    )
    done = subprocess.run([sys.executable, "-c", resume], cwd=ROOT, capture_output=True, text=True, check=True)
    assert straight[:16] + json.loads(done.stdout) == straight
    assert sorted(straight[10:20]) == list(range(10))  # steps 5 to 9
    assert straight[10:20] != straight[:10]


def test_a2_a_resume_shortens_this_epoch_and_no_later_one() -> None:
    order = plain_order({"all": 10}, 30)
    epochs = Counter(order.draw(position).epoch for position in range(4, 30))
    assert epochs == {0: 6, 1: 10, 2: 10}


def test_a3_a_changed_batch_or_host_count_goes_on_at_the_same_examples(corpus: Corpus) -> None:
    order = plain_order({d.name: 64 for d in corpus.domains}, 192)
    unbroken = BatchSource(corpus, order).batch(0, 64)
    on_four = [host_slice(BatchSource(corpus, order).batch(8 * s, 8), h, 4) for s in range(3) for h in range(4)]
    position = on_four[-1].position + len(on_four[-1].domains)
    assert position == 24
    on_two = [host_slice(BatchSource(corpus, order).batch(position, 16), host, 2) for host in range(2)]
    resumed = np.concatenate([part.inputs_BS for part in on_two])
    assert np.array_equal(resumed, unbroken.inputs_BS[24:40])


@pytest.mark.parametrize("stop", [5, 20, 37, 51, 64])
def test_a4_nothing_is_lost_or_repeated_by_a_stop_anywhere(stop: int) -> None:
    before = draws(plain_order({"all": 80}, 80), 0, stop)
    after = draws(plain_order({"all": 80}, 80), stop, 80)
    assert sorted(before + after) == list(range(80))


def test_a5_the_first_epoch_is_over_before_anything_repeats() -> None:
    assert len(set(draws(plain_order({"all": 100}, 200), 0, 100))) == 100


def test_a6_hosts_hold_disjoint_parts_that_give_the_whole_in_their_order(corpus: Corpus) -> None:
    order = plain_order({d.name: d.num_seqs for d in corpus.domains}, 80)
    source = BatchSource(corpus, order)
    for step in range(10):
        whole = source.batch(8 * step, 8)
        parts = [host_slice(source.batch(8 * step, 8), host, 4) for host in range(4)]
        spans = [range(p.position, p.position + len(p.domains)) for p in parts]
        assert [position for span in spans for position in span] == list(range(8 * step, 8 * step + 8))
        assert np.array_equal(np.concatenate([p.inputs_BS for p in parts]), whole.inputs_BS)
        assert sum((p.domains for p in parts), ()) == whole.domains
    rows = {row.tobytes() for step in range(10) for row in source.batch(8 * step, 8).inputs_BS}
    assert len(rows) == 80


def test_a7_ids_above_sixteen_bits_are_read_back_or_refused(tmp_path: Path) -> None:
    ids = [1, 65_535, 65_536, 70_000]
    (tmp_path / "wide.npy").write_bytes(make_shard(["a"], [ids], vocab=119_547)[".npy"])
    assert open_shard(tmp_path / "wide.npy", 119_547).tolist() == [*ids, 0]
    with pytest.raises(DataError, match=r"token id 65536 is not in \[0, 65536\)"):
        make_shard(["a"], [ids], vocab=65_536)
