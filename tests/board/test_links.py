"""Guest links: what they open, what they do not, and when they end."""

from __future__ import annotations

import io
import re
import struct
import time
import zlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from PIL import Image

from callsheet.deployments.at import At
from callsheet.deployments.board.reminders import remind
from callsheet.tasks.aftercare.retake import plan_retakes
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.ledger.campaigns import ensure_campaign
from callsheet.tasks.ledger.people import Person
from callsheet.tasks.ledger.sessions import Link
from callsheet.tasks.runtime.errors import NoSuch
from tests.board.conftest import OpenBoard, board_at
from tests.board.with_videos import with_videos
from tests.hearing_of_nights import mailbox


@pytest.fixture(autouse=True)
async def campaigns(open_board: OpenBoard) -> None:
    for name in ("spring", "autumn"):
        await open_board.ledger.write(
            ensure_campaign, name=name, sheet="s.csv", sheet_digest="0", at=0.0
        )


async def test_a_link_opens_more_than_once_until_it_is_ended(open_board: OpenBoard) -> None:
    made = await open_board.link("decide")
    _, mara = [await open_board.guest(made["address"]) for _ in range(2)]
    (listed,) = (await open_board.admin.get("/api/v1/links?campaign=spring")).json()["links"]
    assert (listed["name"], listed["rights"]) == ("Mara", ["decide", "see"])
    assert "address" not in listed
    assert (await open_board.admin.get("/api/v1/links?campaign=autumn")).json() == {"links": []}

    ended = await open_board.admin.delete(f"/api/v1/links/{made['link']}")

    assert ended.json() == {"revoked": True}
    assert (await open_board.nobody.get(made["address"])).status_code == 401
    assert (await mara.get("/")).headers["location"] == "/login?next=/"
    # It is for a campaign there is.
    wanted = {"campaign": "winter", "name": "Mara"}
    assert (await open_board.admin.post("/api/v1/links", json=wanted)).status_code == 422


NOTE = "the old logo, ask legal"
REVIEW = "/api/v1/campaigns/spring/rows/{}/review"
VIDEOS = "/c/spring/videos"


@pytest.mark.safeguard(
    "deployments/board/videos.py",
    "return row.review if self.is_inside else shown_to(self.board.who, row.client)",
    "return row.review",
)
@pytest.mark.merge
@pytest.mark.parametrize("rights", [["see"], ["decide", "download"]])
async def test_a_guest_sees_nothing_internal(rights: list[str], open_board: OpenBoard) -> None:
    await reviewed_by_rita(open_board)
    made = await open_board.link(*rights, all_videos=True)
    mara = await open_board.guest(made["address"])

    pages = [(await mara.get(f"{VIDEOS}{more}")).text for more in ("", "?open=row-1")]
    pages += [(await mara.get(f"{VIDEOS}?open=row-1", headers={"hx-request": "1"})).text]

    inside = (await (await open_board.form("viewer")).get(f"{VIDEOS}?open=row-1")).text
    for secret in ("Rita", NOTE, "off-message", "credits", "copper", "What was asked for"):
        assert secret in inside, secret
        assert not any(secret in page for page in pages), secret
    assert all("Made with AI" in page for page in (*pages, inside))


@pytest.mark.safeguard(
    "tasks/aftercare/guests.py", "if not found or (take not in", "if False and (take not in"
)
@pytest.mark.safeguard("deployments/board/api/videos.py", "which = within(person, which)", "")
@pytest.mark.safeguard(
    "tasks/aftercare/guests.py",
    'review = None if person.guest.all_videos else "keep"',
    'review = which.words("review")',
)
async def test_a_guest_sees_what_the_team_keeps_and_no_other_video(open_board: OpenBoard) -> None:
    """By no address: neither page nor file nor verdict nor ZIP."""
    await reviewed_by_rita(open_board)
    mara = await open_board.guest((await open_board.link("decide", "download"))["address"])
    json = {"accept": "application/json"}

    for page in ("", "?review=reject", "?review=none", "?row=row-1"):
        assert "spring/row-1/" not in (await mara.get(f"{VIDEOS}{page}")).text, page
    for name in ("1.mp4", "1.vtt", "1.jpg", "1.mp4?download"):
        assert (await mara.get(f"/api/v1/videos/spring/row-1/{name}")).status_code == 404, name
    assert (await mara.get(f"{VIDEOS}?open=row-1")).status_code == 404
    asked = {"take": 1, "verdict": "keep"}
    refused = await mara.post(REVIEW.format("row-1"), json=asked, headers=json)
    given = await mara.post(REVIEW.format("row-2"), json=asked, headers=json)
    answer = await mara.get("/api/v1/campaigns/spring/videos.zip")
    with ZipFile(io.BytesIO(answer.content)) as archive:
        status = archive.read("spring/status.csv").decode()
    assert [name for name in ("row-1", "row-2", "row-3") if name in status] == ["row-2"]
    assert status.startswith("\ufeffrow,title,take,review,ai_generated,ai_mark,")
    every = {"verdict": "reject", "all": "yes", "view": "review=reject"}
    await mara.post(f"{VIDEOS}/verdicts", data=every)

    assert (refused.status_code, given.status_code) == (404, 200)
    rows = [await row(open_board, name) for name in ("row-1", "row-2", "row-3")]
    assert [one.get("client_review") for one in rows] == [None, "keep", None]


