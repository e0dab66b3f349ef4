"""A bucket in trouble, from the command line: videos are paid for once and arrive in the end.

One campaign, and a trouble for each of its videos; what strikes a whole store has tests of its own.
moto stands behind a proxy that makes the trouble and checks digests as Amazon does.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import web

from tests.faults.production import Production
from tests.faults.trouble import troubled
from tests.programs import Desk, Finished, Sandbox
from tests.stores import S3Server, moto_s3
from tests.unit.store.s3_proxy import Forward, Trouble, checking, refusal

pytestmark = pytest.mark.merge

STRANGER = b"a stranger's video"


def refuses(status: int, code: str) -> Trouble:
    """Refuse an upload as S3 does."""

    async def refuse(request: web.Request, body: bytes, forward: Forward) -> web.Response:
        return refusal(status, code)

    return refuse


async def silent(request: web.Request, body: bytes, forward: Forward) -> None:
    """Store it, and hang up without a word."""
    answer = await forward()
    assert answer.status == 200


async def damaged(request: web.Request, body: bytes, forward: Forward) -> web.Response | None:
    """Let a byte change on the way."""
    return await checking(request, body[:-1] + b"?", forward)


#: What strikes the upload of a row's video, and how often.
TROUBLES: Mapping[str, tuple[Trouble, int]] = {
    "r001": (refuses(503, "SlowDown"), 2),
    "r002": (silent, 1),
    "r003": (damaged, 2),
    "r005": (refuses(400, "ExpiredToken"), 999),
    "r006": (refuses(403, "AccessDenied"), 999),
    "r007": (refuses(404, "NoSuchBucket"), 999),
}


@dataclass
class Struck:
    """The campaign after its first run: how that ended, and its rows then."""

    production: Production
    server: S3Server
    ended: Finished
    rows: dict[str, dict[str, Any]]

    @property
    def stranger(self) -> str:
        """The name that somebody else has taken."""
        return f"out/{self.production.name}/r004/r004-take1.mp4"

    def read(self, uri: str) -> bytes:
        """Return the bytes of a delivered file."""
        return self.server.read(uri.removeprefix(f"{self.server.address}/"))


@pytest.fixture(scope="module")
def moto() -> Iterator[S3Server]:
    with moto_s3() as server:
        yield server


@pytest.fixture(scope="module")
def struck(
    moto: S3Server, service: Sandbox, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Struck]:
    left = {row: times for row, (_, times) in TROUBLES.items()}

    async def trouble(request, body, forward):
        row = request.path.split("/")[-2]
        if request.method == "PUT" and request.path.endswith(".mp4") and left.get(row):
            left[row] -= 1
            return await TROUBLES[row][0](request, body, forward)
        return await checking(request, body, forward)

    desk = Desk(tmp_path_factory.mktemp("bucket"), dict(service.environ))
    production = Production(desk, service, "c-bucket").asks_for(7)
    found = Struck(production, moto, Finished(0, "", ""), {})
    moto.client().put_object(Bucket=moto.bucket, Key=found.stranger, Body=STRANGER)
    with troubled(moto, trouble) as proxy:
        desk.environ |= proxy.server.environment()
        desk.environ["CALLSHEET_STORE"] = f"{moto.address}/out"
        found.ended = production.run()
        found.rows = desk.rows(production.name)
        proxy.trouble = checking
        yield found


@pytest.mark.parametrize(
    "row", ["r001", "r002", "r003"], ids=["slow down", "answer lost, then 412", "bytes changed"]
)
def test_trouble_that_passes_is_sat_out(struck: Struck, row: str) -> None:
    assert struck.rows[row]["state"] == "delivered"


def test_a_strangers_object_is_left_alone(struck: Struck) -> None:
    assert struck.rows["r004"]["state"] == "held"
    assert "exists already and is another file" in struck.rows["r004"]["reason"]


@pytest.mark.parametrize(
    ("row", "words"),
    [("r005", "expired"), ("r006", "denied"), ("r007", "does not exist")],
    ids=["credentials that expire", "access that is denied", "a bucket that is gone"],
)
def test_a_bucket_that_is_shut_holds_the_row(struck: Struck, row: str, words: str) -> None:
    assert struck.ended.status == 3
    assert struck.rows[row]["state"] == "held"
    assert words in struck.rows[row]["reason"]
    assert "running again fetches it free" in struck.rows[row]["reason"]
    # The canary stands in what the server said; it must reach nobody.
    assert "canary" not in struck.ended.out + struck.ended.err


def test_once_the_trouble_is_over_every_video_is_there_and_paid_once(struck: Struck) -> None:
    assert struck.production.paid_once()
    assert struck.server.read(struck.stranger) == STRANGER
    struck.server.client().delete_object(Bucket=struck.server.bucket, Key=struck.stranger)
    struck.production.ends_well(struck.read)


def test_a_run_killed_in_an_upload_leaves_no_part(production: Production, moto: S3Server) -> None:
    production.asks_for(1)

    async def killed(request, body, forward):
        if request.method != "PUT" or not request.path.endswith(".mp4"):
            return await checking(request, body, forward)
        process.send_signal(signal.SIGKILL)
        return None

    with troubled(moto, killed) as proxy:
        production.desk.environ |= proxy.server.environment()
        production.desk.environ["CALLSHEET_STORE"] = f"{moto.address}/killed"
        process = production.start()
        process.communicate()

        assert process.returncode == -signal.SIGKILL
        # Videos go up in one piece: there is no upload in parts to be left lying about.
        assert "Uploads" not in moto.client().list_multipart_uploads(Bucket=moto.bucket)
        stored = moto.keys()
        assert not [key for key in stored if production.name in key and key.endswith(".mp4")]
        proxy.trouble = checking
        production.ends_well(lambda uri: moto.read(uri.removeprefix(f"{moto.address}/")))
