"""Sheets are handed in: every problem has its place, limits hold, and nobody's network is asked."""

from __future__ import annotations

import asyncio
import csv
import time
from collections.abc import AsyncIterator
from functools import partial
from io import BytesIO
from pathlib import Path

import httpx
import pytest
from openpyxl import Workbook
from sqlalchemy import select, update

from callsheet.deployments.board.problem_details import MOST_PROBLEMS
from callsheet.deployments.board.sheet_reading import ReadingLimits, SheetReader
from callsheet.deployments.board.uploads import LIFETIME
from callsheet.tasks.ledger.plans import begin_plan, find_sheet
from callsheet.tasks.ledger.schema_runs import sheets
from callsheet.tasks.sheet import SheetOptions, parse_sheet
from callsheet.tasks.sheet.text import MAX_BYTES
from callsheet.tasks.sheet.web import is_public
from tests.board.conftest import OpenBoard, board_at
from tests.board.stage import API, hand_in
from tests.programs import simple_sheet
from tests.web import watcher

WRONG = simple_sheet(2).replace("Video 2,5,9:16", "Video 2,5,sideways")


async def test_a_good_sheet_says_what_it_is(open_board: OpenBoard) -> None:
    found = await hand_in(
        open_board.reviewer, "spring.csv", simple_sheet(3, columns=",notes", cells=",")
    )
    assert (found["campaign"], found["rows"], found["problems"]) == ("spring", 3, [])
    assert found["actions"] == {"make": 3}
    filled = {column["header"]: column["filled"] for column in found["columns"]}
    assert (filled["title"], filled["notes"]) == (3, 0)
    again = await open_board.reviewer.get(f"{API}/sheets/{found['sheet']}")
    assert again.json() == found
    pasted = {"name": "spring.csv", "text": simple_sheet(1)}
    answer = await open_board.reviewer.post(f"{API}/sheets", json=pasted)
    assert (answer.status_code, answer.json()["campaign"]) == (201, "spring")


async def test_a_campaign_that_is_only_planned_leads_to_its_plan(open_board: OpenBoard) -> None:
    browser = await open_board.form("reviewer")
    plan = await browser.post("/new", files={"sheet": ("spring.csv", b"id,script\na,Hello\n")})
    assert 'href="/c/spring"' in (await browser.get("/activity")).text
    assert (await browser.get("/c/spring")).url == plan.url


async def test_every_problem_has_its_line_and_column(open_board: OpenBoard) -> None:
    found = await hand_in(open_board.reviewer, "spring.csv", WRONG)
    (problem,) = found["problems"]
    assert (problem["line"], problem["column"], problem["row"]) == (3, "aspect_ratio", "r002")
    assert "sideways" in problem["words"]
    assert (found["campaign"], found["rows"], found["actions"]) == (None, 2, None)
    answer = await open_board.reviewer.post(f"{API}/plans", json={"sheet": found["sheet"]})
    assert (answer.status_code, answer.json()["problems"]) == (422, [problem])


PATHS = ("../../../etc/passwd.csv", "..\\..\\win.csv", "/etc/x.csv", "a\x00b.csv", "..", "x" * 300)


async def test_a_name_is_never_a_path(open_board: OpenBoard, tmp_path: Path) -> None:
    before = {path for path in tmp_path.rglob("*") if "board" not in path.parts}
    for name in PATHS:
        body = {"name": name, "text": simple_sheet(1)}
        answer = await open_board.reviewer.post(f"{API}/sheets", json=body)
        assert answer.status_code == 201, answer.text
        assert "/" not in answer.json()["name"]
    assert {path for path in tmp_path.rglob("*") if "board" not in path.parts} == before
    kept = (tmp_path / ".callsheet" / "board" / "sheets").rglob("*.*")
    assert all(path.resolve().is_relative_to(tmp_path) for path in kept)