async def test_what_a_client_says_stands_beside_what_the_team_says(open_board: OpenBoard) -> None:
    await reviewed_by_rita(open_board)
    made = await open_board.link("decide")
    mara = await open_board.guest(made["address"])

    asked = {"take": 1, "verdict": "reject", "reason": "brand", "note": "0:01 the old logo"}
    answer = await mara.post(REVIEW.format("row-2"), json=asked)

    who = f"Mia, Mara (link {made['link']})"
    assert (answer.json()["by"], answer.json()["note"]) == ("Mia, Mara", asked["note"])
    found = await row(open_board, "row-2")
    assert (found["review"], found["reviewed_by"]) == ("keep", "Rita")
    said = [found[f"client_{name}"] for name in ("review", "reason", "note", "by")]
    assert said == ["reject", "brand", "0:01 the old logo", who]
    viewer = await open_board.form("viewer")
    page = (await viewer.get(f"{VIDEOS}?client=reject")).text
    assert "client rejected: brand" in page
    # Each change of mind stays in the row's history, as the client's.
    for verdict, before in (("keep", "reject"), ("reject", "keep")):
        changed = asked | {"verdict": verdict, "instead_of": before}
        assert (await mara.post(REVIEW.format("row-2"), json=changed)).status_code == 200
    history = (await viewer.get("/c/spring/rows/row-2")).text.partition("History")[2]
    said = re.findall(r"client: (\w+)<", history)
    assert said == ["rejected", "kept", "rejected"]
    assert (
        '<button type="button" class="moment" data-seconds="1">0:01</button> the old logo' in page
    )
    again = RunOptions(campaign="spring", rows=("row-2",), even_kept=True)
    (line,) = (await open_board.ledger.read(plan_retakes, ask=again)).lines
    assert line.why == f"kept by Rita; by the client: rejected by {who}: brand: 0:01 the old logo"


@pytest.mark.safeguard(
    "tasks/aftercare/guests.py",
    "return replace(review, by=OTHER, reason=None, note=None)",
    "return review",
)
async def test_the_second_guest_learns_what_the_first_decided_and_not_why(
    open_board: OpenBoard,
) -> None:
    await reviewed_by_rita(open_board)
    first, second = [
        await open_board.guest((await open_board.link("decide", name=name))["address"])
        for name in ("Mara", "Noor")
    ]
    json = {"accept": "application/json"}
    path, asked = REVIEW.format("row-2"), {"take": 1, "verdict": "reject", "note": NOTE}

    await first.post(path, json=asked, headers=json)
    other = await second.post(path, json={"take": 1, "verdict": "keep"}, headers=json)
    named = {"take": 1, "verdict": "keep", "instead_of": "reject"}
    replaced = await second.post(path, json=named, headers=json)

    assert (other.status_code, replaced.status_code) == (409, 200)
    for words in (NOTE, "Mara", "Rita"):
        assert words not in other.text
    assert (await row(open_board, "row-2"))["client_review"] == "keep"


async def test_who_decides_says_who_they_are(open_board: OpenBoard) -> None:
    made = await open_board.link("decide")
    browser = await open_board.client(headers={"origin": open_board.origin, "accept": "text/html"})
    door = await browser.get(made["address"])
    code = made["address"].partition("code=")[2]

    for called in ("", "  ", "Mia (link 7)", "x" * 100):
        refused = await browser.post("/login", data={"token": code, "called": called})
        assert refused.status_code == 422, called
        assert 'role="alert"' in refused.text
        assert code in refused.text

    assert 'name="called" required' in door.text
    await open_board.guest(made["address"])


async def test_a_link_says_until_when_to_decide(open_board: OpenBoard) -> None:
    await reviewed_by_rita(open_board)
    day = datetime.fromtimestamp(time.time() + 3 * 86400, UTC).date()
    made = await open_board.link("decide", due=f"{day}")
    mara = await open_board.guest(made["address"])

    assert made["due_at"].startswith(f"{day + timedelta(days=1)}T00:00:00")
    assert "Please decide by <time" in (await mara.get(VIDEOS)).text
    for day_said in ("2001-01-01", f"{day + timedelta(days=300)}", "tomorrow"):
        wanted = {"campaign": "spring", "name": "Mara", "due": day_said}
        assert (await open_board.admin.post("/api/v1/links", json=wanted)).status_code == 422


