"""A sheet's name is not its identity: what was paid for under another is not made again unasked.

Every proof is in the sandbox's own charge log.
"""

from __future__ import annotations

import io
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from openpyxl import Workbook

from tests.programs import Desk, Finished, Sandbox, simple_sheet


def offered(ended: Finished, option: str) -> list[str]:
    """The words of the command in a message that has this option, to be pasted."""
    lines = [shlex.split(line) for line in ended.err.splitlines() if " callsheet " in f" {line}"]
    (found,) = [line for line in lines if option in line]
    return found[1:]


@pytest.fixture
def paid(desk: Desk, service: Sandbox, name: str) -> int:
    """A campaign with three videos, and how many creates there have been so far."""
    assert desk.run(desk.sheet(f"{name}.csv", simple_sheet(3))).status == 0
    return service.calls()["create"]


def test_a_renamed_sheet_is_not_paid_for_anew(
    desk: Desk, service: Sandbox, name: str, paid: int
) -> None:
    final = desk.sheet(f"{name}-final.csv", simple_sheet(3))

    planned = desk.call("plan", final, "--json")
    stopped = desk.run(final, "--budget", "99")
    known = desk.call("status", "--json").json["campaigns"]
    went_on = desk.call(*offered(stopped, name))
    later = desk.run(final)

    assert (planned.status, planned.json["exit"]) == (4, 4)
    assert planned.json["elsewhere"][0]["campaign"] == name
    assert stopped.status == 4
    assert f"campaign {name} already paid for 3 of 3 rows" in stopped.json["error"]
    assert "(45 credits)" in stopped.err
    # Nothing of it is left in the ledger.
    assert [one["campaign"] for one in known] == [name]
    assert (went_on.status, later.status) == (0, 0)
    # The answer is remembered: no option is needed any more.
    assert later.json["campaign"] == name
    assert "nothing to do, 0 credits" in later.err
    assert service.calls()["create"] == paid


@pytest.mark.merge
def test_a_copy_is_made_again_on_purpose_and_nobody_is_asked_twice(
    desk: Desk, service: Sandbox, name: str, paid: int
) -> None:
    final = desk.sheet(f"{name}-final.csv", simple_sheet(3))
    stopped = desk.run(final)
    # A try that is refused before anything is approved is no answer.
    broken = desk.run(final, "--new-campaign", "--budget", "1")
    unanswered = desk.run(final)
    again = desk.run(final, "--new-campaign")

    assert [one.status for one in (stopped, broken, unanswered, again)] == [4, 4, 4, 0]
    assert "--new-campaign" in offered(stopped, "--new-campaign")
    assert service.calls()["create"] == paid + 3
    assert desk.run(f"{name}.csv").json["campaign"] == name
    assert desk.run(final).json["campaign"] == f"{name}-final"
    assert service.calls()["create"] == paid + 3


@pytest.mark.merge
def test_a_few_rows_of_another_campaign_are_warned_of_once(
    desk: Desk, service: Sandbox, name: str, paid: int
) -> None:
    text = simple_sheet(7).replace("r002", "x2").replace("r003", "x3")
    mixed = desk.sheet(f"{name}-mixed.csv", text)

    first = desk.run(mixed)
    desk.sheet(f"{name}-mixed.csv", text.replace("x2", "r002"))
    second = desk.run(mixed)

    words = f"campaign {name} already paid for 1 of these rows (15 credits): a run makes it again"
    assert first.status == 0
    assert words in first.err
    assert second.status == 0
    assert "already paid for" not in second.err


@pytest.mark.merge
def test_another_clients_sheet_of_the_same_name_does_not_take_its_place(
    desk: Desk, service: Sandbox, name: str, paid: int
) -> None:
    before = desk.rows(name)
    folder = desk.folder / "Kunde B"
    folder.mkdir()
    other = f"{folder.name}/{name}.csv"
    desk.sheet(other, simple_sheet(2, title="Urlaub").replace("Kettle", "Beach"))

    stopped = desk.run(other)
    after = desk.rows(name)
    went_on = desk.call(*offered(stopped, "--campaign"))
    later = desk.run(other)

    assert stopped.status == 4
    assert "make 2 of its videos anew and retire 1 of its 3 rows" in stopped.json["error"]
    assert after == before == desk.rows(name)
    assert (went_on.status, later.status) == (0, 0)
    assert went_on.json["campaign"] == later.json["campaign"] == f"{name}-kunde-b"
    assert service.calls()["create"] == paid + 2


@pytest.mark.merge
def test_another_worksheet_is_another_campaign_unless_somebody_says_so(
    desk: Desk, service: Sandbox, name: str
) -> None:
    book = Workbook()
    for title, text in (("Mai", simple_sheet(1)), ("Juni", "id,topic,script\nx,Sea,The sea\n")):
        page = book.create_sheet(title)
        for line in text.splitlines():
            page.append(line.split(","))
    del book["Sheet"]
    made = io.BytesIO()
    book.save(made)
    (desk.folder / f"{name}.xlsx").write_bytes(made.getvalue())
    assert desk.run(f"{name}.xlsx", "--worksheet", "Mai").status == 0

    stopped = desk.run(f"{name}.xlsx", "--worksheet", "juni")
    moved = desk.call(*offered(stopped, "--same-campaign"))
    later = desk.run(f"{name}.xlsx", "--worksheet", "Juni")

    assert stopped.status == 4
    assert f"--campaign {name}-juni" in stopped.err
    assert moved.json["rows"] == later.json["rows"] == {"total": 2, "delivered": 1, "retired": 1}


@pytest.mark.merge
def test_a_sheet_that_moves_goes_on_without_a_question(
    desk: Desk, service: Sandbox, name: str, paid: int
) -> None:
    text = simple_sheet(3)
    for folder in ("checkout-1", "checkout-2"):
        (desk.folder / folder).mkdir()
        shutil.copy(desk.folder / f"{name}.csv", desk.folder / folder)
        assert desk.run(f"{folder}/{name}.csv").status == 0
        shutil.rmtree(desk.folder / folder)
    piped = desk.start(
        "run", "-", "--campaign", name, "--yes", "--without-prefect", stdin=subprocess.PIPE
    )
    _, err = piped.communicate(text, timeout=60)

    assert piped.returncode == 0, err
    assert Path(desk.folder / f"{name}.csv").exists()
    assert desk.run(f"{name}.csv").status == 0
    assert service.calls()["create"] == paid
