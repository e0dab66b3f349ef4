"""`--waves`: a part of the rows before the others, and what releases the next part."""

from __future__ import annotations

import pytest

from callsheet.flows.executor import run_sheet
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.runtime.settings import load_settings
from tests.approvers import Approving
from tests.pipeline.test_canary import real
from tests.programs import Desk, Sandbox, simple_sheet

__all__ = ["real"]


def delivered(desk: Desk, name: str) -> list[str]:
    return [row for row, one in desk.rows(name).items() if one["state"] == "delivered"]


@pytest.mark.merge
def test_each_wave_is_made_once_the_one_before_is_kept(
    desk: Desk, service: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(5))
    waves = ("--waves", "20%,60%")

    planned = desk.call("plan", sheet, *waves, "--json").json
    first = desk.run(sheet, *waves, "--budget", "75")
    again = desk.run(sheet, *waves)
    status = desk.call("status", name, "--json").json

    assert [row["action"] for row in planned["rows"]] == ["make", *["wait"] * 4]
    assert (first.status, first.json["credits"]["charged"]) == (3, 15)
    assert again.json["credits"]["charged_this_run"] == 0
    assert "2 rows wait until you keep the videos of wave 1, then 30 credits" in first.err
    assert status["waiting"] == {"waits for wave 1 of 3": 2, "waits for wave 2 of 3": 2}

    desk.call("review", name, "r001", "keep")
    second = desk.run(sheet, *waves)
    assert delivered(desk, name) == ["r001", "r002", "r003"]
    assert second.json["credits"]["charged_this_run"] == 30

    for row in ("r002", "r003"):
        desk.call("review", name, row, "keep")
    third = desk.run(sheet, *waves)
    last = desk.run(sheet, *waves)
    assert (third.status, third.json["credits"]["charged"]) == (0, 75)
    assert last.json["credits"]["charged_this_run"] == 0
    keys = [row["key"] for row in desk.rows(name).values()]
    assert service.charged(keys) == dict.fromkeys(keys, 1)


@pytest.mark.merge
def test_the_next_wave_is_approved_without_its_sheet(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(4))
    desk.run(sheet, "--waves", "25%,50%")

    asked = desk.call("approve", name)
    second = desk.call("approve", name, "--yes", "--run", "--json")
    desk.call("review", name, "r001", "reject", "--because", "voice", "--instead-of", "keep")
    refused = desk.call("approve", name, "--yes", "--json")
    desk.call("review", name, "r001", "keep", "--instead-of", "reject")
    third = desk.call("approve", name, "--yes", "--run", "--json")

    assert asked.status == 4
    assert second.json["approved"] == ["r002"]
    assert refused.json["approved"] == []
    assert (third.status, third.json["approved"]) == (0, ["r003", "r004"])
    assert [desk.rows(name)[row]["review"] for row in ("r001", "r002")] == ["keep", "keep"]


def test_rows_are_made_once_their_date_has_come(desk: Desk, name: str) -> None:
    sheet = f"{name}.csv"
    later, before = (
        simple_sheet(2, columns=",deliver_after", cells=f",{day}")
        for day in ("2099-01-01", "2020-01-01")
    )
    desk.sheet(sheet, later)
    early = desk.run(sheet)
    again = desk.run(sheet)
    status = desk.call("status", name, "--json").json
    desk.sheet(sheet, before)
    ended = desk.run(sheet)
    desk.sheet(sheet, later)
    delivered_before = desk.run(sheet)

    assert (early.status, again.status) == (0, 0)
    assert early.json["rows"] == again.json["rows"] == {"total": 2, "planned": 2}
    assert early.json["credits"]["charged"] == 0
    assert "2 rows wait for their dates" in early.err
    assert status["waiting"] == {"waits until 2099-01-01": 2}
    assert ended.json["rows"] == delivered_before.json["rows"] == {"total": 2, "delivered": 2}
    assert delivered_before.json["credits"]["charged_this_run"] == 0


@pytest.mark.parametrize("said", ["50%,10%", "0%", "110%", "some"])
def test_parts_that_cannot_be_meant_are_refused(desk: Desk, name: str, said: str) -> None:
    ended = desk.run(desk.sheet(f"{name}.csv", simple_sheet(2)), "--waves", said)
    assert ended.status == 2
    assert f'"{said}" for waves' in ended.err


@pytest.mark.merge
@pytest.mark.parametrize(("later", "charged"), [(True, 75), (False, 15)])
async def test_checks_release_every_wave_on_one_approval(
    desk: Desk, real: Sandbox, name: str, later: bool, charged: int
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(5))
    desk.environ |= real.environ
    settings = load_settings(environ=desk.environ, folder=desk.folder)
    options = RunOptions.of(
        {"sheet": str(desk.folder / sheet), "waves": "20%,60%", "canary": "auto", "campaign": name}
    )
    outcome = await run_sheet(options, settings, Approving(later=later))
    assert outcome.charged_this_run == charged
