"""More of the same, and what takes minutes by the clock. Slow: not collected by default.

python -m pytest tests/faults/more_torture.py
"""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.faults.production import Production
from tests.faults.trouble import troubled
from tests.programs import Desk, sandbox, simple_sheet
from tests.stores import moto_s3, rclone_s3
from tests.unit.store.s3_proxy import refusal

#: What strikes the first call of a kind, the second too where there are two.
STRUCK: dict[str, list[dict[str, Any]]] = {
    "create": [
        {"do": "truncated"},
        {"do": "shapeless"},
        {"do": "html"},
        {"do": "gzip"},
        {"do": "limited", "retry_after": "soon"},
        {"do": "reset-after"},
        {"do": "error-after", "status": 504, "html": True},
        {"do": "rewrite", "remove": ["id"]},
    ],
    "get": [
        {"do": "html"},
        {"do": "rewrite", "set": {"status": "failed"}},
        {"do": "rewrite", "remove": ["status"]},
    ],
    "file": [
        {"do": "cut-body", "framing": "chunked"},
        {"do": "cut-body", "then": "range-shifted"},
        {"do": "cut-body", "then": "range-ignored"},
        {"do": "cut-body", "then": "expired"},
        {"do": "truncated", "framing": "close"},
        {"do": "gzip-lie"},
        {"do": "xml"},
        {"do": "empty"},
    ],
}
CASES = [(on, fault) for on, faults in STRUCK.items() for fault in faults]


@pytest.mark.parametrize(("on", "fault"), CASES, ids=json.dumps)
def test_a_struck_call_ends_in_one_video(
    production: Production, on: str, fault: dict[str, Any]
) -> None:
    production.asks_for(1)
    first = dict(fault)
    if then := first.pop("then", None):
        production.service.plan_fault(on=on, nth=2, do=then)
    production.service.plan_fault(on=on, nth=1, **first)
    assert production.run(CALLSHEET_DEADLINE="2s").status == 0
    production.ends_well()


@pytest.mark.parametrize("answers", ["bare", "renamed"])
def test_an_id_under_another_name_is_found(tmp_path: Path, answers: str) -> None:
    with sandbox(tmp_path / "odd", "--answers", answers) as odd:
        production = Production(Desk(tmp_path, odd.environ), odd, f"c-{answers}").asks_for(1)
        odd.plan_fault(on="create", nth=1, do="drop-after")
        assert production.run().status == 0
        assert production.states() == {"delivered": 1}
        assert production.paid_once()


def test_a_run_ended_by_a_signal_with_calls_under_way_loses_none(production: Production) -> None:
    production.asks_for(2)
    production.service.plan_fault(on="create", do="slow", seconds=1)
    process = production.start()
    production.waits_for(lambda: production.count("reserve") == 2)
    process.send_signal(signal.SIGTERM)

    _, err = process.communicate(timeout=60)

    assert process.returncode == 5
    assert "run the same command again" in err
    production.ends_well()


def test_a_campaign_from_two_folders_is_paid_once(production: Production, tmp_path: Path) -> None:
    # Two people with a ledger each: neither knows of the other, the keys are the same.
    production.asks_for(3)
    desks = [Desk(tmp_path / name, production.desk.environ) for name in ("ada", "ben")]
    for desk in desks:
        desk.folder.mkdir()
        desk.sheet(production.sheet, simple_sheet(3, title=production.name))

    words = ("run", production.sheet, "--yes", "--without-prefect")
    for process in [desk.start(*words) for desk in desks]:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err

    for desk in desks:
        production.desk = desk
        production.ends_well()


def test_an_answer_that_never_comes_is_asked_for_again(production: Production) -> None:
    production.asks_for(1)
    production.service.plan_fault(on="create", nth=1, do="hang")
    assert production.run(timeout=600).status == 0
    production.ends_well()


def test_a_service_in_trouble_for_minutes_parks_the_run(production: Production) -> None:
    production.asks_for(1)
    for read in ("get", "list", "templates"):
        production.service.plan_fault(on=read, do="error-before", status=503)

    parked = production.run(timeout=600)

    assert parked.status == 5
    assert "the service has not answered for 120 s" in parked.err
    assert production.states() == {"rendering": 1}
    production.ends_well()


def test_a_run_frozen_longer_than_its_lease_pays_for_nothing_twice(production: Production) -> None:
    production.asks_for(3)
    production.service.plan_fault(on="create", nth=2, do="slow", seconds=5)
    production.service.plan_fault(on="render", do="slow", seconds=5)
    frozen = production.start()
    production.waits_for(lambda: production.count("reserve") > 0)
    frozen.send_signal(signal.SIGSTOP)
    time.sleep(65)
    # The lease has lapsed: another run takes over, and the first one wakes up beside it.
    other = production.start()
    time.sleep(2)
    frozen.send_signal(signal.SIGCONT)

    for process in (frozen, other):
        _, err = process.communicate(timeout=300)
        assert process.returncode in (0, 5), err
        assert "Traceback" not in err
    production.ends_well()


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
