"""Secrets: replaced before anything is written (`redact`), looked for again before anything is published (`scan`).

Known by the form of the value (tokens of the usual services, private keys, passwords in addresses), or by the name it
stands under. Numbers are never secrets, and neither are hashes under names that say so, or words like "changeme" that
hold a password's place. It cannot find a password that looks like a word and stands under no telling name. Nothing here
keeps, prints or returns a secret: a finding has its place, its kind and a slow hash of it, by which a person may allow
it.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

WITHHELD = "[secret withheld]"
FINGERPRINT_ROUNDS = 50_000
"""So that a fingerprint costs a guesser 20 ms a word."""
_FORMS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("a Hugging Face token", ("hf_",), r"hf_[A-Za-z0-9]{20,}"),
    ("an API key", ("sk-",), r"sk-(?=[A-Za-z0-9_-]*\d)[A-Za-z0-9_-]{20,}"),
    ("a payment key", ("sk_live_", "rk_live_"), r"[rs]k_live_[A-Za-z0-9]{16,}"),
    ("a GitHub token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9]{30,}"),
    ("a GitHub token", ("github_pat_",), r"github_pat_[A-Za-z0-9_]{22,}"),
    ("a GitLab token", ("glpat-",), r"glpat-[A-Za-z0-9_-]{20,}"),
    ("an AWS key", ("AKIA", "ASIA"), r"A[KS]IA[0-9A-Z]{16}(?![A-Za-z0-9])"),
    ("a Slack token", ("xox",), r"xox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("a webhook", ("hooks.slack.com",), r"hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/_-]{16,})"),
    ("a webhook", ("/api/webhooks/",), r"discord(?:app)?\.com/api/webhooks/([A-Za-z0-9/_-]{16,})"),
    ("a Google key", ("AIza",), r"AIza[0-9A-Za-z_-]{35}"),
    ("a Google token", ("ya29.",), r"ya29\.[0-9A-Za-z_-]{20,}"),
    ("a package index token", ("pypi-AgE",), r"pypi-AgE[A-Za-z0-9_-]{40,}"),
    ("a package index token", ("npm_",), r"npm_[A-Za-z0-9]{36}"),
    ("a tracker's key", ("wandb_v",), r"wandb_v\d_[A-Za-z0-9_]{20,}"),
    ("a signed token", ("eyJ",), r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    (
        "a private key",
        ("PRIVATE KEY",),
        r"-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY[A-Z ]*-----|\Z)",
    ),
    ("a bearer token", ("Bearer ", "bearer "), r"[Bb]earer ((?=\S*\d)[A-Za-z0-9._~+/=-]{12,})"),
    ("basic authorization", ("Basic ", "basic "), r"[Aa]uthorization[\"']?: ?[\"']?[Bb]asic ([A-Za-z0-9+/=]{8,})"),
    ("a password in an address", ("://",), r"://([^\s/@:?#\"'<>{}$]*:[^\s/@?#\"'<>{}$]+)@"),
    ("a token in an address", ("http",), r"https?://(?!git@)([^\s/@:?#\"'<>{}$]+)@"),
)
"""Kind, words of which one is in every text that holds it, and its form; where it has a group, that is the secret."""
_COMPILED = tuple((kind, hints, re.compile(form)) for kind, hints, form in _FORMS)
_ALWAYS = (
    r"passw(?:or)?d|passphrase|secrets?|credentials?|authorization|cookie"
    r"|(?:api|access|secret|private|account|auth|signing|encryption)[_-]?keys?"
)
_PERHAPS = r"token|auth|pwd|passcode"
_NAME = re.compile(rf"(?:^|[^a-z])[a-z]{{0,12}}?(?:(?P<always>{_ALWAYS})|(?P<perhaps>{_PERHAPS}))(?:$|[^a-z])", re.I)
_NO_SECRET = re.compile(
    r"(?:^|[^a-z])(?:commit|sha\d*|hash|digest|fingerprint|file|path|sock|type|name|pad|bos|eos|unk|mask|cls|sep|image"
    r"|audio|video|special|stop|start|end|prefix|suffix|first|last|next|prev|per|num)(?:$|[^a-z])|^(?:old)?pwd$",
    re.I,
)
"""Names that speak of a hash of it, of where it is, or of a token of text."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_OPAQUE = re.compile(r"(?=[^\s]*[0-9A-Z+/=])(?![./~])[A-Za-z0-9._~+/=:!#$%^&*-]{8,}")
"""What a token may look like: no word, no path, no <mark>."""
_STEMS = ("passw", "passphrase", "secret", "credential", "authorization", "cookie", "key", "token", "auth", "pwd")
_PASSWORD = re.compile(r"(?:^|[^a-z])[a-z]{0,12}?(?:passw(?:or)?d|passphrase|passcode|pwd)\d*$", re.I)
"""Names that end in a word for a password: a quoted value may be all small letters there."""
_WORDY = re.compile(r"(?![./~%$-])[A-Za-z0-9._~+=:!#$%^&*@?,;-]{8,}")
_PLACEHOLDER = re.compile(
    r"pass[_-]?w(?:or)?d|pass[_-]?phrase|change.?(?:me|it)|place.?holder|example|secret|your|enter|insert|dummy|env[.:]"
    r"|^(?:optional|required|undefined|disabled|redacted|anonymous|username|(.)\1*)$",
    re.I,
)
"""What stands where a password will be, and is none."""
_BEFORE = re.compile(r"[A-Za-z0-9_.-]*\Z")
_ASSIGNED = re.compile(
    r"[A-Za-z0-9_-]{0,24}+[\"']?\s{0,3}(?:=>|=|:)\s{0,3}"
    r"(?:[\"'](?P<quoted>[^\"'\s]{8,})[\"']|(?P<bare>[A-Za-z0-9+/_-]{16,}=*)(?![\w.(\[]))"
)
_OPTION = re.compile(r"--?([A-Za-z][\w.-]*)(?:=(.*))?", re.S)


@dataclass(frozen=True)
class Finding:
    """A secret that was found; never the secret itself."""

    kind: str
    where: str
    """Path inside the value, or line of the text."""
    fingerprint: str

    @property
    def words(self) -> str:
        """The finding in a line."""
        return f"{self.where}: {self.kind}; fingerprint {self.fingerprint}"


def redact(value: Any) -> tuple[Any, list[str]]:
    """`value` (JSON, as `encode` gives it) with every secret replaced, and the paths where one was."""
    paths: list[str] = []
    return _walk(value, "", "", paths), paths


def redact_text(text: str) -> tuple[str, int]:
    """A text with every secret replaced, and how many there were."""
    found = _spans(text)
    for start, end, _ in reversed(found):
        text = text[:start] + WITHHELD + text[end:]
    return text, len(found)


def redact_bytes(data: bytes, media_type: str) -> tuple[bytes, int]:
    """A text or JSON file with every secret replaced, and how many there were; files of other kinds as they are."""
    if not media_type.startswith(("text/", "application/json")):
        return data, 0
    text = data.decode("utf-8", "surrogateescape")
    if not _spans(text):
        return data, 0
    if media_type.startswith("text/"):
        kept, num = redact_text(text)
        return kept.encode("utf-8", "surrogateescape"), num
    lines = [_redact_line(line) for line in text.splitlines(keepends=True)]
    return "".join(line for line, _ in lines).encode("utf-8", "surrogateescape"), sum(num for _, num in lines)


def _redact_line(line: str) -> tuple[str, int]:
    """A line of JSON, which stays JSON; one that is none, as text."""
    try:
        kept, paths = redact(json.loads(line))
    except (ValueError, RecursionError):
        return redact_text(line)
    if not paths:
        return line, 0
    return json.dumps(kept, separators=(",", ":")) + "\n" * line.endswith("\n"), len(paths)


def scan(text: str, where: str = "") -> list[Finding]:
    """The secrets in a text, by line."""
    return [
        Finding(kind, f"{where} line {text.count(chr(10), 0, start) + 1}".strip(), fingerprint(text[start:end]))
        for start, end, kind in _spans(text)
    ]


def scan_value(value: Any, where: str = "") -> list[Finding]:
    """The secrets in a JSON value, keys and values, by path."""
    return list(_found(value, "", where))


def fingerprint(secret: str) -> str:
    """By what a person names a secret that may be published after all; says nothing of it."""
    slow = hashlib.pbkdf2_hmac("sha256", secret.encode("utf-8", "surrogatepass"), b"fanal", FINGERPRINT_ROUNDS)
    return slow.hex()[:12]


def _walk(value: Any, path: str, name: str, paths: list[str]) -> Any:
    if isinstance(value, str):
        return _redacted(value, path, name, paths)
    if isinstance(value, Mapping):
        fields = cast("Mapping[Any, Any]", value)
        return {
            _key(key, path, paths): item
            if type(item) in _PLAIN
            else _walk(item, f"{path}.{key}" if path else str(key), _name(key, name), paths)
            for key, item in fields.items()
        }
    if isinstance(value, list | tuple):
        if _are_clean(cast("list[Any]", value), name):
            return value
        items = [
            item if type(item) in _PLAIN else _walk(item, f"{path}[{i}]", under, paths)
            for i, (item, under) in enumerate(_named_items(cast("list[Any]", value), name))
        ]
        return tuple(items) if isinstance(value, tuple) else items
    return value


def _are_clean(items: "list[Any] | tuple[Any, ...]", name: str) -> bool:
    """Whether a long list of texts holds no secret: looked through as one text, in a thirtieth of the time."""
    if len(items) < _LONG_LIST or set(map(type, items)) != {str} or (name and _NAME.search(_spaced(name))):
        return False
    text = "\n".join(items)
    return not text.startswith("-") and "\n-" not in text and not _spans(text)


_LONG_LIST = 100
_PLAIN = (int, float, bool, type(None))
_SHORTEST = 15
"""Characters of the shortest form."""


def _key(key: Any, path: str, paths: list[str]) -> Any:
    if type(key) is not str or len(key) < _SHORTEST:
        return key
    text, num = redact_text(key)
    if num:
        paths.append(path or "(key)")
    return text


def _redacted(value: str, path: str, name: str, paths: list[str]) -> str:
    if WITHHELD in value:
        name = ""
    if name and _is_secret(name, value):
        paths.append(path)
        return WITHHELD
    option = _OPTION.fullmatch(value)
    if option and option[2] and WITHHELD not in value and _is_secret(option[1], option[2]):
        paths.append(path)
        return value[: option.start(2)] + WITHHELD
    text, num = redact_text(value)
    if num:
        paths.append(path)
    return text


def _found(value: Any, name: str, where: str) -> Iterator[Finding]:
    if isinstance(value, str):
        if WITHHELD in value:
            name = ""
        option = _OPTION.fullmatch(value)
        if name and _is_secret(name, value):
            yield Finding(f"a value under the name {name[-60:]!r}", where, fingerprint(value))
        elif option and option[2] and WITHHELD not in value and _is_secret(option[1], option[2]):
            yield Finding(f"a value of --{option[1][:60]}", where, fingerprint(option[2]))
        else:
            yield from (Finding(kind, where, fingerprint(value[start:end])) for start, end, kind in _spans(value))
    elif isinstance(value, Mapping):
        for key, item in cast("Mapping[Any, Any]", value).items():
            yield from (Finding(kind, f"a name in {where}", fingerprint(key[a:b])) for a, b, kind in _spans(str(key)))
            yield from _found(item, _name(key, name), f"{where}.{key}" if where else str(key))
    elif isinstance(value, list | tuple):
        for i, (item, under) in enumerate(_named_items(cast("list[Any]", value), name)):
            if type(item) not in _PLAIN:
                yield from _found(item, under, f"{where}[{i}]")


def _named_items(items: "list[Any] | tuple[Any, ...]", name: str) -> Iterator[tuple[Any, str]]:
    """Each item with the name it stands under: the list's own, or the option before it (`--token`, then the token)."""
    before = ""
    for item in items:
        yield item, before or name
        option = _OPTION.fullmatch(item) if type(item) is str and item[:1] == "-" else None
        before = option[1] if option and option[2] is None and _NAME.search(_spaced(option[1])) else ""


def _name(key: Any, above: str) -> str:
    """The name that a value stands under: a telling name counts for everything inside it."""
    name = str(key)
    found = _NAME.search(_spaced(above)) if above else None
    return f"{above}.{name}" if found and found["always"] else name


def _spaced(name: str) -> str:
    return _CAMEL.sub("_", name).replace("-", "_")


def _is_secret(name: str, value: str) -> bool:
    """Whether what stands under this name is a secret."""
    spaced = _spaced(name)
    found = _NAME.search(spaced)
    if found is None or not value.strip() or _NO_SECRET.search(spaced):
        return False
    if value.lower() in ("none", "null", "true", "false", "auto", "default"):
        return False
    return bool(found["always"]) or _OPAQUE.fullmatch(value) is not None


def _spans(text: str) -> list[tuple[int, int, str]]:
    """Start, end and kind of every secret in a text, in order, not overlapping."""
    found: list[tuple[int, int, str]] = []
    for start, end, kind in [*_by_form(text), *_by_name(text)]:
        if not any(a < end and start < b for a, b, _ in found) and WITHHELD not in text[start:end]:
            found.append((start, end, kind))
    return sorted(found)


def _by_form(text: str) -> Iterator[tuple[int, int, str]]:
    for kind, hints, form in _COMPILED:
        if any(hint in text for hint in hints):
            for match in form.finditer(text):
                start, end = match.span(form.groups)
                before = text[max(start - 1, 0) : start]
                if form.groups or not (before.isascii() and before.isalnum()):
                    yield start, end, kind


def _by_name(text: str) -> Iterator[tuple[int, int, str]]:
    """Literals assigned to telling names: `api_key = "…"`, `HF_TOKEN=…`, `"password": "…"`."""
    lower = text.lower()
    if len(lower) != len(text):  # a letter whose small form is longer: places must stay the same
        lower = "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)
    for stem in _STEMS:
        at = -1
        while (at := lower.find(stem, at + 1)) >= 0:
            match = _ASSIGNED.match(text, at + len(stem))
            if match is None:
                continue
            part = "quoted" if match["quoted"] else "bare"
            name = _name_at(text, at, match.start(part))
            is_given = _is_literal(match[part]) or (part == "quoted" and _is_password(name, match[part]))
            if is_given and (_is_secret(name, match[part]) or _is_password(name, match[part])):
                yield *match.span(part), f"a value under the name {name[-60:]!r}"


def _name_at(text: str, at: int, end: int) -> str:
    """The whole name around a stem."""
    before = _BEFORE.search(text, max(at - 60, 0), at)
    return (before[0] if before else "") + text[at:end].rstrip(" \t\n=:>\"'")


def _is_password(name: str, value: str) -> bool:
    """Whether a quoted value is a password, though it may look like a word: by its name, unless it holds a place."""
    spaced = _spaced(name)
    if _PASSWORD.search(spaced) is None or _NO_SECRET.search(spaced):
        return False
    return _WORDY.fullmatch(value) is not None and _PLACEHOLDER.search(value) is None


def _is_literal(value: str) -> bool:
    """Whether a value in a text is one, and no name of something that is looked up."""
    return any(c.isdigit() for c in value) and _OPAQUE.fullmatch(value) is not None