async def test_a_sheet_that_is_too_large_is_not_read_to_its_end(open_board: OpenBoard) -> None:
    large = b"x" * (MAX_BYTES + 300_000)
    answer = await open_board.reviewer.post(f"{API}/sheets", files={"file": ("x.csv", large)})
    assert answer.status_code == 413
    read = 0

    async def without_end() -> AsyncIterator[bytes]:
        nonlocal read
        for _ in range(8 * MAX_BYTES // 65536):
            read += 65536
            yield b"x" * 65536

    headers = {"content-type": "application/json"}
    try:
        answer = await open_board.reviewer.post(
            f"{API}/sheets", content=without_end(), headers=headers
        )
        assert answer.status_code == 413
    except httpx.TransportError:
        # Nobody reads on: the rest cannot be sent.
        pass
    assert read < 8 * MAX_BYTES


async def test_a_sheet_points_to_no_file_here(open_board: OpenBoard, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("mav_secret")
    text = f"id,title,script\na,One,@{tmp_path / 'secret.txt'}\nb,Two,@sheet.csv\n"
    found = await hand_in(open_board.reviewer, "sheet.csv", text)
    assert len(found["problems"]) == 2
    assert all("only a sheet in a local folder" in one["words"] for one in found["problems"])


PRIVATE = (
    "http://127.0.0.1:{port}/s.csv", "https://127.0.0.1:{port}/s.csv",
    "https://localhost:{port}/s.csv", "https://[::1]:{port}/s.csv",
    "https://[::ffff:127.0.0.1]:{port}/s.csv", "https://0.0.0.0:{port}/s.csv",
    "https://2130706433:{port}/s.csv", "https://169.254.169.254/latest/meta-data",
    "https://10.0.0.1/s.csv", "file:///etc/passwd", "/etc/passwd", "s3://bucket/key.csv",
)  # fmt: skip


async def test_a_private_network_is_read_if_set(tmp_path: Path, open_board: OpenBoard) -> None:
    with watcher(answer=simple_sheet(1).encode()) as elsewhere:
        for address in PRIVATE:
            body = {"url": address.format(port=elsewhere.port)}
            answer = await open_board.reviewer.post(f"{API}/sheets", json=body)
            assert answer.status_code == 422, answer.text
        assert elsewhere.calls == []
        async with board_at(tmp_path, environ={"CALLSHEET_PRIVATE_SHEETS": "yes"}) as board:
            body = {"url": f"{elsewhere.url}/spring.csv"}
            answer = await board.reviewer.post(f"{API}/sheets", json=body)
            assert (answer.status_code, answer.json()["campaign"]) == (201, "spring")
            assert [call.path for call in elsewhere.calls] == ["/spring.csv"]


async def test_the_inbox_is_listed_and_nothing_else_is_taken(tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "spring.csv").write_text(simple_sheet(2))
    (inbox / "notes.doc").write_text("no sheet")
    (tmp_path / "outside.csv").write_text(simple_sheet(1))
    (inbox / "link.csv").symlink_to(tmp_path / "outside.csv")
    async with board_at(tmp_path, environ={"CALLSHEET_INBOX": str(inbox)}) as board:
        listed = (await board.reviewer.get(f"{API}/sheets/inbox")).json()
        assert [one["name"] for one in listed] == ["spring.csv"]
        answer = await board.reviewer.post(f"{API}/sheets", json={"inbox": "spring.csv"})
        assert (answer.status_code, answer.json()["rows"]) == (201, 2)
        for name in ("../outside.csv", "link.csv", str(tmp_path / "outside.csv")):
            refused = await board.reviewer.post(f"{API}/sheets", json={"inbox": name})
            assert refused.status_code == 404


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True), ("2606:2800:220:1::1", True),
        ("127.0.0.1", False), ("10.1.2.3", False), ("172.16.0.1", False), ("192.168.1.1", False),
        ("169.254.169.254", False), ("100.64.0.1", False), ("0.0.0.0", False), ("224.0.0.1", False),
        ("::1", False), ("fe80::1%eth0", False), ("fc00::1", False), ("::ffff:10.0.0.1", False),
        ("2002:0a00:0001::1", False), ("64:ff9b::a00:1", False),
        ("::7f00:1", False), ("::808:808", False), ("64:ff9b:1::808:808", False),
        ("fec0::1", False), ("192.0.0.8", False), ("192.0.0.9", False), ("64:ff9b::808:808", True),
        ("::ffff:192.0.0.9", False), ("192.0.1.1", True),
    ],
)  # fmt: skip
def test_an_address_is_public_or_not(address: str, public: bool) -> None:
    assert is_public(address) is public


async def test_an_upload_without_a_plan_has_a_lifetime(open_board: OpenBoard) -> None:
    text = simple_sheet(1)
    for name in ("old.csv", "planned.csv"):
        answer = await open_board.reviewer.post(f"{API}/sheets", json={"name": name, "text": text})
        if name == "planned.csv":
            plan = partial(begin_plan, kind="run", campaign="spring", terms={}, by="Rita", at=0.0)
            await open_board.ledger.write(plan, plan_id="p1", sheet_id=answer.json()["sheet"])
    long_ago = update(sheets).values(added_at=time.time() - LIFETIME - 60)
    await open_board.ledger.write(lambda connection: connection.execute(long_ago).rowcount)

    await open_board.reviewer.post(f"{API}/sheets", json={"name": "new.csv", "text": text})

    folder = open_board.board.settings.uploads
    assert {file.name for file in folder.rglob("*.csv")} == {"planned.csv", "new.csv"}
    named = select(sheets.c.name)
    kept = await open_board.ledger.read(lambda connection: set(connection.scalars(named)))
    assert kept == {"planned.csv", "new.csv"}


def _rows(count: int) -> str:
    return simple_sheet(count, title="A title that takes some room in the file of the sheet")


