"""Each route takes the role that its table says, and shows and offers nothing to all others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import httpx
import pytest
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.routing import compile_path

from callsheet.deployments.board.api import videos
from callsheet.deployments.board.app import API, CALLS, PAGES
from callsheet.tasks.ledger.campaigns import ensure_campaign
from tests.board.conftest import OpenBoard
from tests.board.with_videos import with_videos

#: For anybody: to log in and out, and a probe; /metrics checks its token (`test_metrics.py`).
OPEN = {"GET /login", "POST /login", "POST /logout", "GET /live", "GET /metrics"}
#: What only reads, by the role or right that it takes.
LOOKS = {
    "at_least viewer": """
        GET /                    GET /activity                  GET /c/{campaign}
        GET /c/{campaign}/live   GET /c/{campaign}/attention    GET /c/{campaign}/rows/{row}
        GET /c/{campaign}/report GET /c/{campaign}/report/{what}.{form}
        GET /costs  GET /costs.csv  GET /health  GET /plans/{plan_id}
        GET API/activity  GET API/campaigns  GET API/campaigns/{campaign}
        GET API/campaigns/{campaign}/events  GET API/campaigns/{campaign}/rows
        GET API/campaigns/{campaign}/rows/{row}
        GET API/costs  GET API/health  GET API/me  GET API/plans/{plan}
        GET API/runs/{run}  GET API/unsettled-calls
    """,
    "at_least reviewer": """
        GET /c/{campaign}/changes  GET /new  GET /new/{sheet_id}/file
        GET API/campaigns/{campaign}/drift  GET API/sheets/inbox  GET API/sheets/{sheet}
    """,
    "at_least approver": "GET /c/{campaign}/prune  GET API/campaigns/{campaign}/prune",
    "at_least admin": "GET /people  GET /settings  GET API/links  GET API/people",
    "with_right see viewer": """
        GET /c/{campaign}/videos  GET /c/{campaign}/videos/logo-{link}.png
        GET /videos/{campaign}/{row}/{name}  HEAD /videos/{campaign}/{row}/{name}
        GET API/videos/{campaign}/{row}/{name}  HEAD API/videos/{campaign}/{row}/{name}
    """,
    "with_right download viewer": """
        GET /c/{campaign}/videos/zip  GET /campaigns/{campaign}/videos.zip
        GET API/campaigns/{campaign}/videos.zip
    """,
}
#: What changes something, by the role or right that it takes.
CHANGES = {
    "at_least reviewer": """
        POST /new  POST /new/{sheet_id}/all-rows  POST /new/{sheet_id}/all-rows/shown
        POST /new/{sheet_id}/cells  POST /new/{sheet_id}/columns
        POST /new/{sheet_id}/first-rows  POST /plans/{plan_id}/again  POST /plans/{plan_id}/rows
        POST /c/{campaign}/retakes
        POST API/campaigns/{campaign}/retakes  POST API/campaigns/{campaign}/reviews
        POST API/plans  POST API/sheets
    """,
    "at_least approver": """
        POST /c/{campaign}/again  POST /c/{campaign}/cancel  POST /c/{campaign}/carry-on
        POST /c/{campaign}/changes  POST /c/{campaign}/prune  POST /c/{campaign}/resume
        POST /c/{campaign}/rows/{row}/cancel  POST /c/{campaign}/rows/{row}/settle
        POST /plans/{plan_id}/approve
        POST API/campaigns/{campaign}/cancel  POST API/campaigns/{campaign}/carry-on
        POST API/campaigns/{campaign}/prune  POST API/campaigns/{campaign}/rows/{row}/resolve
        POST API/unsettled-calls/{call}  POST API/campaigns/{campaign}/repair
        POST API/plans/{plan}/approve  POST API/runs/{run}/carry-on
    """,
    "at_least admin": """
        POST /people/invite  POST /people/links  POST /people/links/revoke  POST /people/revoke
        POST /settings/inboxes/pause  POST /settings/inboxes/resume  POST /settings/inboxes/scan
        POST /settings/notices  POST /settings/notices/remove  POST /settings/notices/test
        POST /settings/set  DELETE API/links/{link}  DELETE API/people/{name}
        POST API/links  POST API/people
    """,
    "with_right decide reviewer": """
        POST /c/{campaign}/videos/verdicts  POST /c/{campaign}/videos/{row}/review
        POST API/campaigns/{campaign}/rows/{row}/review
    """,
}


def routes_in(table: dict[str, str]) -> dict[str, str]:
    """Return the role or right of each route that a table names."""
    return {
        f"{method} {path.replace('API', API)}": guard
        for guard, text in table.items()
        for method, path in zip(text.split()[::2], text.split()[1::2], strict=True)
    }


#: What a look is answered with that is not 200. Campaign spring has two videos; there are no plans,
#: runs or sheets, no API key to compare with the service by, and no row is chosen.
OTHERWISE = {"changes": 422, "drift": 422, "zip": 422, "file": 404, "{plan_id}": 404,
             "{plan}": 404, "{run}": 404, "{sheet}": 404, "logo-{link}.png": 404,
             "{name}": 404}  # fmt: skip
ANSWERS = {name: OTHERWISE.get(name.rpartition("/")[2], 200) for name in routes_in(LOOKS)}
TAKES = routes_in(LOOKS) | routes_in(CHANGES)
#: Pages fetch videos from the same routes as programs, without the prefix.
MOUNTED = [
    *(("", router) for router in (*PAGES, videos.router)),
    *((API, router) for router in CALLS),
]
ROUTES = {
    f"{method} {prefix}{route.path}": route
    for prefix, router in MOUNTED
    for route in router.routes
    if isinstance(route, APIRoute)
    for method in sorted(route.methods)
}
#: The lowest first.
ORDER = ("viewer", "reviewer", "approver", "admin")
#: What no refusal shows: a video's title, a guest and two people of the board.
INSIDE = ("Kettle", "Mara", "Vera", "Ada")
#: Something that a page offers to each of them, so that the search for offers finds some.
OFFERED = {
    "viewer": "GET /c/{campaign}/report",
    "reviewer": "POST /c/{campaign}/videos/{row}/review",
    "approver": "GET /c/{campaign}/prune",
    "admin": "POST /people/invite",
    "see": "GET /c/{campaign}/videos",
    "see+decide": "POST /c/{campaign}/videos/{row}/review",
    "see+download": "GET /c/{campaign}/videos/zip",
}


def guards(dependant: Dependant) -> Iterator[str]:
    """Yield the role or right that each dependency asks for, however deep it is."""
    for one in dependant.dependencies:
        made_by, _, _ = getattr(one.call, "__qualname__", "").partition(".<locals>")
        if made_by in ("at_least", "with_right"):
            cells = {cell.cell_contents for cell in one.call.__closure__ or ()}  # type: ignore[union-attr]
            yield f"{made_by} {' '.join(sorted(map(str, cells)))}"
        yield from guards(one)


def test_the_tables_name_every_route_once_and_no_other() -> None:
    assert sorted([*OPEN, *routes_in(LOOKS), *routes_in(CHANGES)]) == sorted(ROUTES)


@pytest.mark.safeguard(
    "deployments/board/pages/settings.py",
    "import Admin, Board, TheBoard",
    "import Approver as Admin, Board, TheBoard",
)
@pytest.mark.safeguard(
    "deployments/board/api/calls.py", "dependencies=[Depends(_who_may(one))],", ""
)
@pytest.mark.parametrize("name", sorted(ROUTES))
def test_a_route_takes_what_its_table_says(name: str) -> None:
    asked = set(guards(ROUTES[name].dependant))

    assert asked == ({TAKES[name]} if name not in OPEN else set())
    if any(one.startswith("with_right") for one in asked):
        assert "{campaign}" in name


def test_who_only_looks_changes_nothing() -> None:
    assert not any(name.startswith(("GET", "HEAD")) for name in routes_in(CHANGES))
    assert not any({"viewer", "see", "download"} & set(guard.split()) for guard in CHANGES)


def may(name: str, who: str) -> bool:
    """Return whether somebody may use a route of campaign spring, by its table."""
    kind, *words = TAKES[name].split()
    if who in ORDER:
        return ORDER.index(who) >= ORDER.index(words[-1])
    return kind == "with_right" and words[0] in who.split("+")


def address_of(name: str, campaign: str) -> tuple[str, str]:
    """Return the method and an address of a route; its plan, run, sheet or file does not exist."""
    method, _, path = name.partition(" ")
    given = {"campaign": campaign, "row": "row-1", "what": "rows", "form": "csv"}
    return method, re.sub(r"\{(\w+)\}", lambda found: given.get(found[1], "7"), path)


async def clients(open_board: OpenBoard) -> dict[str, httpx.AsyncClient]:
    """Return somebody of every kind: nobody, each role, and guests of spring with some rights."""
    ours = {"origin": open_board.origin}
    found = {role: open_board.clients[role] for role in ORDER}
    found["nobody"] = await open_board.client(headers=ours)
    for rights in ("see", "see+decide", "see+download"):
        made = await open_board.link(*rights.split("+"), all_videos=True)
        found[rights] = await open_board.client(headers=ours)
        await open_board.press(found[rights], made["address"], accept="*/*")
    return found


async def add_campaign(open_board: OpenBoard, name: str) -> None:
    """Add a campaign without rows."""
    await open_board.ledger.write(
        ensure_campaign, name=name, sheet="s.csv", sheet_digest="0", at=0.0
    )


async def ask(client: httpx.AsyncClient, name: str, campaign: str) -> tuple[int, str]:
    """Return the status and the text of an answer; a stream has no end, and no text here."""
    async with client.stream(*address_of(name, campaign)) as answer:
        if answer.headers.get("content-type", "").startswith("text/event-stream"):
            return answer.status_code, ""
        return answer.status_code, (await answer.aread()).decode(errors="replace")


PATTERNS = {name: compile_path(name.partition(" ")[2])[0] for name in sorted(TAKES)}


def routes_at(method: str, path: str) -> list[str]:
    """Return the routes of the tables that an address may belong to."""
    named = (name for name in PATTERNS if name.startswith(f"{method} "))
    return [name for name in named if PATTERNS[name].match(path)]


class Offers(HTMLParser):
    """What a page leads to: its links, and its buttons with the forms that they send."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._links: list[str] = []
        self._forms: dict[str, dict[str, str]] = {}
        self._buttons: list[dict[str, str]] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._links += [given[name] for name in ("href", "src", "hx-sse:connect") if name in given]
        if tag == "form":
            self._inside = given.get("id", f"form {len(self._forms)}")
            self._forms[self._inside] = given
        if tag == "button" and given.get("type", "submit") == "submit":
            self._buttons.append({"form": self._inside, **given})

    def handle_endtag(self, tag: str) -> None:
        self._inside = "" if tag == "form" else self._inside

    def routes(self) -> set[str]:
        """Return the routes of the tables that are led to."""
        asked = [("GET", link) for link in self._links]
        for button in self._buttons:
            # A button may send its form elsewhere, and by another method.
            form = self._forms.get(button["form"], {})
            method = button.get("formmethod", form.get("method", "get"))
            asked.append((method.upper(), button.get("formaction", form.get("action", ""))))
        found = ((method, address.partition("?")[0]) for method, address in asked)
        return {name for method, path in found for name in routes_at(method, path)}


