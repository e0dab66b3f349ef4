"""A manifest that was written once is written and read in the same way by every version."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from callsheet.tasks.campaign.recovery import recover
from callsheet.tasks.campaign.report_files import write_manifest, write_report
from callsheet.tasks.engine.context import connect
from callsheet.tasks.runtime.settings import load_settings
from tests.campaigns import NOW, Stage
from tests.unit.campaign.recorded_campaign import (
    RECORDED,
    fall_behind,
    fill_store,
    happen,
    last_sheet,
    snapshot,
)

NOBODY = {"CALLSHEET_BASE_URL": "http://127.0.0.1:9/api/v1", "CALLSHEET_API_KEY": "mav_nobody"}
#: Written before rows are sent, and at the end of a run.
WRITTEN = ("about-to-send.json", "at-the-end.json", "status.csv")
HOUR, DAYS = 3600.0, 200_000.0


@dataclass
class NoVideos:
    """A service whose list is empty, and whose clock is so many seconds ahead of ours."""

    ahead: float

    async def behind(self) -> float:
        return self.ahead

    async def list_videos(self) -> AsyncIterator[Any]:
        for video in ():
            yield video


@asynccontextmanager
async def stage_in(folder: Path, *, now: float, ahead: float = 0.0):
    environ = {**NOBODY, "CALLSHEET_STORE": str(folder / "deliveries")}
    settings = load_settings(environ=environ, folder=folder)
    async with connect(settings, clock=lambda: now) as at:
        at = replace(at, service=cast(Any, NoVideos(ahead)))
        yield at, await Stage.set(at.ledger, budget=900)


async def written(folder: Path) -> dict[str, bytes]:
    """Everything that a run writes of the campaign."""
    async with stage_in(folder, now=NOW + 200) as (at, stage):
        await happen(stage)
        files = folder / "deliveries" / "spring"
        await write_manifest(at, stage.campaign)
        before = (files / "manifest.json").read_bytes()
        await write_report(at, stage.campaign)
        found = (before, *((files / n).read_bytes() for n in ("manifest.json", "status.csv")))
        return dict(zip(WRITTEN, found, strict=True))


async def recovered(
    folder: Path, manifest: str, *, behind: bool, later: float, pay_again: bool, ahead: float = 0.0
) -> Mapping[str, Any]:
    """What a ledger knows, new or a backup, after a run has looked at a recorded manifest."""
    fill_store(folder / "deliveries")
    file = folder / "deliveries" / "spring" / "manifest.json"
    file.write_bytes((RECORDED / manifest).read_bytes())
    async with stage_in(folder, now=NOW + later, ahead=ahead) as (at, stage):
        if behind:
            await fall_behind(stage)
        await stage.sync(*last_sheet().values())
        found = await recover(at, stage.campaign, pay_again=pay_again)
        text = json.dumps(await at.ledger.read(snapshot))
        text = text.replace(str(folder.resolve()), "FOLDER")
        return {"recovery": asdict(found) | {"told": str(found.told)}, **json.loads(text)}


CASES = {
    "a-new-ledger": ("about-to-send.json", False, HOUR, False),
    "a-new-ledger-at-the-end": ("at-the-end.json", False, HOUR, False),
    "past-the-horizon": ("about-to-send.json", False, DAYS, False),
    "pay-again": ("about-to-send.json", False, DAYS, True),
    "a-backup": ("about-to-send.json", True, HOUR, False),
    "a-backup-past-the-horizon": ("at-the-end.json", True, DAYS, False),
}


@pytest.mark.merge
async def test_what_is_written_is_what_was_recorded(tmp_path: Path) -> None:
    for name, content in (await written(tmp_path)).items():
        known = (RECORDED / name).read_bytes().decode()
        assert _said(content.decode()) == _said(known), name


def _said(text: str) -> object:
    """What a manifest or status sheet says, but for what was added since: how videos were made."""
    if not text.startswith("{"):
        lines = list(csv.reader(io.StringIO(text)))
        kept = [number for number, name in enumerate(lines[0]) if not name.startswith("cs_ai_")]
        return [[line[number] for number in kept] for line in lines]
    said = json.loads(text)
    # Members in their order, for people who look at two.
    rows = [[(k, v) for k, v in row.items() if not k.startswith("ai_")] for row in said["rows"]]
    return [*((k, v) for k, v in said.items() if k != "rows"), rows]


@pytest.mark.parametrize("case", CASES)
async def test_a_recorded_manifest_is_read_to_the_same_recovery(tmp_path: Path, case: str) -> None:
    manifest, behind, later, again = CASES[case]

    found = await recovered(tmp_path, manifest, behind=behind, later=later, pay_again=again)

    assert found == json.loads((RECORDED / f"{case}.json").read_text())


async def test_what_is_old_by_the_services_clock_is_not_paid_for_again(tmp_path: Path) -> None:
    recovering = partial(recovered, tmp_path, "about-to-send.json", behind=False, pay_again=False)

    found = await recovering(later=HOUR, ahead=DAYS)

    past = json.loads((RECORDED / "past-the-horizon.json").read_text())
    assert found["recovery"] == past["recovery"]