@pytest.mark.merge
async def test_the_team_is_told_a_day_before_who_has_not_decided(open_board: OpenBoard) -> None:
    await reviewed_by_rita(open_board)
    day = datetime.fromtimestamp(time.time() + 86400, UTC).date()
    made = await open_board.link("decide", due=f"{day}")
    await open_board.link(name="Only looks", due=f"{day}")
    mara = await open_board.guest(made["address"])
    due = datetime.fromisoformat(made["due_at"]).timestamp()
    sent = []
    with mailbox() as box:
        browser = await open_board.form("admin")
        given = {"name": "Team", "address": box.address("team@example.com")}
        await browser.post("/settings/notices", data=given)
        for at in (due - 90000, due - 80000, due - 70000, due + 1):
            await remind(replace(open_board.board, clock=lambda at=at: at))
            sent.append(len(box.letters))
        (letter,) = box.letters
    assert sent == [0, 1, 1, 1]
    assert letter["subject"] == "Mara has 1 video of spring left to decide"
    assert "/c/spring/videos" in letter.get_body(("plain",)).get_content()

    # Who has decided is left alone.
    await mara.post(REVIEW.format("row-2"), json={"take": 1, "verdict": "keep"})
    await open_board.link("decide", name="Mia", due=f"{day}")
    with mailbox() as box:
        given = {"name": "Other", "address": box.address("other@example.com")}
        await browser.post("/settings/notices", data=given)
        await remind(replace(open_board.board, clock=lambda: due - 60000))
    assert box.letters == []


@pytest.mark.safeguard(
    "deployments/board/videos.py",
    "which=RowFilter() if self.is_inside else within(self.board.who, VIDEOS),",
    "which=RowFilter(),",
)
@pytest.mark.safeguard(
    "tasks/ledger/row_filter.py",
    "return _joined((*terms, *([reduce(_common, ids)] if ids else [])))",
    "return _joined((*terms, *ids))",
)
@pytest.mark.safeguard(
    "tasks/aftercare/guests.py",
    "return shown & RowFilter.parse(person.guest.selection)",
    "return shown",
)
async def test_a_link_for_some_rows_shows_no_others(open_board: OpenBoard) -> None:
    """Whatever else a guest's address asks for: both must hold."""
    await with_videos(open_board.ledger, 4)
    made = await open_board.link(select="row-2, row-3,!tag:x", all_videos=True)
    assert made["selection"] == "row-2|row-3,!tag:x"
    mara = await open_board.guest(made["address"])
    seen = {"": [2, 3], "?row=row-1": [], "?row=row-1&row=row-2": [2], "?q=row-2": [2],
            "?q=part+3": [3], "?q=copper": [], "?tag=y": []}  # fmt: skip
    for asked, rows in seen.items():
        text = (await mara.get(VIDEOS + asked)).text
        assert [n for n in range(1, 5) if f"spring/row-{n}/" in text] == rows, asked
    assert (await mara.get("/api/v1/videos/spring/row-1/1.jpg")).status_code == 404
    menus = []
    for rows in ("row-2,row-3", "row-1,row-2"):
        made = await open_board.link(select=rows, all_videos=True)
        page = await (await open_board.guest(made["address"])).get(VIDEOS)
        menus.append('aria-label="Language"' in page.text)
    assert menus == [True, False], "a menu offers only what the link shows"
    people = (await (await open_board.form("admin")).get("/people?select=row-4")).text
    assert "rows <code>row-2|row-3,!tag:x</code>" in people
    assert 'name="select" value="row-4"' in people


@pytest.mark.parametrize("select", ["row-9", "state:done", "tag:none", "colour:red", ","])
async def test_a_link_is_for_rows_that_there_are(select: str, open_board: OpenBoard) -> None:
    await with_videos(open_board.ledger, 1)
    wanted = {"campaign": "spring", "name": "Mara", "select": select}
    answer = await open_board.admin.post("/api/v1/links", json=wanted)
    assert answer.status_code == 422, answer.text
    assert (await open_board.admin.get("/api/v1/links")).json() == {"links": []}


