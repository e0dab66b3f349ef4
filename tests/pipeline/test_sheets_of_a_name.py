"""A sheet's name or folder is not its identity: what was paid for is not made again unasked.

Every proof is in the sandbox's own charge log.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import pytest
from openpyxl import Workbook

from tests.programs import Desk, Finished, Sandbox, simple_sheet

pytestmark = pytest.mark.merge


def offered(ended: Finished, option: str) -> list[str]:
    """The words of the command in a message that has this option, to be pasted."""
    lines = [shlex.split(line) for line in ended.err.splitlines() if " callsheet " in f" {line}"]
    (found,) = [line for line in lines if option in line]
    return found[1:]


@pytest.fixture
def paid(desk: Desk, service: Sandbox, name: str) -> int:
    """A campaign with three videos, and how many creates there have been so far."""
    assert desk.run(desk.sheet(f"{name}.csv", simple_sheet(3))).status == 0
    return service.creates()


@pytest.mark.always
def test_a_renamed_sheet_is_not_paid_for_anew(
    desk: Desk, service: Sandbox, name: str, paid: int
) -> None:
    final = desk.sheet(f"{name}-final.csv", simple_sheet(3))
    planned = desk.call("plan", final, "--json")
    stopped = desk.run(final, "--budget", "99")
    known = desk.call("status", "--json").json["campaigns"]
    went_on = desk.call(*offered(stopped, name))
    later = desk.run(final)
    assert (planned.status, planned.json["exit"], stopped.status) == (4, 4, 4)
    assert planned.json["elsewhere"][0]["campaign"] == name
    assert f"campaign {name} already paid for 3 of 3 rows" in stopped.json["error"]
    assert "(45 credits)" in stopped.err
    # Nothing of it is left in the ledger.
    assert [one["campaign"] for one in known] == [name]
    # The answer is remembered: no option is needed any more.
    assert (went_on.status, later.status, later.json["campaign"]) == (0, 0, name)
    assert "nothing to do, 0 credits" in later.err
    assert service.creates() == paid


def test_a_copy_is_made_again_on_purpose_and_nobody_is_asked_twice(
    desk: Desk, service: Sandbox, name: str, paid: int
) -> None:
    final = desk.sheet(f"{name}-final.csv", simple_sheet(3))
    stopped = desk.run(final)
    # A try that is refused before anything is approved is no answer.
    broken = desk.run(final, "--new-campaign", "--budget", "1")
    unanswered, again = desk.run(final), desk.run(final, "--new-campaign")
    assert [one.status for one in (stopped, broken, unanswered, again)] == [4, 4, 4, 0]
    assert "--new-campaign" in offered(stopped, "--new-campaign")
    for file, campaign in ((f"{name}.csv", name), (final, f"{name}-final")):
        assert desk.run(file).json["campaign"] == campaign
    assert service.creates() == paid + 3


def test_a_few_rows_of_another_campaign_are_warned_of_once(
    desk: Desk, name: str, paid: int
) -> None:
    text = simple_sheet(7).replace("r002", "x2").replace("r003", "x3")
    first = desk.run(desk.sheet(f"{name}-mixed.csv", text))
    second = desk.run(desk.sheet(f"{name}-mixed.csv", text.replace("x2", "r002")))
    words = f"campaign {name} already paid for 1 of these rows (15 credits): a run makes it again"
    assert (first.status, words in first.err) == (0, True)
    assert (second.status, "already paid for" in second.err) == (0, False)


def test_another_clients_sheet_of_the_same_name_does_not_take_its_place(
    desk: Desk, service: Sandbox, name: str, paid: int
) -> None:
    before = desk.rows(name)
    (desk.folder / "Kunde B").mkdir()
    text = simple_sheet(2, title="Urlaub").replace("Kettle", "Beach")
    other = desk.sheet(f"Kunde B/{name}.csv", text)
    stopped = desk.run(other)
    after = desk.rows(name)
    went_on = desk.call(*offered(stopped, "--campaign"))
    later = desk.run(other)
    assert stopped.status == 4
    assert "make 2 of its videos anew and retire 1 of its 3 rows" in stopped.json["error"]
    assert after == before == desk.rows(name)
    assert (went_on.status, later.status) == (0, 0)
    assert went_on.json["campaign"] == later.json["campaign"] == f"{name}-kunde-b"
    assert service.creates() == paid + 2


def test_another_worksheet_is_another_campaign_unless_somebody_says_so(
    desk: Desk, name: str
) -> None:
    book = Workbook()
    for title, text in (("Mai", simple_sheet(1)), ("Juni", "id,topic,script\nx,Sea,The sea\n")):
        page = book.create_sheet(title)
        for line in text.splitlines():
            page.append(line.split(","))
    del book["Sheet"]
    book.save(desk.folder / f"{name}.xlsx")
    assert desk.run(f"{name}.xlsx", "--worksheet", "Mai").status == 0
    stopped = desk.run(f"{name}.xlsx", "--worksheet", "juni")
    moved = desk.call(*offered(stopped, "--same-campaign"))
    later = desk.run(f"{name}.xlsx", "--worksheet", "Juni")
    assert (stopped.status, f"--campaign {name}-juni" in stopped.err) == (4, True)
    assert moved.json["rows"] == later.json["rows"] == {"total": 2, "delivered": 1, "retired": 1}


def test_a_sheet_that_moves_or_is_piped_goes_on_without_a_question(
    desk: Desk, service: Sandbox, name: str, paid: int
) -> None:
    for folder in ("checkout-1", "checkout-2"):
        (desk.folder / folder).mkdir()
        shutil.copy(desk.folder / f"{name}.csv", desk.folder / folder)
        assert desk.run(f"{folder}/{name}.csv").status == 0
        shutil.rmtree(desk.folder / folder)
    words = ("run", "-", "--campaign", name, "--yes", "--without-prefect")
    piped = desk.start(*words, stdin=subprocess.PIPE)
    _, err = piped.communicate(simple_sheet(3), timeout=60)
    assert piped.returncode == 0, err
    assert desk.run(f"{name}.csv").status == 0
    assert service.creates() == paid


@pytest.fixture
def one(tmp_path: Path, service: Sandbox) -> Desk:
    """A desk in the folder `one`; what its user has run is noted beside it."""
    (tmp_path / "one").mkdir()
    notes = {"XDG_STATE_HOME": str(tmp_path / "state")}
    return Desk(tmp_path / "one", {**service.environ, **notes})


def moved(desk: Desk, folder: str) -> Desk:
    """The same user in another folder."""
    place = desk.folder.parent / folder
    place.mkdir(exist_ok=True)
    return replace(desk, folder=place)


@pytest.mark.parametrize("where", ["one", "sheets"])
def test_an_empty_folder_is_led_to_the_ledger(
    one: Desk, service: Sandbox, name: str, where: str
) -> None:
    sheet = f"../{where}/{name}.csv"
    moved(one, where).sheet(f"{name}.csv", simple_sheet(2))
    first = one.run(sheet)
    creates = service.creates()
    other = moved(one, "two")
    planned, again = other.call("plan", sheet), other.run(sheet)
    other.environ["CALLSHEET_LEDGER"] = f"sqlite:///{other.folder / 'named.db'}"
    named = other.call("plan", sheet, "--json")
    assert (first.status, planned.status, again.status) == (0, 0, 0)
    for said in (planned.err, again.err):
        assert f"the ledger is in {one.folder}/.callsheet" in said
    assert "nothing to do, 0 credits" in again.err
    assert str(one.folder / "deliveries") in again.err
    assert not (other.folder / ".callsheet").exists()
    assert service.creates() == creates
    # Whoever names a ledger means it.
    assert named.json["credits"]["total"] == 30


@pytest.mark.parametrize("said", ["nothing", "a profile"])
def test_a_folder_below_that_of_the_ledger_has_its_store_too(
    one: Desk, name: str, said: str
) -> None:
    if said == "a profile":
        one.environ["CALLSHEET_PROFILE"] = "main"
        (one.folder / "configs" / "profiles").mkdir(parents=True)
        one.sheet("configs/profiles/main.toml", 'store = "deliveries/"\n')
    sheet = one.sheet(f"{name}.csv", simple_sheet(1))
    assert one.run(sheet).status == 0
    one.sheet(sheet, simple_sheet(2))
    below = moved(one, "one/below")
    assert below.run(f"../{sheet}").status == 0
    files = [file["uri"] for row in one.rows(name).values() for file in row["deliveries"]]
    assert len(files) == 6
    assert all(Path(file).is_relative_to(one.folder / "deliveries" / name) for file in files), files
    assert [*below.folder.iterdir()] == []
    names = []
    for place in (one, below):
        file = one.folder.parent / f"{place.folder.name}.zip"
        assert place.call("export", name, "--zip", str(file)).status == 0
        with ZipFile(file) as archive:
            names.append(archive.namelist())
    assert names[0] == names[1]


def test_a_folder_with_a_ledger_of_its_own_pays_nothing_twice(
    one: Desk, service: Sandbox, name: str
) -> None:
    moved(one, "sheets").sheet(f"{name}.csv", simple_sheet(2))
    sheet = f"../sheets/{name}.csv"
    assert one.run(sheet).status == 0
    other = moved(one, "two")
    other.run(other.sheet(f"{name}-2.csv", simple_sheet(1, title="Other")))
    creates = service.creates()
    planned, stopped = other.call("plan", sheet, "--json"), other.run(sheet)
    there, words = re.findall(r"cd (\S+) && callsheet (.*)", stopped.err)[0]
    went_on = replace(other, folder=Path(there)).call(*shlex.split(words))
    assert (planned.status, stopped.status, went_on.status) == (4, 4, 0)
    assert f"with the ledger in {one.folder}/.callsheet, and" in stopped.json["error"]
    assert "nothing to do, 0 credits" in went_on.err
    assert service.creates() == creates
    # Said once, it is this ledger's campaign as well.
    assert other.run(sheet, "--new-campaign").status == 0
    assert "nothing to do, 0 credits" in other.run(sheet).err


def test_a_ledger_that_is_gone_is_named(one: Desk, name: str) -> None:
    moved(one, "sheets").sheet(f"{name}.csv", simple_sheet(1))
    one.run(f"../sheets/{name}.csv")
    shutil.rmtree(one.folder / ".callsheet")
    planned = moved(one, "two").call("plan", f"../sheets/{name}.csv")
    assert planned.status == 0
    assert f"was last run with the ledger sqlite:///{one.folder}/.callsheet" in planned.err
    assert "which is gone" in planned.err


def test_a_campaign_of_another_folder_is_told_where_it_is(one: Desk, name: str) -> None:
    assert one.run(one.sheet(f"{name}.csv", simple_sheet(1))).status == 0
    empty, other = moved(one, "empty"), moved(one, "two")
    other.run(other.sheet(f"{name}-2.csv", simple_sheet(1, title="Other")))
    asked = [
        (empty, ("status", name)),
        (empty, ("rows", f"../one/{name}.csv")),
        (other, ("explain", name, "r001")),
        (other, ("retake", name, "r001", "--yes")),
    ]
    for place, words in asked:
        lost = place.call(*words)
        assert lost.status == 2, words
        told = re.search(rf"{name} is in another ledger: `cd ([^`]*)`", lost.err)
        assert told is not None, lost.err
        there = [name if word.endswith(".csv") else word for word in words]
        assert replace(one, folder=Path(told[1])).call(*there).status == 0
    assert not (empty.folder / ".callsheet").exists()
    assert "another ledger" not in other.call("status", "nobody").err
    assert f"did you mean {name}?" in one.call("status", f"{name}.csv").err


def test_a_check_names_the_campaign_that_a_run_goes_on_with(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    assert desk.call("check", sheet, "--json").json["campaign"] == name
    assert desk.run(sheet, "--campaign", f"{name}-autumn").status == 0
    checked, planned = (desk.call(word, sheet, "--json") for word in ("check", "plan"))
    assert checked.json["campaign"] == planned.json["campaign"] == f"{name}-autumn"
    assert "as in its last run" in checked.err
