from pathlib import Path

from fanal.errors import RecordError
from fanal.record.attempt import Start, Withhold, start
from fanal.record.reading.own_run import Family, OwnRun, Source


def no_blob(ref: object) -> bytes:
    raise RecordError(f"{ref} is not asked for here")


def test_a_run_is_what_its_writers_wrote_as_of_the_last_refresh(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a", role="rung", name="A"))
    second = start(tmp_path / "r", Start(id="a", shared=True))
    own = OwnRun("a", Source(tmp_path / "r", no_blob))
    assert own.events() == []
    assert own.refresh()
    assert (own.role, own.start["name"], own.numbers()) == ("rung", "A", [1])
    assert own.created_ns == own.events()[0].time_ns
    assert run.place is not None
    assert second.place is not None
    assert list(own.writers(1)) == sorted([run.place.writer, second.place.writer])
    second.log({"x": 1.0}, 5)
    run.log({"x": 1.0}, 7)
    assert own.refresh()
    assert [(b.attempt, b.from_step) for b in own.beginnings()] == [(1, 5)]
    assert not own.refresh()
    second.finish()
    run.finish()


def test_with_public_what_is_withheld_is_not_there(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a", withhold=(Withhold("secret/*", "under review"),)))
    run.log({"x": 1.0, "secret/y": 2.0}, 0)
    for public, keys in ((False, {"x", "secret/y"}), (True, {"x"})):
        own = OwnRun("a", Source(tmp_path / "r", no_blob, public=public))
        own.refresh()
        assert {key for *_, view in own.all_writers() for key in view.keys()} == keys  # noqa: SIM118
    run.finish()


def test_a_run_that_the_record_does_not_hold_has_no_attempts() -> None:
    assert Family().beginnings("gone") == []
