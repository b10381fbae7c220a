import random
from pathlib import Path

import pytest

from fanal.record.attempt import Start, start
from fanal.record.reading.series import Stretch, edge_of
from fanal.record.reading.writer_view import WriterView
from fanal.record.segments.close import close
from tests.worlds.writers import closed, forged_log


@pytest.mark.parametrize("seed", range(4))
def test_the_pieces_at_an_edge_hold_its_last_and_first_point_wherever_steps_went(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    run = start(tmp_path / "r", Start(id="a"))
    assert run.place is not None
    for _ in range(5):  # five segments of two groups, and a log behind them
        at = chance.randint(0, 40)
        for _ in range(chance.randint(1, 12)):
            run.log({"x": chance.random()} if chance.random() < 0.5 else {"x": 1.0, "y": 2}, at)
            at = max(0, at + chance.choice([1, 2, -4]))
        if chance.random() < 0.8:
            close(run.place, aged=True)
    view = WriterView(run.place)
    view.refresh()
    assert view.segments
    num_fewer = 0
    for first, end in [(0, 100), *(sorted((chance.randint(0, 45), chance.randint(0, 45))) for _ in range(60))]:
        for last in (True, False):
            wanted = Stretch(1, first, end, by_time=False)
            pieces, near = list(view.pieces("x")), list(view.edge_pieces("x", first, end, last))
            found, known = (edge_of([(0, piece) for piece in some], wanted, last) for some in (near, pieces))
            assert (found is None) == (known is None)
            if found is not None and known is not None:
                assert found.sequence == known.sequence
                assert found.piece.values()[found.at] == known.piece.values()[known.at]
                letter, exact = view.typed("x", found.sequence)
                assert (letter, exact) == ("f", None)
            num_fewer += len(near) < len(pieces)
    assert num_fewer > 20
    run.finish()


def test_a_writer_is_read_at_the_cost_of_what_is_new(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    assert run.place is not None
    view = WriterView(run.place)
    assert view.refresh()
    assert not view.refresh()
    run.log({"x": 1}, 0)
    assert view.refresh()
    assert list(view.keys()) == ["x"]
    close(run.place, aged=True)
    assert view.refresh()
    assert [len(piece.steps) for piece in view.pieces("x")] == [1]
    assert view.typed("x", int(next(view.pieces("x")).sequences[0])) == ("i", None)
    assert not view.ended
    run.finish()
    assert view.refresh()
    assert view.ended
    assert not view.refresh()


def test_what_lies_behind_a_final_segment_is_not_read(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    run.log({"x": 1}, 0)
    place = run.place
    assert place is not None
    run.finish()
    view = WriterView(place)
    view.refresh()
    forged_log(place, 1, view.segments[-1].last_sequence + 1)
    closed(place, 2)
    again = WriterView(place)
    assert again.refresh()
    assert (len(again.segments), again.ended) == (1, True)
    assert [fact.kind for _, fact in again.facts()] == [fact.kind for _, fact in view.facts()]
    assert "note" not in [fact.kind for _, fact in again.facts()]