@pytest.mark.merge
async def test_everybody_sees_and_is_offered_what_they_may(open_board: OpenBoard) -> None:
    await with_videos(open_board.ledger, 2)
    people, wrong, seen = await clients(open_board), [], ""
    offered: dict[str, set[str]] = {who: set() for who in people}
    for name, expected in sorted(ANSWERS.items()):
        for who, client in people.items():
            status, text = await ask(client, name, "spring")
            if may(name, who):
                offered[who] |= Offers(text).routes()
                seen += text
            elif any(word in text for word in INSIDE):
                wrong.append(f"{name} as {who}: {text}")
            refused = 401 if who == "nobody" else 403
            if status != (expected if may(name, who) else refused):
                wrong.append(f"{name} as {who}: {status}")

    assert not wrong
    # The refusals were searched for words that are there.
    assert [word for word in INSIDE if word not in seen] == []
    assert [(who, name) for who in people for name in offered[who] if not may(name, who)] == []
    assert [who for who, name in OFFERED.items() if name not in offered[who]] == []


async def test_a_guest_who_is_refused_is_led_back_to_the_videos(open_board: OpenBoard) -> None:
    await add_campaign(open_board, "spring")
    guest = (await clients(open_board))["see"]

    answer = await guest.get("/costs", headers={"accept": "text/html"})

    assert answer.status_code == 403
    assert "GET /c/{campaign}/videos" in Offers(answer.text).routes()
    assert [name for name in Offers(answer.text).routes() if not may(name, "see")] == []


