"""A record signed by a key beside it: a run with a blob and withheld parts, another, and one that was killed."""

import subprocess
import sys
from pathlib import Path

from fanal.record.attempt import Start, Withhold, start
from fanal.record.proof import keys
from fanal.record.proof.key_commands import key_new

SECRET = "the name of a person"
WHY = "names people"
LIVING = """
import os, signal, sys
from pathlib import Path
from fanal.record.attempt import Start, start
run = start(Path(sys.argv[1]), Start(id="living"))
for n in range(100):
    run.log({"x": n / 7}, n)
run.event("alert", title="t", text=run.blob(b"in a log", "text/plain"), level="info")
os.kill(os.getpid(), signal.SIGKILL)
"""


def signed_record(record: Path) -> Path:
    """Make it, with the key of the configuration that is in force."""
    run = start(record, Start(id="a", withhold=(Withhold("secret/*", WHY),)))
    for n in range(300):
        run.log({"x": n / 7, "secret/who": float(n)}, n)
    run.event("alert", title="t", text=run.blob(SECRET.encode(), "text/plain"), level="info")
    run.finish()
    start(record, Start(id="b")).finish()
    key_new(record)
    subprocess.run([sys.executable, "-c", LIVING, str(record)], check=False)
    keys.commit(record)
    return record


def blob_of(record: Path) -> Path:
    """The blob with the person's name."""
    return next(path for path in (record / "blobs").iterdir() if path.read_bytes().endswith(SECRET.encode()))


def log_of(record: Path) -> Path:
    """The log of the run that was killed."""
    return next(record.glob("runs/living/1/*/log/1.log"))
