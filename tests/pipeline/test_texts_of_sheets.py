"""Texts of a sheet pass for no line of Callsheet's own, wherever they are printed, sent or written.

A title, a tag or a cell with a line break could begin a line that reads as another row, a total or
a command of a CI service; a control character could turn the rest of a line round.
"""

from __future__ import annotations

import csv
import io
import time
import tomllib
from pathlib import Path

import pytest

from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.notices import digest
from tests.hearing_of_nights import mailbox
from tests.pipeline.nights import Nights
from tests.programs import Desk, Sandbox, simple_sheet

pytestmark = pytest.mark.merge

#: Begins a line of its own after every kind of line break, in the middle of a text.
FORGED = ("::error::forged", "1 video for 12 credits", "https://evil.example/approve")


BREAKS = ("\n", "\r\n", "\r", "\x85", "\u2028", "\u2029")


CONTROLS = frozenset("\r\x85\u2028\u2029\x9b\u202e\u2066")


LINES = "".join(f"{end}{words}" for words in FORGED for end in BREAKS)


TITLE = f"Kettle{LINES}\x9b31m\u202ered"


HEADER = "id,tool,fields.product,title,duration_seconds,aspect_ratio,max_credits,tags,x_brand,notes"


def sheet(*rows: tuple[str, str, str]) -> str:
    """Return a CSV of rows: id, aspect ratio, limit."""
    out = io.StringIO(newline="")
    more = (f"red\r\n{FORGED[0]}", f"Acme\n{FORGED[0]}", f"a note\n{FORGED[1]}")
    lines = [
        (id, "product-launch", f"Kettle {id}", f"{TITLE} {id}", "5", ratio, limit, *more)
        for id, ratio, limit in rows
    ]
    csv.writer(out).writerows([HEADER.split(","), *lines])
    return out.getvalue()


def forged(text: str) -> list[str]:
    """Return what reads as another line than it is, and control characters."""
    lines = [line for line in text.split("\n") if line.strip("\"'| ").startswith(FORGED)]
    return [*lines, *sorted(set(text) & CONTROLS)]


def test_plans_rows_problems_and_reports_stay_on_their_lines(desk: Desk, name: str) -> None:
    file, broken = f"{name}.csv", desk.folder / "broken.csv"
    (desk.folder / file).write_text(sheet(("a", "9:16", "100"), ("b", "9:16", "1")), newline="")
    broken.write_text(sheet(("c", f"9:61\n{FORGED[0]}", "100")), newline="")

    turned = desk.folder / "turned.csv"
    turned.write_text("id,script\na\u202eb,Hello\n")
    refused = desk.call("check", turned.name)
    assert (refused.status, "invisible character U+202E" in refused.err) == (2, True)
    said = [
        desk.call("check", broken.name),
        desk.call("plan", file),
        desk.call("run", file, "--yes", "--without-prefect"),
        desk.call("rows", name),
        desk.call("explain", name, "b"),
        desk.call("retake", name, "a", "--because", "other"),
        desk.call("status"),
    ]
    exported = desk.folder / "rows.csv"
    assert desk.call("export", name, "-o", str(exported)).status == 0

    assert [forged(one.out + one.err) for one in said] == [[]] * len(said)
    assert "Kettle\u21b5::error::forged" in said[1].out
    (a, b) = csv.DictReader(exported.read_text("utf-8-sig").splitlines())
    assert forged("\n".join(map(str, [*a.values(), *b.values()]))) == []
    # What can be run as a sheet is not changed: another title would be paid for.
    status = next((desk.folder / "deliveries").rglob("status.csv")).read_bytes().decode("utf-8-sig")
    assert f"{FORGED[0]}\n{FORGED[0]}" in status.replace("\r\n", "\n")
    again = desk.call("plan", file, "--json")
    assert again.json["credits"]["total"] == 0


async def test_mails_and_reports_of_a_night_stay_on_their_lines(
    tmp_path: Path, service: Sandbox, name: str
) -> None:
    nights = Nights(tmp_path, service, name)
    nights.put("made", sheet(("a", "9:16", "100"), ("b", "9:16", "1")))
    nights.put("asks", sheet(*((row, "16:9", "100") for row in "cde")))
    nights.put("bad", sheet(("f", f"9:61\n{FORGED[0]}", "100")))
    with mailbox() as box:
        nights.terms = {"per_sheet": 30, "notify": (box.address(),)}
        night = await nights.sweep()
        async with await open_ledger(nights.settings.ledger) as ledger:
            about = {"report": night, "clock": time.time}
            await digest(ledger, nights.settings, [nights.inbox()], **about)
        (mail,) = box.letters
    assert [one.outcome for one in night.sheets] == ["not-approved", "invalid", "needs-person"]
    text = mail.get_body(("plain",)).get_content()
    assert "b, Kettle\u21b5::error::forged" in text
    reports = [path.read_text("utf-8-sig") for path in nights.path.glob("*.report.csv")]
    assert len(reports) == 3
    assert [forged(one.replace("\r\n", "\n")) for one in (text, *reports)] == [[]] * 4


NOTE = "is not UTF-8 and was read as Windows-1252"


