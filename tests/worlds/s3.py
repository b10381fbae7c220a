"""An S3 server on loopback with a bucket that everybody may read, and the environment of somebody who may write it."""

import http.client
import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from moto.server import ThreadedMotoServer

BUCKET = "bucket"


@contextmanager
def s3_host() -> Iterator[str]:
    """The server's address; the environment's keys and endpoint are its own."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    everybody = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{BUCKET}/*"}
    try:
        with speaking_to(f"http://{host}:{port}"):
            _put(f"{host}:{port}", f"/{BUCKET}", b"")
            _put(f"{host}:{port}", f"/{BUCKET}?policy", json.dumps({"Statement": [everybody]}).encode())
            yield f"http://{host}:{port}/"
    finally:
        server.stop()


@contextmanager
def speaking_to(endpoint: str) -> Iterator[None]:
    """The environment of a client of that endpoint."""
    keys = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_REGION": "us-east-1"}
    with patch.dict(os.environ, keys | {"AWS_ENDPOINT_URL": endpoint.rstrip("/")}):
        yield


def _put(host: str, path: str, body: bytes) -> None:
    connection = http.client.HTTPConnection(host, timeout=20)
    connection.request("PUT", path, body)
    assert connection.getresponse().status in (200, 204)
    connection.close()
