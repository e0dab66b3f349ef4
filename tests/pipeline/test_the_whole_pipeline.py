"""The main job, from the command line, over real sockets, on every kind of ledger and store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.pipeline.conftest import begin_on_postgres
from tests.programs import Desk, Sandbox, simple_sheet
from tests.stores import S3Server, moto_s3, rclone_s3

pytestmark = pytest.mark.merge


@pytest.fixture(params=["sqlite-folder", "postgres-moto", "sqlite-rclone"])
def store(request: pytest.FixtureRequest, desk: Desk, tmp_path: Path) -> Iterator[S3Server | None]:
    """The store that the desk has, unless it is a folder."""
    if "postgres" in request.param:
        begin_on_postgres(desk, request)
    with ExitStack() as stack:
        server: S3Server | None = None
        if "moto" in request.param:
            server = stack.enter_context(moto_s3())
        elif "rclone" in request.param:
            (tmp_path / "s3").mkdir()
            server = stack.enter_context(rclone_s3(tmp_path / "s3"))
        if server:
            desk.environ |= {**server.environment(), "CALLSHEET_STORE": f"{server.address}/out"}
        yield server


def test_a_sheet_becomes_videos_once(
    desk: Desk, store: S3Server | None, service: Sandbox, name: str
) -> None:
    def content(uri: str) -> bytes:
        if store is None:
            return Path(uri).read_bytes()
        return bytes(store.read(uri.removeprefix(f"{store.address}/")))

    sheet = desk.sheet(f"{name}.csv", simple_sheet(6))
    figures = {"quoted": 90, "reserved": 0, "charged": 90, "paid_before": 0, "variance": 0}
    figures |= {"budget": None, "left": None}
    for charged in (90, 0):
        ended = desk.run(sheet)
        assert ended.status == 0, ended.err
        assert ended.json == {
            "campaign": name, "rows": {"total": 6, "delivered": 6}, "exit": 0,
            "credits": {**figures, "charged_this_run": charged},
        }  # fmt: skip
    assert "nothing to do, 0 credits" in ended.err
    assert desk.paid_once(name, service)
    rows = desk.rows(name)
    for row in rows.values():
        assert row["state"] == "delivered"
        assert [file["kind"] for file in row["deliveries"]] == ["mp4", "srt", "vtt"]
        for file in row["deliveries"]:
            data = content(file["uri"])
            assert (hashlib.sha256(data).hexdigest(), len(data)) == (file["sha256"], file["bytes"])
    folder = rows["r001"]["deliveries"][0]["uri"].rsplit("/", 2)[0]
    manifest = json.loads(content(f"{folder}/manifest.json"))
    assert manifest["counts"] == {"total": 6, "delivered": 6}
    assert [row["row"] for row in manifest["rows"]] == list(rows)
