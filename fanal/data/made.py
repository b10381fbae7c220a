"""Text made on the spot: three small grammars for campaigns that must not download anything.

Guarantees: the same texts for ever (own integer stream, pinned by `corpus_text.sha256`); something to
learn at every size (spelling, grammar, rhyme, names that stay the same, sums that are right); a few
planted exact copies, near copies and excerpts, so that every stage of the data path has work to do.
It is no substitute for real text, and its licence is CC0-1.0.
"""

from collections.abc import Callable, Iterator

from fanal.data.keyed import Stream, key64
from fanal.data.wheels import Text

Maker = Callable[[], Iterator[Text]]

NUM_TEXTS = 400
NUM_COPIES = 6
"""Planted of each kind: exact copies, near copies, and excerpts of two texts."""


def _words(text: str, between: str | None = None) -> list[str]:
    return text.split(between)


_NOUNS = _words(
    "river harbour lantern garden mountain letter window shadow sailor meadow winter morning orchard anchor"
)
_ADJECTIVES = _words("quiet golden bitter hollow silver gentle broken distant early narrow pale sudden weary hidden")
_VERBS = _words("carries follows remembers gathers crosses answers forgets welcomes covers measures burns wakes")
_PLACES = _words("beside beyond above below behind along across under")
_RHYMES = [
    _words("night light sight flight bright"),
    _words("stone alone bone grown known"),
    _words("sea free tree key knee"),
    _words("day way clay grey bay"),
    _words("rain grain plain again lane"),
    _words("fire wire choir desire spire"),
]
_NAMES = _words("Ada Brook,Tomas Reed,Ines Vale,Joel Marsh,Clara Finch,Oskar Lund,Ruth Hale,Piet Moor", ",")
_GOODS = _words("salt rope flour candles copper timber wool lamp-oil nails sailcloth barley tar")
_UNITS = _words("barrels sacks crates bundles coils")
_MONTHS = _words("January February March April May June July August September October November December")
_AMOUNTS = _words("price count width height weight speed depth total share rate")


def made_verse() -> Iterator[Text]:
    """Quatrains that rhyme on their second and fourth lines."""
    return _with_planted("verse", _verse)


def made_code() -> Iterator[Text]:
    """Small functions, each with two calls and their true results."""
    return _with_planted("code", _code)


def made_ledger() -> Iterator[Text]:
    """Accounts whose products and totals are right."""
    return _with_planted("ledger", _ledger)


def _verse(stream: Stream) -> str:
    hero, place = stream.pick(_NOUNS), stream.pick(_NOUNS)
    lines = [f"The {stream.pick(_ADJECTIVES)} {hero}", ""]
    for _ in range(2 + stream.below(3)):
        rhyme = _RHYMES[stream.below(len(_RHYMES))]
        first = stream.below(len(rhyme))
        second = (first + 1 + stream.below(len(rhyme) - 1)) % len(rhyme)
        lines += [
            f"The {stream.pick(_ADJECTIVES)} {hero} {stream.pick(_VERBS)} the {stream.pick(_NOUNS)},",
            f"{stream.pick(_PLACES)} the {stream.pick(_ADJECTIVES)} {place} and the {rhyme[first]};",
            f"a {stream.pick(_ADJECTIVES)} {stream.pick(_NOUNS)} {stream.pick(_VERBS)} the {hero},",
            f"and nothing {stream.pick(_VERBS)} the {stream.pick(_NOUNS)} but the {rhyme[second]}.",
            "",
        ]
    return "\n".join(lines)


def _code(stream: Stream) -> str:
    blocks: list[str] = []
    for _ in range(1 + stream.below(3)):
        a = stream.pick(_AMOUNTS)
        b = stream.pick([name for name in _AMOUNTS if name != a])
        c, d, sign = 1 + stream.below(9), 1 + stream.below(20), stream.pick(["+", "-", "*"])
        name = f"{stream.pick(['scaled', 'joined', 'common', 'lasting'])}_{a}_{stream.pick(_NOUNS)}"
        calls = [(stream.below(30), stream.below(30)) for _ in range(2)]
        results = [c * x + {"+": y, "-": -y, "*": y * d}[sign] for x, y in calls]
        step = f"{b} * {d}" if sign == "*" else b
        blocks.append(
            f"def {name}({a}, {b}):\n"
            f'    """The {stream.pick(_ADJECTIVES)} {a} of a {stream.pick(_NOUNS)}, from its {a} and {b}."""\n'
            f"    result = {c} * {a}\n"
            f"    return result {'+' if sign == '*' else sign} {step}\n\n\n"
            + "".join(f"assert {name}({x}, {y}) == {r}\n" for (x, y), r in zip(calls, results, strict=True))
        )
    return "\n\n".join(blocks)


def _ledger(stream: Stream) -> str:
    name, place = stream.pick(_NAMES), stream.pick(_NOUNS)
    date = f"{1 + stream.below(28)} {stream.pick(_MONTHS)} {1850 + stream.below(50)}"
    lines, total = [f"Account of {name} at the {place}, {date}", ""], 0
    for _ in range(4 + stream.below(5)):
        count, price = 2 + stream.below(40), 1 + stream.below(12)
        total += count * price
        line = f"{count} {stream.pick(_UNITS)} of {stream.pick(_ADJECTIVES)} {stream.pick(_GOODS)} at {price}"
        lines.append(f"{line} make {count * price}, in all {total}")
    return "\n".join([*lines, "", f"{name.split()[0]} owes {total}.", ""])


def _with_planted(kind: str, write: Callable[[Stream], str]) -> Iterator[Text]:
    stream = Stream(key64("made", kind))
    texts = [write(stream) for _ in range(NUM_TEXTS)]
    for number, text in enumerate(texts):
        yield Text(f"{kind}-{number:03d}", text)
    for number in range(NUM_COPIES):
        yield Text(f"{kind}-copy-{number}", texts[7 * number])
        yield Text(f"{kind}-near-{number}", _one_word_changed(texts[11 * number + 3]))
    for number in range(4 * NUM_COPIES):
        first, second = texts[13 * number + 1], texts[13 * number + 5]
        yield Text(f"{kind}-excerpt-{number:02d}", first[: 4 * len(first) // 5].rsplit("\n", 1)[0] + "\n\n" + second)


def _one_word_changed(text: str) -> str:
    words = text.split(" ")
    return " ".join([*words[:-1], "lighthouse", words[-1]])


MAKERS: dict[str, Maker] = {"made_verse": made_verse, "made_code": made_code, "made_ledger": made_ledger}
"""Makers by the name after `made:` in a source's `from`."""