@pytest.mark.always
def test_every_command_on_a_sheet_says_its_notes_once(desk: Desk, name: str) -> None:
    sheet = f"{name}.csv"
    (desk.folder / sheet).write_bytes(simple_sheet(1).replace("Video", "Fïlm").encode("cp1252"))

    said = [desk.call(*words, "--json") for words in (("check", sheet), ("plan", sheet))]
    run = desk.run(sheet)

    assert [one.err.count(f"note {name}.csv {NOTE}") for one in (*said, run)] == [1, 1, 1]
    assert [NOTE in " ".join(one.json["notes"]) for one in said] == [True, True]


ONE = "id,tool,fields.product,Headline,Claim\n" + "".join(
    f"r{n},product-launch,Kettle,Kettle {n},Boils in {n}\n" for n in (1, 2)
)


#: The same headers, with which somebody else means other columns.
TWO = ONE.replace("Kettle,Kettle", "Pot,Pot")


MAPS = {"m1.csv": ("Headline=title", "Claim=x_claim"), "m2.csv": ("Headline=x_head", "Claim=title")}


def words_of(maps: tuple[str, ...]) -> list[str]:
    return [word for one in maps for word in ("--map", one)]


@pytest.mark.safeguard(
    "tasks/sheet/synonyms.py",
    "fits[0] if fits else None)",
    "self._answers[-1] if self._answers else None)",
)
@pytest.mark.always
def test_an_answer_is_of_the_sheets_with_these_headers_and_the_first_one_holds(
    desk: Desk, name: str
) -> None:
    one, two = desk.sheet(f"{name}.csv", ONE), desk.sheet("m2.csv", TWO)
    desk.sheet("m3.csv", ONE.replace("Claim", "Claim,Brief").replace("Boils", "Boils,Boils"))
    (desk.folder / "columns.toml").write_text('[columns]\n"Brief" = "notes"\n')
    assert desk.call("check", one, *words_of(MAPS["m1.csv"])).status == 0
    assert desk.run(one).status == 0
    charged = desk.call("status", name, "--json").json["credits"]["charged"]

    # Somebody says something else of the same headers.
    assert desk.call("check", two, *words_of(MAPS["m2.csv"])).status == 0
    again = desk.run(one)
    assert "nothing to do, 0 credits" in again.err
    assert desk.call("status", name, "--json").json["credits"]["charged"] == charged
    # Each of them is read as it was said of it; another one with these headers as the first.
    assert desk.call("check", one).status == 0
    said = desk.call("check", two, "--json").json["columns"]
    assert {one["header"]: one["column"] for one in said}["Claim"] == "title"
    (desk.folder / "m4.csv").write_text(ONE)
    said = desk.call("check", "m4.csv", "--json").json["columns"]
    assert {one["header"]: one["column"] for one in said}["Headline"] == "title"
    # A sheet with other headers is asked about, and what a person wrote by hand is kept.
    asked = desk.call("check", "m3.csv", "--json")
    assert (asked.status, "m3.csv has 2 columns to confirm; " in asked.err) == (2, True)
    assert asked.json["remedy"].endswith("--map Headline=title --map Claim=x_claim")
    written = tomllib.loads((desk.folder / "columns.toml").read_text())
    assert written["columns"] == {"Brief": "notes"}


@pytest.mark.safeguard("tasks/campaign/steps.py", 'if one.what == "columns"):', "if False):")
def test_a_known_sheet_that_is_read_in_another_way_is_asked_about_before_anything_is_spent(
    desk: Desk, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", ONE)
    first, other = (words_of(maps) for maps in MAPS.values())
    assert desk.run(sheet, *first).status == 0
    before = desk.rows(name)

    # --yes is a word on credits, and a refused run changes neither the ledger nor what comes next.
    refused = desk.run(sheet, *other)
    assert refused.status == 4, refused.err
    assert 'is read differently than before: "Kettle 1" of row r1 was title and is' in refused.err
    assert "callsheet plan" in refused.err.split("look at the plan and run that:")[1]
    assert desk.run(sheet, *other).status == 4
    assert desk.rows(name) == before
    assert "nothing to do, 0 credits" in desk.run(sheet, *first).err

    # A person who sees the plan may want just that.
    planned = desk.call("plan", sheet, *other, "-o", "plan.json", "--json")
    assert any("differently" in one["words"] for one in planned.json["changes"])
    ended = desk.call("run", "--plan", "plan.json", "--yes", "--json", "--without-prefect")
    made = {(row["state"], row["take"]) for row in desk.rows(name).values()}
    assert (ended.status, made) == (0, {("delivered", 2)}), ended.err
    # Cells that a person changes are no other way of reading.
    desk.sheet(sheet, ONE.replace("Boils in 1", "Boils in one"))
    assert desk.run(sheet, *other).status == 0


@pytest.mark.safeguard(
    "tasks/campaign/changes.py",
    "dict(brief.cells))) is None:\n                return",
    "dict(brief.cells))) is None:\n                continue",
)
def test_rows_of_which_one_has_a_new_text_were_edited_and_ask_nothing(
    desk: Desk, name: str
) -> None:
    first = words_of(MAPS["m1.csv"])
    assert desk.run(desk.sheet(f"{name}.csv", ONE), *first).status == 0
    swapped = ONE.replace("Kettle 1,Boils in 1", "Boils in 1,Kettle 1")

    ended = desk.run(desk.sheet(f"{name}.csv", swapped.replace("Kettle 2", "Kettle II")), *first)

    assert ended.status == 0, ended.err
    assert {row["take"] for row in desk.rows(name).values()} == {2}
