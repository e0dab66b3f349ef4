"""A sheet that is run from another folder finds the ledger that has paid for it."""

from __future__ import annotations

import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.programs import Desk, Sandbox, simple_sheet


@pytest.fixture
def desk(tmp_path: Path, service: Sandbox) -> Desk:
    """A desk in the folder `one`; what its user has run is noted beside it."""
    (tmp_path / "one").mkdir()
    notes = {"XDG_STATE_HOME": str(tmp_path / "state")}
    return Desk(tmp_path / "one", {**service.environ, **notes})


def moved(desk: Desk, folder: str) -> Desk:
    """The same user in another folder."""
    place = desk.folder.parent / folder
    place.mkdir(exist_ok=True)
    return replace(desk, folder=place)


@pytest.mark.merge
@pytest.mark.parametrize("where", ["one", "sheets"])
def test_an_empty_folder_is_led_to_the_ledger(
    desk: Desk, service: Sandbox, name: str, where: str
) -> None:
    sheet = f"../{where}/{name}.csv"
    moved(desk, where).sheet(f"{name}.csv", simple_sheet(2))
    first = desk.run(sheet)
    creates = service.calls()["create"]
    other = moved(desk, "two")

    planned = other.call("plan", sheet)
    again = other.run(sheet)
    other.environ["CALLSHEET_LEDGER"] = f"sqlite:///{other.folder / 'named.db'}"
    named = other.call("plan", sheet, "--json")

    assert (first.status, planned.status, again.status) == (0, 0, 0)
    for said in (planned.err, again.err):
        assert f"the ledger is in {desk.folder}/.callsheet" in said
    assert "nothing to do, 0 credits" in again.err
    assert str(desk.folder / "deliveries") in again.err
    assert not (other.folder / ".callsheet").exists()
    assert service.calls()["create"] == creates
    # Whoever names a ledger means it.
    assert named.json["credits"]["total"] == 30


@pytest.mark.merge
@pytest.mark.parametrize("said", ["nothing", "a profile"])
def test_a_folder_below_that_of_the_ledger_has_its_store_too(
    desk: Desk, name: str, said: str
) -> None:
    if said == "a profile":
        desk.environ["CALLSHEET_PROFILE"] = "main"
        (desk.folder / "configs" / "profiles").mkdir(parents=True)
        desk.sheet("configs/profiles/main.toml", 'store = "deliveries/"\n')
    sheet = f"{name}.csv"
    assert desk.run(desk.sheet(sheet, simple_sheet(1))).status == 0
    desk.sheet(sheet, simple_sheet(2))
    below = moved(desk, "one/below")

    assert below.run(f"../{sheet}").status == 0

    files = [file["uri"] for row in desk.rows(name).values() for file in row["deliveries"]]
    store = desk.folder / "deliveries"
    assert len(files) == 6
    assert all(Path(file).is_relative_to(store / name) for file in files), files
    assert [*below.folder.iterdir()] == []
    names = []
    for place in (desk, below):
        assert place.call("export", name, "--zip", f"{tmp(place)}").status == 0
        with ZipFile(tmp(place)) as archive:
            names.append(archive.namelist())
    assert names[0] == names[1]


def tmp(desk: Desk) -> Path:
    """Return a file for a ZIP that is in no folder of Callsheet's."""
    return desk.folder.with_name(f"{desk.folder.name}.zip")


@pytest.mark.merge
def test_a_folder_with_a_ledger_of_its_own_pays_nothing_twice(
    desk: Desk, service: Sandbox, name: str
) -> None:
    moved(desk, "sheets").sheet(f"{name}.csv", simple_sheet(2))
    sheet = f"../sheets/{name}.csv"
    assert desk.run(sheet).status == 0
    other = moved(desk, "two")
    other.run(other.sheet(f"{name}-2.csv", simple_sheet(1, title="Other")))
    creates = service.calls()["create"]

    planned = other.call("plan", sheet, "--json")
    stopped = other.run(sheet)
    there, words = re.findall(r"cd (\S+) && callsheet (.*)", stopped.err)[0]
    went_on = replace(other, folder=Path(there)).call(*shlex.split(words))

    assert (planned.status, stopped.status, went_on.status) == (4, 4, 0)
    assert f"with the ledger in {desk.folder}/.callsheet, and" in stopped.json["error"]
    assert "nothing to do, 0 credits" in went_on.err
    assert service.calls()["create"] == creates
    # Said once, it is this ledger's campaign as well.
    assert other.run(sheet, "--new-campaign").status == 0
    assert "nothing to do, 0 credits" in other.run(sheet).err


def test_a_ledger_that_is_gone_is_named(desk: Desk, name: str) -> None:
    moved(desk, "sheets").sheet(f"{name}.csv", simple_sheet(1))
    desk.run(f"../sheets/{name}.csv")
    shutil.rmtree(desk.folder / ".callsheet")

    planned = moved(desk, "two").call("plan", f"../sheets/{name}.csv")

    assert planned.status == 0
    assert f"was last run with the ledger sqlite:///{desk.folder}/.callsheet" in planned.err
    assert "which is gone" in planned.err


@pytest.mark.merge
def test_a_campaign_of_another_folder_is_told_where_it_is(desk: Desk, name: str) -> None:
    assert desk.run(desk.sheet(f"{name}.csv", simple_sheet(1))).status == 0
    empty, other = moved(desk, "empty"), moved(desk, "two")
    other.run(other.sheet(f"{name}-2.csv", simple_sheet(1, title="Other")))

    asked = [
        (empty, ("status", name)),
        (empty, ("rows", f"../one/{name}.csv")),
        (other, ("status", name)),
        (other, ("explain", name, "r001")),
        (other, ("retake", name, "r001", "--yes")),
    ]
    for place, words in asked:
        lost = place.call(*words)
        assert lost.status == 2, words
        told = re.search(rf"{name} is in another ledger: `cd ([^`]*)`", lost.err)
        assert told is not None, lost.err
        there = [name if word.endswith(".csv") else word for word in words]
        assert replace(desk, folder=Path(told[1])).call(*there).status == 0
    assert not (empty.folder / ".callsheet").exists()
    assert "another ledger" not in other.call("status", "nobody").err
    slip = desk.call("status", f"{name}.csv")
    assert f"did you mean {name}?" in slip.err


def test_a_check_names_the_campaign_that_a_run_goes_on_with(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    assert desk.call("check", sheet, "--json").json["campaign"] == name
    assert desk.run(sheet, "--campaign", f"{name}-autumn").status == 0

    checked = desk.call("check", sheet, "--json")

    assert checked.json["campaign"] == desk.call("plan", sheet, "--json").json["campaign"]
    assert checked.json["campaign"] == f"{name}-autumn"
    assert "as in its last run" in checked.err