@pytest.mark.merge
async def test_a_change_is_refused_to_all_but_whom_its_table_names(open_board: OpenBoard) -> None:
    await add_campaign(open_board, "spring")
    people, wrong = await clients(open_board), []
    for name in sorted(set(TAKES) - set(ANSWERS)):
        for who, client in people.items():
            status, _ = await ask(client, name, "spring")
            refused = 401 if who == "nobody" else 403
            fits = status not in (401, 403) if may(name, who) else status == refused
            if not fits or status >= 500:
                wrong.append(f"{name} as {who}: {status}")
    assert not wrong


@pytest.mark.safeguard(
    "deployments/board/board.py", "elif campaign != person.guest.campaign:", "elif False:"
)
@pytest.mark.merge
async def test_a_link_opens_no_other_campaign(open_board: OpenBoard) -> None:
    for campaign in ("spring", "autumn"):
        await add_campaign(open_board, campaign)
    people, wrong = await clients(open_board), []
    for name in sorted(name for name in TAKES if "{campaign}" in name):
        for who in ("see", "see+decide", "see+download"):
            status, text = await ask(people[who], name, "autumn")
            said = name.startswith("HEAD") or "your link opens the videos of one campaign" in text
            if status != 403 or not said:
                wrong.append(f"{name} as {who}: {status} {text}")
    assert not wrong
