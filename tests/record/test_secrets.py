"""Secrets: found by form and by name, replaced and never repeated; what only looks like one is left alone."""

import hashlib
import json
import subprocess
import sys
from typing import Any

import pytest

from fanal.record.secrets import WITHHELD, fingerprint, redact, redact_bytes, redact_text, scan, scan_value
from tests.worlds.planted import core, planted

SECRETS = planted()


@pytest.mark.parametrize("place", [p for p in SECRETS if p != "config"])
def test_a_secret_of_a_known_form_is_found_in_any_text_and_replaced(place: str) -> None:
    text = f"before {SECRETS[place]} after"
    found = scan(text)
    assert len(found) == 1
    assert SECRETS[place] not in repr(found)
    replaced, num = redact_text(text)
    assert num == 1
    assert core(SECRETS[place]).decode() not in replaced
    assert replaced.startswith("before ")
    assert replaced.endswith(" after")
    assert scan(replaced) == []


@pytest.mark.parametrize(
    "value",
    [
        {"wandb": {"api_key": SECRETS["config"]}},
        {"WANDB_API_KEY": SECRETS["config"]},
        {"deep": [{"hfToken": "Abc" + "defgh1"}]},
        {"db_password": "hunter" + "2"},
        {"credentials": {"user": "me", "pin": "1234"}},
        {"clientSecret": "words and words"},
        ["train.py", "--token", "Abcdef" + "12345"],
        ["train.py", "--api-key", "short"],
        ["train.py", f"--wandb-api-key={SECRETS['config']}"],
        {"remote": "https://me:" + "pw@host.org/a.git"},
        {"remote": "https://" + "Abcdef12345@host.org/a.git"},
        {"dsn": "postgres://me:" + "pw@host/db"},
        {"header": "Bearer " + "abcdefgh1234567"},
        {"Authorization": "anything at all"},
        {SECRETS["environment"]: 1},
    ],
)
def test_a_secret_under_a_telling_name_is_replaced_and_its_path_told(value: Any) -> None:
    kept, paths = redact(value)
    assert len(paths) >= 1
    assert WITHHELD in json.dumps(kept)
    assert scan_value(value)
    assert scan_value(kept) == []
    assert redact(kept) == (kept, [])


@pytest.mark.parametrize(
    "value",
    [
        {"max_tokens": 4096, "num_tokens": "12345678", "pad_token": "<pad>", "eos_token": "</s>", "tokenizer": "gpt2"},
        {"commit": "3f" * 20, "sha": "3f" * 20, "token_sha256": "3f" * 32, "data_hash": "3f" * 20},
        {"key": "train/loss", "sort_key": "eval/Loss1", "keys": ["a", "b"], "monitor": "eval/loss"},
        {"author": "J. Doe, 1999", "authors": ["A1234567"], "api": "v1"},
        {"PATH": "/usr/bin:/bin", "PWD": "/data/Runs1", "OLDPWD": "/data/Runs2", "SSH_AUTH_SOCK": "/tmp/ssh-1/agent.7"},
        {"token": None, "use_auth_token": True, "auth": "none", "hub_token": "auto"},
        {"remote": "git@host.org:a/b.git", "other": "ssh://git@host.org/a", "web": "https://host.org/@me?q=a@b"},
        ["train.py", "--lr", "0.1", "--max-tokens", "4096", "--tokenizer", "Llama-3"],
        {"note": "the secret of a good run is patience; risk-averse-and-task-specific-words-are-no-keys"},
        [1, 2.5, None, True, "plain"],
    ],
)
def test_what_only_looks_like_a_secret_is_left_alone(value: Any) -> None:
    assert redact(value) == (value, [])
    assert scan_value(value) == []


def test_code_that_looks_keys_up_holds_none_and_a_literal_is_one() -> None:
    code = "password = getpass()\napi_key = os.environ['API_KEY']\ntoken = tokenizer.next_token_of(12345678901234567)\n"
    assert scan(code) == []
    literal = code + 'api_key = "' + "Abcd1234" + 'efgh"\nHF_TOKEN=' + "abcdefgh12345678\n"
    assert [one.where for one in scan(literal)] == ["line 4", "line 5"]


