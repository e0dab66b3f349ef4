"""The main job, from the command line, over real sockets, on every kind of ledger and store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.databases import postgres_server
from tests.programs import Desk, Sandbox, simple_sheet
from tests.stores import S3Server, moto_s3, rclone_s3


@pytest.fixture(params=["sqlite-folder", "postgres-moto", "sqlite-rclone"])
def house(
    request: pytest.FixtureRequest, desk: Desk, tmp_path: Path
) -> Iterator[tuple[Desk, S3Server | None]]:
    with ExitStack() as stack:
        server: S3Server | None = None
        if "postgres" in request.param:
            database = stack.enter_context(postgres_server())
            desk.environ["CALLSHEET_LEDGER"] = database.new_database()
        if "moto" in request.param:
            server = stack.enter_context(moto_s3())
        elif "rclone" in request.param:
            (tmp_path / "s3").mkdir()
            server = stack.enter_context(rclone_s3(tmp_path / "s3"))
        if server:
            desk.environ |= {**server.environment(), "CALLSHEET_STORE": f"{server.address}/out"}
        yield desk, server


@pytest.mark.merge
def test_a_sheet_becomes_videos_once(
    house: tuple[Desk, S3Server | None], service: Sandbox, name: str
) -> None:
    desk, server = house
    sheet = desk.sheet(f"{name}.csv", simple_sheet(6))

    first = desk.run(sheet)
    rows = desk.rows(name)
    again = desk.run(sheet)

    assert first.status == 0, first.err
    told = {"campaign": name, "rows": {"total": 6, "delivered": 6}, "exit": 0}
    figures = {"quoted": 90, "reserved": 0, "charged": 90, "paid_before": 0, "variance": 0}
    figures |= {"budget": None, "left": None}
    assert first.json == {**told, "credits": {**figures, "charged_this_run": 90}}
    assert again.status == 0
    assert again.json == {**told, "credits": {**figures, "charged_this_run": 0}}
    assert "nothing to do, 0 credits" in again.err
    keys = [row["key"] for row in rows.values()]
    assert service.charged(keys) == dict.fromkeys(keys, 1)
    for row in rows.values():
        assert row["state"] == "delivered"
        assert [file["kind"] for file in row["deliveries"]] == ["mp4", "srt", "vtt"]
        for file in row["deliveries"]:
            content = _content(file["uri"], server)
            assert hashlib.sha256(content).hexdigest() == file["sha256"]
            assert len(content) == file["bytes"]
    manifest = json.loads(_content(_beside(rows["r001"], "manifest.json"), server))
    assert manifest["counts"] == {"total": 6, "delivered": 6}
    assert [row["row"] for row in manifest["rows"]] == list(rows)


def _beside(row: dict[str, object], name: str) -> str:
    uri = row["deliveries"][0]["uri"]  # type: ignore[index]
    return f"{uri.rsplit('/', 2)[0]}/{name}"


def _content(uri: str, server: S3Server | None) -> bytes:
    if server is None:
        return Path(uri).read_bytes()
    key = uri.removeprefix(f"{server.address}/")
    return bytes(server.client().get_object(Bucket=server.bucket, Key=key)["Body"].read())