def _workbook(text: str) -> bytes:
    """Return a CSV as a workbook."""
    book = Workbook(write_only=True)
    sheet = book.create_sheet("Videos")
    for row in csv.reader(text.splitlines()):
        sheet.append(row)
    book.save(content := BytesIO())
    return content.getvalue()


@pytest.mark.merge
@pytest.mark.parametrize("name", ["large.csv", "large.xlsx"])
async def test_a_large_sheet_is_read_with_the_same_result(open_board: OpenBoard, name: str) -> None:
    made = str.encode if name.endswith(".csv") else _workbook
    content, wrong = made(_rows(3000)), made(_rows(3000).replace("\nr007,", "\nr006,"))
    assert len(content) > ReadingLimits().large
    seen = await hand_in(open_board.admin, name, content)
    assert (seen["rows"], seen["problems"], seen["actions"]) == (3000, [], {"make": 3000})
    kept = await open_board.ledger.read(find_sheet, sheet_id=seen["sheet"])
    board = open_board.board
    found = await board.reader.find(board.settings, kept, SheetOptions(), person=None)
    assert found.good() == parse_sheet(content, name=name, address=kept.place)

    refused = await hand_in(open_board.admin, f"wrong-{name}", wrong)
    assert [one["line"] for one in refused["problems"]] == [8]


@pytest.mark.merge
async def test_large_sheets_of_one_person_do_not_hold_up_others(open_board: OpenBoard) -> None:
    people = (open_board.admin, open_board.admin, open_board.approver)
    async with asyncio.TaskGroup() as group:
        uploads = [
            group.create_task(
                who.post(f"{API}/sheets", files={"file": ("large.csv", _rows(n).encode())})
            )
            for n, who in enumerate(people, start=1500)
        ]
    first, second, other = (upload.result() for upload in uploads)
    assert sorted([first.status_code, second.status_code]) == [201, 429]
    refused = max(first, second, key=lambda answer: answer.status_code)
    assert "1 large sheet of yours is being read" in refused.json()["detail"]
    assert other.status_code == 201


MIB = 1024**2


async def test_a_small_sheet_that_means_many_videos_is_read_as_a_large_one(tmp_path: Path) -> None:
    def titles(count: int) -> bytes:
        text = "|".join(f"Title {n}" for n in range(count))
        return f"id,matrix.title,topic,script\nr1,{text},T,Say this.\n".encode()

    limits = ReadingLimits(seconds=0.01)
    async with board_at(tmp_path, reader=SheetReader(limits)) as board:
        seen = await hand_in(board.admin, "many.csv", titles(limits.few + 1))
        fine = await hand_in(board.admin, "few.csv", titles(limits.few))
    assert ["longer than 0.01 seconds" in one["words"] for one in seen["problems"]] == [True]
    assert (fine["problems"], fine["rows"]) == ([], 1)


async def test_an_answer_lists_some_problems_and_counts_the_others(open_board: OpenBoard) -> None:
    text = "id,title,topic\n" + "".join(f"r{n},,T\n" for n in range(MOST_PROBLEMS + 100))
    seen = await hand_in(open_board.admin, "wrong.csv", text.encode())
    plan = await open_board.admin.post("/api/v1/plans", json={"sheet": seen["sheet"]})
    for found in (seen["problems"], plan.json()["problems"]):
        assert len(found) == MOST_PROBLEMS + 1
        assert found[-1]["words"].startswith("and ")
        assert found[-1]["words"].endswith("more problems")


@pytest.mark.merge
@pytest.mark.parametrize(
    ("name", "limits", "words"),
    [
        ("large.csv", ReadingLimits(seconds=0.01), "takes longer than 0.01 seconds"),
        ("large.csv", ReadingLimits(memory=64 * MIB), "takes more than 64 MiB of memory"),
        # There is memory to start, but not to unpack the workbook.
        ("large.xlsx", ReadingLimits(memory=150 * MIB), "takes more than 150 MiB of memory"),
    ],
)
async def test_too_much_is_given_up(
    tmp_path: Path, name: str, limits: ReadingLimits, words: str
) -> None:
    made = str.encode if name.endswith(".csv") else _workbook
    async with board_at(tmp_path, reader=SheetReader(limits)) as board:
        seen = await hand_in(board.admin, name, made(_rows(3000)))
    assert [one["words"].startswith(words) for one in seen["problems"]] == [True]


SPOKEN = "|".join(f"v{number}" for number in range(10_001))
MANY = f"id,script,matrix.voice_id\na,Run.,{SPOKEN}\n"


@pytest.mark.merge
async def test_programs_say_that_they_want_many(open_board: OpenBoard) -> None:
    who = open_board.reviewer
    found = await hand_in(who, "s.csv", MANY)
    assert "means 10,001 videos" in found["problems"][0]["words"]
    asked = {"sheet": found["sheet"]}
    assert (await who.post(f"{API}/plans", json=asked)).status_code == 422
    answer = await who.post(f"{API}/plans", json={**asked, "yes_many": True})
    assert answer.status_code == 202, answer.text
