from pathlib import Path

import pytest

from fanal.record.events import KINDS, as_page, check_event


def test_the_docs_page_is_the_table() -> None:
    page = Path(__file__).parents[2] / "docs" / "events.md"
    assert page.read_text("utf-8") == as_page(), "run `python -m fanal.record.events > docs/events.md`"
    assert all(f"## `{kind}`" in as_page() for kind in KINDS)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_takes_its_own_fields(kind: str) -> None:
    examples = {"str": "x", "int": 1, "float": 0.5, "bool": True, "object": {}, "list": []}
    fields = {name: examples[known.type.removesuffix("?")] for name, known in KINDS[kind].fields.items()}
    check_event(kind, fields)
    optional = {name for name, known in KINDS[kind].fields.items() if known.type.endswith("?")}
    check_event(kind, {name: value for name, value in fields.items() if name not in optional})


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        ("nott", {}, r"kind 'nott' is unknown; nearest: note"),
        ("note", {"text": "x", "metrics": "y"}, r"no field 'metrics'; nearest: metric"),
        ("note", {}, r"misses 'text'"),
        ("note", {"text": 1}, r"field 'text' must be str, got int"),
        ("note", {"text": None}, r"field 'text' must be str, got NoneType"),
        ("skip", {"reason": "spike", "loss": True}, r"field 'loss' must be float\?, got bool"),
    ],
)
def test_what_is_not_in_the_table_is_refused(kind: str, fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_event(kind, fields)
