"""Which campaign a sheet is: judged by where it comes from, its rows, and what was paid for."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from callsheet.tasks.campaign.match import match_sheet, name_campaign, note_ledger
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.ledger.campaigns import ensure_campaign
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.values import State
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.sheet import Sheet
from callsheet.tasks.values.briefs import Brief, SheetOrigin, origin_of
from tests.campaigns import NOW, Stage, brief

OPTIONS = RunOptions(sheet="s.csv")
ROWS = [brief(f"r{n}", f"Video {n}") for n in range(4)]
#: Rows with other ids, and with the same ids for other videos.
STRANGE = [brief(f"x{n}", f"X {n}") for n in range(4)]
OTHER = [brief(one.row, f"Other {one.row}") for one in ROWS]


def sheet(*briefs: Brief, campaign: str = "spring", place: str | None = "/a/s.csv", **own) -> Sheet:
    origin = place and SheetOrigin(place=place, worksheet=own.pop("worksheet", None))
    return Sheet(
        campaign=campaign, address=place or "-", name="s.csv", digest="d" * 64, budget=None,
        briefs=briefs, columns=(), advice=(), origin=origin, **own,
    )  # fmt: skip


async def paid(ledger: Ledger, *briefs: Brief, name: str = "spring", place="/a/s.csv") -> Stage:
    """A campaign that was run from a place, all of it delivered."""
    origin = place and SheetOrigin(place=place)
    change = partial(ensure_campaign, name=name, sheet="s.csv", sheet_digest="d", at=NOW)
    stage = Stage(ledger, await ledger.write(change, origin=origin))
    await stage.sync(*briefs)
    for one in briefs:
        await stage.delivered(one.row)
    return stage


async def refusal(ledger: Ledger, found: Sheet, **said) -> str | None:
    match = await match_sheet(ledger, found, OPTIONS.but(**said))
    return None if match.refusal is None else f"{match.refusal}\n{match.refusal.remedy}"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (ROWS, "campaign spring already paid for 4 of 4 rows"),
        ([*ROWS[:2], brief("x", "X"), brief("y", "Y")], "already paid for 2 of 4 rows"),
        ([*ROWS, *(replace(one, row=f"s{one.row}") for one in ROWS)], "4 of 8 rows"),
        ([ROWS[0], brief("x", "X"), brief("y", "Y")], None),
        # The same videos under other ids, or other videos under the same ids: nothing is the same.
        ([replace(one, row=f"s{one.row}") for one in ROWS], None),
        (OTHER, None),
        ([*(replace(one, enabled=False) for one in ROWS), brief("x", "X")], None),
    ],
)
async def test_a_sheet_that_was_paid_for_under_another_name(ledger: Ledger, rows, words):
    await paid(ledger, *ROWS)
    found = await refusal(ledger, sheet(*rows, campaign="spring-2", place="/a/s2.csv"))
    assert (words is None) == (found is None)
    assert words is None or words in (found or "")
    assert found is None or ("(48 credits)" in found) == ("for 4" in words or words.startswith("4"))


@pytest.mark.parametrize(
    ("rows", "place", "goes_on"),
    [
        (ROWS, "/b/s.csv", True),
        (ROWS, None, True),
        (ROWS, "s3://sheets/s.csv", True),
        # Moved and edited, lengthened, or cut: still the same.
        ([*ROWS[:2], brief("r2", "New"), brief("r3", "New 2")], "/b/s.csv", True),
        ([*ROWS, *(brief(f"n{n}", f"New {n}") for n in range(20))], "/b/s.csv", True),
        (ROWS[:1], "/b/s.csv", True),
        # Somebody else's: other ids, or the same plain ids for other videos.
        (STRANGE, "/b/s.csv", False),
        (OTHER, "/b/s.csv", False),
        ([*ROWS[:1], *STRANGE], None, False),
        # The campaign's own file may become anything.
        (STRANGE, "/a/s.csv", True),
    ],
)
async def test_a_sheet_of_a_known_name_from_elsewhere(ledger: Ledger, rows, place, goes_on):
    await paid(ledger, *ROWS)
    found = sheet(*rows, place=place)
    assert (await refusal(ledger, found) is None) is goes_on
    match = await match_sheet(ledger, found, OPTIONS.but(same_campaign=True))
    assert (match.refusal, match.moved) == (None, not goes_on)


async def test_another_worksheet_is_another_sheet(ledger: Ledger):
    await paid(ledger, *ROWS, place="/a/book.xlsx")
    other = sheet(*OTHER, place="/a/book.xlsx", worksheet="Tabelle 2")
    words = await refusal(ledger, other)
    assert "make 4 of its videos anew" in (words or "")
    assert "--campaign spring-tabelle-2" in (words or "")
    await Stage.set(ledger, name="spring-tabelle-2")
    assert "--campaign spring-tabelle-2-2" in (await refusal(ledger, other) or "")


async def test_a_campaign_without_an_origin_is_its_last_sheet_s(ledger: Ledger):
    await paid(ledger, *ROWS, place=None)
    assert await refusal(ledger, replace(sheet(*STRANGE, place=None), address="s.csv")) is None
    assert "was made from s.csv" in (await refusal(ledger, sheet(*STRANGE, place="/b/s.csv")) or "")


@pytest.mark.safeguard(
    "tasks/ledger/campaigns.py",
    "return approved or has_paid(connection, campaign_id)",
    "return has_paid(connection, campaign_id)",
)
@pytest.mark.parametrize(
    ("state", "tried", "goes_on"),
    [
        ("quoted", True, True),
        ("approved", True, False),
        ("delivered", True, False),
        ("approved", False, False),
    ],
)
async def test_what_is_approved_for_one_service_is_not_approved_for_the_other(
    ledger: Ledger, state: State, *, tried: bool, goes_on: bool
):
    """What a sandbox was to make, and nothing of it was sent: nobody has said yes to paying."""
    change = partial(ensure_campaign, name="spring", sheet="s.csv", sheet_digest="d", at=NOW)
    stage = Stage(ledger, await ledger.write(change, sandbox=tried))
    await stage.sync(*ROWS)
    await stage.in_state(state, "r0")

    other = OPTIONS.but(sandbox=not tried)
    named = await name_campaign(ledger, sheet(*ROWS, named_after_file=True), other)
    refused = (await match_sheet(ledger, sheet(*ROWS), other)).refusal
    found = await ledger.write(change, sandbox=not tried)

    beside = "spring-real" if tried else "spring-sandbox"
    assert named.campaign == ("spring" if goes_on else beside)
    assert (refused is None) is goes_on
    assert found.sandbox is (not tried if goes_on else tried)


def test_where_a_sheet_comes_from(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here = str(tmp_path.resolve())
    assert origin_of("s.csv") == SheetOrigin(place=f"{here}/s.csv")
    assert origin_of(f"{here}/../{tmp_path.name}/s.csv") == origin_of("s.csv")
    assert origin_of("s3://b/s.csv", "One") == SheetOrigin(place="s3://b/s.csv", worksheet="One")
    assert (origin_of("-"), origin_of(None)) == (None, None)
    signed = "https://h.example/s.csv?X-Amz-Signature={}"
    assert origin_of(signed.format("one")) == origin_of(signed.format("two"))


@pytest.mark.safeguard(
    "tasks/ledger/database.py",
    "if name.lower() in SECRET_PARAMETERS]\n    return url.difference",
    "if not name]\n    return url.difference",
)
@pytest.mark.parametrize(
    "ledger",
    [
        "postgresql://me:canary-word@db.test/name",
        "postgresql://db.test/name?user=me&password=canary-word",
        "postgresql://db.test/name?sslmode=require&sslpassword=canary-word",
    ],
)
def test_the_note_of_a_run_holds_no_password_and_only_its_owner_reads_it(tmp_path, ledger):
    environ = {"CALLSHEET_LEDGER": ledger, "XDG_STATE_HOME": str(tmp_path)}
    settings = load_settings(environ=environ, folder=tmp_path)

    note_ledger(settings, sheet(*ROWS))

    (note,) = tmp_path.rglob("runs/*.json")
    assert "db.test/name" in note.read_text()
    assert "canary" not in note.read_text()
    assert note.stat().st_mode & 0o777 == 0o600
