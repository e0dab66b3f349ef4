"""Buckets of other manners, from the command line. Slow: not collected by default.

python -m pytest tests/faults/bucket_torture.py
"""

from __future__ import annotations

from pathlib import Path

from tests.faults.production import Production
from tests.faults.s3_thread import troubled
from tests.stores import moto_s3, rclone_s3
from tests.unit.store.s3_proxy import refusal

STRANGER = b"a stranger's video"


def test_a_bucket_without_if_none_match_loses_nothing(
    production: Production, tmp_path: Path
) -> None:
    production.asks_for(1)
    (tmp_path / "s3").mkdir()
    with rclone_s3(tmp_path / "s3") as server:
        production.desk.environ |= {**server.environment(), "CALLSHEET_STORE": server.address}
        key = f"{production.name}/r001/r001-take1.mp4"
        server.client().put_object(Bucket=server.bucket, Key=key, Body=STRANGER)

        ended = production.run()

        assert ended.status == 3
        assert "exists already and is another file" in production.row()["reason"]
        assert server.read(key) == STRANGER
        server.client().delete_object(Bucket=server.bucket, Key=key)
        production.ends_well(lambda uri: server.read(uri.removeprefix(f"{server.address}/")))


def test_a_bucket_that_refuses_checksum_headers_gets_the_video(production: Production) -> None:
    async def old(request, body, forward):
        if "x-amz-checksum-sha256" in request.headers:
            return refusal(501, "NotImplemented")
        return await forward()

    production.asks_for(1)
    with moto_s3() as moto, troubled(moto, old) as proxy:
        production.desk.environ |= proxy.server.environment()
        production.desk.environ["CALLSHEET_STORE"] = f"{moto.address}/old"

        ended = production.run()

        assert ended.status == 0, ended.err
        assert "reads every file back" in ended.err
        production.is_whole(lambda uri: moto.read(uri.removeprefix(f"{moto.address}/")))