@pytest.mark.merge
async def test_a_link_shows_its_clients_logo_to_its_guest_alone(open_board: OpenBoard) -> None:
    await with_videos(open_board.ledger, 1)
    admin = await open_board.form("admin")
    form = {"campaign": "spring", "name": "Acme", "rights": ["see", "decide"]}
    drawn = io.BytesIO()
    Image.new("RGB", (960, 240), "navy").save(drawn, "JPEG")
    page = await admin.post("/people/links", data=form, files={"logo": ("l.jpg", drawn.getvalue())})
    address = re.search(r"http://[^<\"]+/login\?code=[^<\"]+", page.text)
    assert (page.status_code, bool(address)) == (201, True), page.text
    acme = await open_board.guest(address[0])
    other = await open_board.guest((await open_board.link())["address"])

    at = re.search(
        r'src="(/c/spring/videos/logo-\d+\.png)" alt="Acme"', (await acme.get(VIDEOS)).text
    )
    logo = await acme.get(at[1])
    assert Image.open(io.BytesIO(logo.content)).size == (480, 120)
    assert "/logo-" not in (await other.get(VIDEOS)).text
    for stranger in (other, open_board.admin):
        assert (await stranger.get(at[1])).status_code == 404
    huge = b"\x89PNG\r\n\x1a\n" + chunk(
        b"IHDR", struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    )
    for bad in (b"<svg onload=alert(1)>", drawn.getvalue()[:20], huge):
        refused = await admin.post("/people/links", data=form, files={"logo": ("l.png", bad)})
        assert (refused.status_code, "cannot be read as a picture" in refused.text) == (422, True)
    assert len((await open_board.admin.get("/api/v1/links")).json()["links"]) == 2


def chunk(kind: bytes, data: bytes) -> bytes:
    """A part of a PNG."""
    whole = kind + data
    return struct.pack(">I", len(data)) + whole + struct.pack(">I", zlib.crc32(whole))


async def row(open_board: OpenBoard, name: str) -> dict[str, Any]:
    return dict((await open_board.viewer.get(f"/api/v1/campaigns/spring/rows/{name}")).json())


async def reviewed_by_rita(open_board: OpenBoard) -> None:
    """Have three videos, of which she rejects the first and keeps the second."""
    await with_videos(open_board.ledger, 3)
    asked = {"take": 1, "verdict": "reject", "reason": "off-message", "note": NOTE}
    for name, said in (("row-1", asked), ("row-2", {"take": 1, "verdict": "keep"})):
        answer = await open_board.reviewer.post(REVIEW.format(name), json=said)
        assert answer.status_code == 200, answer.text


@pytest.mark.merge
@pytest.mark.parametrize(("rights", "status"), [(["see"], 403), (["download"], 404)])
async def test_a_link_downloads_where_it_may(
    rights: list[str], status: int, open_board: OpenBoard
) -> None:
    mara = await open_board.guest((await open_board.link(*rights))["address"])

    seen = await mara.get("/api/v1/videos/spring/r1/1.mp4")
    taken = await mara.get("/api/v1/videos/spring/r1/1.mp4?download")

    assert (seen.status_code, taken.status_code) == (404, status)


async def test_a_guest_learns_of_no_other_campaign(open_board: OpenBoard) -> None:
    link = Link(
        id=1, campaign="gone", name="Client", rights=frozenset({"see"}), made_by="Ada",
        made_at=0.0, expires_at=1.0, revoked_at=None,
    )  # fmt: skip
    at = At(settings=open_board.board.settings, ledger=open_board.ledger, person=link.guest())
    somebody = replace(at, person=Person(id=1, name="Ann", role="viewer"))

    with pytest.raises(NoSuch) as told:
        await at.campaign("gone")
    with pytest.raises(NoSuch) as known:
        await somebody.campaign("gone")

    assert "spring" not in f"{told.value} {told.value.remedy}"
    assert "spring" in str(known.value.remedy)


@pytest.mark.parametrize(("origin", "here"), [(None, True), ("https://board.example", False)])
async def test_an_address_says_whether_it_opens_elsewhere(
    origin: str | None, here: bool, tmp_path: Path
) -> None:
    how = {"behind_proxy": True} if origin else {}
    headers = {"x-forwarded-host": "board.example", "x-forwarded-proto": "https"} if origin else {}
    words = "This address opens on this machine only."
    async with board_at(tmp_path, **how) as opened:
        await opened.ledger.write(
            ensure_campaign, name="spring", sheet="s.csv", sheet_digest="0", at=0.0
        )
        wanted = {"campaign": "spring", "name": "Mara"}
        for path, sent in (("people", {"name": "Ben", "role": "viewer"}), ("links", wanted)):
            made = await opened.admin.post(f"/api/v1/{path}", json=sent, headers=headers)
            assert made.json()["here_only"] is here
        browser = await opened.client(
            headers={"accept": "text/html", "origin": origin or opened.origin, **headers}
        )
        await browser.post("/login", data={"token": opened.people["admin"].token})
        cookie = "; ".join(f"{one.name}={one.value}" for one in browser.cookies.jar)
        sent = {"name": "Zoe", "role": "viewer"}
        for path, form in (("invite", sent), ("links", wanted)):
            page = await browser.post(f"/people/{path}", data=form, headers={"cookie": cookie})
            assert page.status_code == 201
            assert (words in page.text) is here