@pytest.mark.parametrize(
    ("name", "value", "is_one"),
    [
        ("password", "correcthorsebattery", True),
        ("DB_PWD", "lettersonly", True),
        ("userPassword", "correct-horse", True),
        ("password", "changeme", False),
        ("password", "your_password_here", False),
        ("password", "xxxxxxxxxx", False),
        ("password", "${DB_PASSWORD}", False),
        ("password", "/run/keys/db", False),
        ("password", "Optional[str]", False),
        ("password_label", "Kennwort", False),
        ("password_hash", "abcdefghij", False),
        ("next_token", "correcthorsebattery", False),
    ],
)
def test_a_quoted_password_may_look_like_a_word_and_a_place_for_one_is_none(
    name: str, value: str, is_one: bool
) -> None:
    for text in (f"{name} = '{value}'\n", f'{{"{name}": "{value}"}}'):
        assert len(scan(text)) == is_one, text
    assert scan(f"{name} = {value}\n") == [], "without quotes it may be a variable"


def test_paths_say_where_and_tuples_stay_tuples() -> None:
    kept, paths = redact({"env": {"HF_TOKEN": SECRETS["environment"]}, "argv": ("a", "--token", SECRETS["argv"])})
    assert paths == ["env.HF_TOKEN", "argv[2]"]
    assert kept == {"env": {"HF_TOKEN": WITHHELD}, "argv": ("a", "--token", WITHHELD)}


def test_a_fingerprint_names_a_secret_wherever_it_is_and_costs_a_guesser_time() -> None:
    first, second = scan(f"a {SECRETS['argv']}")[0], scan_value({"b": [SECRETS["argv"]]})[0]
    assert first.fingerprint == second.fingerprint == fingerprint(SECRETS["argv"])
    slow = hashlib.pbkdf2_hmac("sha256", SECRETS["argv"].encode(), b"fanal", 50_000).hex()
    assert first.fingerprint == slow[:12]


def test_the_place_of_a_secret_is_right_beside_letters_that_change_their_length() -> None:
    text = "İİİ\napi_key = '" + "Abcd1234" + "efgh' İ"
    replaced, num = redact_text(text)
    assert (num, replaced) == (1, f"İİİ\napi_key = '{WITHHELD}' İ")


def test_loading_it_costs_nothing_but_the_standard_library() -> None:
    code = (
        "import sys, fanal.record.secrets; print([m for m in ('numpy', 'pyarrow', 'cryptography') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_text_and_json_files_are_freed_of_secrets_and_other_files_are_as_they_are() -> None:
    secret = SECRETS["argv"]
    assert redact_bytes(f"a {secret} b".encode(), "text/plain") == (f"a {WITHHELD} b".encode(), 1)
    rows = "\n".join(json.dumps(["x", one]) for one in ("plain", secret, SECRETS["code"])) + "\n"
    kept, num = redact_bytes(rows.encode(), "application/jsonl")
    assert num == 2
    assert [json.loads(line) for line in kept.splitlines()] == [["x", "plain"], ["x", WITHHELD], ["x", WITHHELD]]
    whole, num = redact_bytes(json.dumps({"a": [secret], "b": {"$blob": "0" * 64}}).encode(), "application/json")
    assert (json.loads(whole), num) == ({"a": [WITHHELD], "b": {"$blob": "0" * 64}}, 1)
    for data, media_type in (
        (secret.encode(), "image/png"),
        (b"\xff\xfe plain", "text/plain"),
        (rows[:9].encode(), "text/csv"),
    ):
        assert redact_bytes(data, media_type) == (data, 0)
    assert redact_bytes(b"\xff " + secret.encode(), "text/plain") == (b"\xff " + WITHHELD.encode(), 1)
