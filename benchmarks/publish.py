"""Publishing into a bucket on loopback: values a second, how far behind a training, and after six hours cut off.

The bucket is moto's S3 server in a process of its own. The training that is followed logs 4,000 keys 25 times a second;
a row counts as published when the manifest at the bucket names a slice that holds it, for which a reader looks each
20 ms. The six hours are a row of 4,000 keys each second on a virtual clock, while the publisher meets no server.
Bars: 1 million values a second; p99 of the lag 2 s at 100,000 values a second; six hours caught up in 10 min.
"""

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.curves import curves
from benchmarks.measuring import in_child, say
from benchmarks.rows import names
from fanal.page.publish import publish
from fanal.record.attempt import Start, start
from fanal.record.reading.read import open_record

NUM_KEYS = 4_000
BUCKET = "bucket"
KEYS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_REGION": "us-east-1"}
HOURS, SECONDS_A_ROW = 6, 1
FOLLOWED_ROWS, ROWS_A_SECOND = 750, 25
BEGIN_NS = 1_750_000_000 * 10**9
WAIT_SECONDS = 120.0


def measure() -> dict[str, Any]:
    """Cut off first, then all at once, then beside a training."""
    figures: dict[str, Any] = {"bars": " ".join((__doc__ or "").partition("Bars:")[2].split())}
    with tempfile.TemporaryDirectory() as place:
        port = free_port()
        env = KEYS | {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}
        folder = Path(place) / "record"
        figures |= cut_off(folder, port, env)
        with bucket(port):
            said = in_child("publish", "once", str(folder), f"s3://{BUCKET}/once", env=env)
            figures |= said | {"values_per_second": figures["values"] / said["publish_seconds"]}
            say(f"{figures['values_per_second'] / 1e6:.1f} million values a second")
            return figures | followed(Path(place) / "followed", port, env)


def cut_off(folder: Path, port: int, env: dict[str, str]) -> dict[str, float]:
    """From the moment that the network is back until everything of six hours is there."""
    writer = writing("hours", folder)
    await_file(folder / "manifest.json")
    with publisher(folder, f"s3://{BUCKET}/hours", env) as child:
        if writer.wait() != 0:
            raise SystemExit("the writer failed")
        with bucket(port):
            began = time.monotonic()
            if child.wait() != 0:
                raise SystemExit("the publisher failed")
            seconds = time.monotonic() - began
    say(f"caught up in {seconds:.0f} s")
    return {"values": HOURS * 3600 // SECONDS_A_ROW * NUM_KEYS, "caught_up_seconds": seconds}


def followed(folder: Path, port: int, env: dict[str, str]) -> dict[str, float]:
    """How long after its `log()` a row is published."""
    dest = f"s3://{BUCKET}/followed"
    writer = writing("train", folder)
    await_file(folder / "manifest.json")
    seen: list[tuple[int, int]] = []
    with publisher(folder, dest, env) as child:
        while child.poll() is None:
            reached = published_sequence(port, "followed")
            if reached and (not seen or reached > seen[-1][0]):
                seen.append((reached, time.time_ns()))
            time.sleep(0.02)
    writer.wait()
    series = open_record(folder).runs["a"].series(names(1)[0])
    reached, times_ns = (np.array(column) for column in zip(*seen, strict=True))
    place = np.searchsorted(reached, series.sequences)
    there = place < len(reached)  # of the last rows it may be the segment that arrives first, and no slice
    lags = (times_ns[place[there]] - series.times_ns[there]) / 1e9
    return {
        "followed_rows": int(there.sum()),
        "followed_values_per_second": NUM_KEYS * ROWS_A_SECOND,
        "lag_median_seconds": float(np.median(lags)),
        "lag_p99_seconds": float(np.quantile(lags, 0.99)),
    }


def published_sequence(port: int, prefix: str) -> int:
    """The last frame that the published manifest names; 0 where there is none yet."""
    data = fetched(port, f"/{BUCKET}/{prefix}/record/manifest.json")
    if data is None:
        return 0
    manifest = json.loads(data)
    tails = list(manifest.get("tails") or [])
    for name in manifest.get("tail_pages") or []:
        page = fetched(port, f"/{BUCKET}/{prefix}/record/blobs/{name}")
        tails += json.loads(page)["tails"] if page else []
    return max((tail["last_sequence"] for tail in tails), default=0)


def fetched(port: int, path: str) -> bytes | None:
    """What the bucket gives to anybody."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", path)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return data if answer.status == 200 else None


@contextmanager
def bucket(port: int) -> Iterator[None]:
    """An S3 server with one bucket that everybody may read."""
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    everybody = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{BUCKET}/*"}
    try:
        deadline = time.monotonic() + WAIT_SECONDS
        while not listens(port):
            if time.monotonic() > deadline or server.poll() is not None:
                raise SystemExit("moto's server did not start")
            time.sleep(0.05)
        for path, body in ((f"/{BUCKET}", b""), (f"/{BUCKET}?policy", json.dumps({"Statement": [everybody]}).encode())):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            connection.request("PUT", path, body)
            assert connection.getresponse().status in (200, 204)
        yield
    finally:
        server.terminate()
        server.wait()


@contextmanager
def publisher(folder: Path, dest: str, env: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """The publisher's own process."""
    command = [sys.executable, "-m", "fanal.page.publisher", str(folder), dest]
    child = subprocess.Popen(command, env=env_of(env), stdout=subprocess.DEVNULL)
    try:
        yield child
    finally:
        child.terminate()
        child.wait()


def writing(what: str, folder: Path) -> subprocess.Popen[bytes]:
    """A training's process."""
    command = [sys.executable, "-m", "benchmarks.publish", what, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def env_of(more: dict[str, str]) -> dict[str, str]:
    """This process' environment and more."""
    return {**os.environ, **more}


def listens(port: int) -> bool:
    """Whether somebody answers at a port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def await_file(path: Path) -> None:
    """Wait until a file is there."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not path.exists():
        if time.monotonic() > deadline:
            raise SystemExit(f"{path} was not there within {WAIT_SECONDS:.0f} s")
        time.sleep(0.02)


def hours(folder: Path) -> dict[str, Any]:
    """Six hours of training, as fast as rows can be logged."""
    now = [BEGIN_NS]
    run = start(folder, Start(id="a", clock=lambda: now[0]))
    keys = names(NUM_KEYS)
    for step, values in enumerate(islice(curves(NUM_KEYS), HOURS * 3600 // SECONDS_A_ROW)):
        now[0] = BEGIN_NS + step * SECONDS_A_ROW * 10**9
        run.log(dict(zip(keys, values.tolist(), strict=True)), step)
    run.finish()
    return {}


def train(folder: Path) -> dict[str, Any]:
    """Half a minute of training at its own pace."""
    run = start(folder, Start(id="a"))
    keys, began = names(NUM_KEYS), time.monotonic()
    for step, values in enumerate(islice(curves(NUM_KEYS), FOLLOWED_ROWS)):
        run.log(dict(zip(keys, values.tolist(), strict=True)), step)
        time.sleep(max(0.0, began + (step + 1) / ROWS_A_SECOND - time.monotonic()))
    run.finish()
    return {}


def once(folder: Path, dest: str) -> dict[str, Any]:
    """Everything at once to an empty place."""
    began = time.perf_counter()
    report = publish(folder, dest)
    seconds = time.perf_counter() - began
    return {"publish_seconds": seconds, "published_files": report.written, "published_bytes": report.written_bytes}


if __name__ == "__main__":
    what, place, *more = sys.argv[1:]
    print(json.dumps({"hours": hours, "train": train, "once": once}[what](Path(place), *more)))
