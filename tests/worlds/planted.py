"""Eleven secrets that belong to nobody, put together when asked for, so that no file of the repository holds one."""

import random
import string

LETTERS = string.ascii_letters + string.digits


def planted() -> dict[str, str]:
    """A secret of a known form for each place where one may hide; the same at every call."""
    dice = random.Random(30)

    def some(num: int, letters: str = LETTERS) -> str:
        return "".join(dice.choice(letters) for _ in range(num - 1)) + "7"

    upper = string.ascii_uppercase + string.digits
    return {
        "environment": "hf" + "_" + some(34),
        "argv": "sk" + "-" + some(40),
        "config": some(40, "0123456789abcdef"),
        "remote": "gh" + "p_" + some(36),
        "notes": "AK" + "IA" + some(16, upper),
        "samples": "xo" + "xb-" + some(12, string.digits) + "-" + some(24),
        "tags": "github" + "_pat_" + some(40),
        "code": "-----BEGIN RSA PRIVATE" + " KEY-----\n" + some(64) + "\n-----END RSA PRIVATE" + " KEY-----",
        "artifact": "ey" + "J" + some(20) + "." + "ey" + "J" + some(30) + "." + some(30),
        "alert": "https://hooks.slack" + ".com/services/T" + some(8, upper) + "/B" + some(8, upper) + "/" + some(24),
        "table": "gl" + "pat-" + some(20),
    }


def core(secret: str) -> bytes:
    """The part of a planted secret that nobody else's bytes hold, for a search through files."""
    lines = secret.splitlines()
    return (lines[1] if len(lines) > 1 else secret.rpartition("/")[2])[-16:].encode()
