"""What was tried with `--sandbox` is never taken for videos that were made, nor the other way
round.

The service that is configured is a sandbox too, but to Callsheet it is one like any other.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.programs import Desk, Finished, Sandbox, simple_sheet

pytestmark = pytest.mark.merge


@pytest.fixture
def at_home(tmp_path: Path) -> Desk:
    """Somebody in the same folder who has no service and no key."""
    return Desk(tmp_path)


def trial(at_home: Desk, *words: str) -> Finished:
    return at_home.run(*words, "--sandbox", "--time-scale", "200")


def test_what_is_suggested_in_a_trial_can_be_typed(at_home: Desk) -> None:
    brief = ("--tool", "explainer", "--topic", "Tea", "--duration", "5")
    made = at_home.call("video", "create", *brief, "--yes", "--sandbox", "--json")
    shown = at_home.call("video", "show", made.json["video_id"], "--wait", "--sandbox")
    (fetch,) = re.findall(r"`callsheet (video download .*?)`", shown.out)
    assert (shown.status, at_home.call(*fetch.split()).status) == (0, 0)


def folder_of(desk: Desk, campaign: str) -> str:
    """Return the folder of a campaign's videos in the store."""
    return Path(desk.rows(campaign)["r001"]["deliveries"][0]["uri"]).parent.parent.name


def test_a_sheet_that_was_tried_is_made_by_the_service_afterwards(
    desk: Desk, at_home: Desk, service: Sandbox, name: str
) -> None:
    sheet, real = desk.sheet(f"{name}.csv", simple_sheet(2)), f"{name}-real"
    before = service.creates()
    tried, planned = trial(at_home, sheet), desk.call("plan", sheet, "--json")
    made = desk.run(sheet)
    assert tried.json["campaign"] == name
    assert planned.json["campaign"] == made.json["campaign"] == real
    assert f"{name} was only tried with --sandbox" in made.err
    assert [folder_of(desk, one) for one in (real, name)] == [real, name]
    for again, campaign in ((desk.run(sheet), real), (trial(at_home, sheet), name)):
        assert again.json["campaign"] == campaign
        assert "nothing to do, 0 credits" in again.err
    assert service.creates() == before + 2


def test_a_campaign_that_is_real_is_not_mixed_with_a_trial(
    desk: Desk, at_home: Desk, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    assert desk.run(sheet).status == 0
    beside, named = trial(at_home, sheet), trial(at_home, sheet, "--campaign", name)
    retake = at_home.call("retake", name, "r001", "--yes", "--sandbox")
    assert beside.json["campaign"] == f"{name}-sandbox"
    assert (named.status, named.json["exit"], retake.status) == (4, 4, 2)
    assert f"--campaign {name}-sandbox" in named.err
    assert "leave --sandbox out" in retake.err
    assert "callsheet retake" not in retake.err, "what was typed is refused again"


def test_a_plan_saved_in_a_trial_is_not_paid_for(
    desk: Desk, at_home: Desk, service: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    assert at_home.call("plan", sheet, "-o", "trial.json", "--sandbox").status == 0
    assert desk.call("plan", sheet, "-o", "real.json").status == 0
    before = service.creates()
    paid = desk.call("run", sheet, "--plan", "trial.json", "--without-prefect")
    tried = at_home.call("run", sheet, "--plan", "real.json", "--without-prefect", "--sandbox")
    assert (paid.status, tried.status) == (4, 4)
    assert "the plan was made with a sandbox, and its videos would be made by a real" in paid.err
    assert "the plan was made with a real service, and its videos" in tried.err
    assert service.creates() == before


@pytest.mark.slow
def test_what_was_tried_can_be_taken_again(at_home: Desk, name: str) -> None:
    trial(at_home, at_home.sheet(f"{name}.csv", simple_sheet(1)))
    alone = at_home.call("retake", name, "r001", "--yes")
    approved = at_home.call("approve", name, "--yes")
    taken = at_home.call("retake", name, "r001", "--yes", "--run", "--sandbox", "--json")
    told = at_home.call("explain", name, "r001")
    assert (alone.status, approved.status, taken.status) == (2, 4, 0), taken.err
    assert "say --sandbox" in alone.err
    assert f"callsheet retake {name} r001 --yes --sandbox" in alone.err
    rejected = at_home.call("review", name, "r001", "reject", "--because", "voice")
    assert f"`callsheet retake {name} r001 --sandbox` makes another" in rejected.out
    assert "was only tried with --sandbox" in approved.err
    assert at_home.rows(name)["r001"]["take"] == 2
    assert f"callsheet retake {name} r001 --run --sandbox" in told.out
    assert at_home.call("reconcile", name, "--sandbox").status == 0


def test_files_of_a_trial_that_are_missing_are_fetched_by_what_is_suggested(
    at_home: Desk, name: str
) -> None:
    trial(at_home, at_home.sheet(f"{name}.csv", simple_sheet(1)))
    Path(at_home.rows(name)["r001"]["deliveries"][0]["uri"]).unlink()
    for told in (at_home.call("export", name, "--zip", "videos.zip"), at_home.call("verify", name)):
        assert told.status == 3
        (repair,) = re.findall(r"`callsheet (verify .*?)`", told.out + told.err)
    assert at_home.call(*repair.split()).status == 0
    assert at_home.call("verify", name).status == 0


def test_videos_of_a_trial_are_not_taken_back_for_real_ones(
    desk: Desk, at_home: Desk, service: Sandbox, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    trial(at_home, sheet)
    desk.lose_ledger()
    before = service.creates()
    refused = desk.run(sheet)
    manifest = json.loads((desk.folder / "deliveries" / name / "manifest.json").read_text())
    assert manifest["sandbox"] is True
    assert (refused.status, "made with --sandbox" in refused.err) == (4, True)
    assert service.creates() == before


def test_a_trial_says_what_is_paid_for_twice_as_a_real_service_does(
    at_home: Desk, name: str
) -> None:
    before = at_home.sheet(f"{name}.csv", simple_sheet(1))
    text = simple_sheet(3) + "copy,product-launch,Kettle 3,Video 3,5,9:16\n"
    sheet = at_home.sheet(f"{name}-two.csv", text)
    checked = at_home.call("check", sheet)
    assert trial(at_home, before).status == 0
    planned, made = at_home.call("plan", sheet, "--sandbox"), trial(at_home, sheet)
    twice = 'row "copy" asks for the same video as row "r003": each of them is paid for'
    words = f"campaign {name} already paid for 1 of these rows (15 credits): a run makes it again"
    for ended, said in ((checked, [twice]), (planned, [twice, words]), (made, [twice, words])):
        assert ended.status == 0
        assert all(one in ended.out + ended.err for one in said)
