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
#: What only reads: the role or right that it takes, and its answer to everybody who has that.
#: Campaign spring has two videos; there are no plans, runs or sheets.
LOOKS: dict[str, dict[str, int]] = {
    "at_least viewer": {
        "GET /": 200,
        "GET /activity": 200,
        "GET /c/{campaign}": 200,
        "GET /c/{campaign}/attention": 200,
        "GET /c/{campaign}/live": 200,
        "GET /c/{campaign}/report": 200,
        "GET /c/{campaign}/report/{what}.{form}": 200,
        "GET /c/{campaign}/rows/{row}": 200,
        "GET /costs": 200,
        "GET /costs.csv": 200,
        "GET /health": 200,
        "GET /plans/{plan_id}": 404,
        f"GET {API}/activity": 200,
        f"GET {API}/campaigns": 200,
        f"GET {API}/campaigns/{{campaign}}": 200,
        f"GET {API}/campaigns/{{campaign}}/events": 200,
        f"GET {API}/campaigns/{{campaign}}/rows": 200,
        f"GET {API}/campaigns/{{campaign}}/rows/{{row}}": 200,
        f"GET {API}/costs": 200,
        f"GET {API}/health": 200,
        f"GET {API}/me": 200,
        f"GET {API}/plans/{{plan}}": 404,
        f"GET {API}/runs/{{run}}": 404,
        f"GET {API}/unsettled-calls": 200,
    },
    "at_least reviewer": {
        # No API key is set, so nothing can be compared with the service.
        "GET /c/{campaign}/changes": 422,
        "GET /new": 200,
        "GET /new/{sheet_id}/file": 404,
        f"GET {API}/campaigns/{{campaign}}/drift": 422,
        f"GET {API}/sheets/inbox": 200,
        f"GET {API}/sheets/{{sheet}}": 404,
    },
    "at_least approver": {
        "GET /c/{campaign}/prune": 200,
        f"GET {API}/campaigns/{{campaign}}/prune": 200,
    },
    "at_least admin": {
        "GET /people": 200,
        "GET /settings": 200,
        f"GET {API}/links": 200,
        f"GET {API}/people": 200,
    },
    "with_right see viewer": {
        "GET /c/{campaign}/videos": 200,
        "GET /c/{campaign}/videos/logo-{link}.png": 404,
        "GET /videos/{campaign}/{row}/{name}": 404,
        "HEAD /videos/{campaign}/{row}/{name}": 404,
        f"GET {API}/videos/{{campaign}}/{{row}}/{{name}}": 404,
        f"HEAD {API}/videos/{{campaign}}/{{row}}/{{name}}": 404,
    },
    "with_right download viewer": {
        # No row is chosen.
        "GET /c/{campaign}/videos/zip": 422,
        "GET /campaigns/{campaign}/videos.zip": 200,
        f"GET {API}/campaigns/{{campaign}}/videos.zip": 200,
    },
}
#: What changes something, and the role or right that it takes.
CHANGES: dict[str, set[str]] = {
    "at_least reviewer": {
        "POST /new",
        "POST /new/{sheet_id}/all-rows",
        "POST /new/{sheet_id}/all-rows/shown",
        "POST /new/{sheet_id}/cells",
        "POST /new/{sheet_id}/columns",
        "POST /new/{sheet_id}/first-rows",
        "POST /plans/{plan_id}/again",
        "POST /plans/{plan_id}/rows",
        f"POST {API}/campaigns/{{campaign}}/retakes",
        f"POST {API}/campaigns/{{campaign}}/reviews",
        f"POST {API}/plans",
        f"POST {API}/sheets",
    },
    "at_least approver": {
        "POST /c/{campaign}/again",
        "POST /c/{campaign}/cancel",
        "POST /c/{campaign}/carry-on",
        "POST /c/{campaign}/changes",
        "POST /c/{campaign}/prune",
        "POST /c/{campaign}/resume",
        "POST /c/{campaign}/retakes",
        "POST /c/{campaign}/rows/{row}/cancel",
        "POST /c/{campaign}/rows/{row}/settle",
        "POST /plans/{plan_id}/approve",
        f"POST {API}/campaigns/{{campaign}}/cancel",
        f"POST {API}/campaigns/{{campaign}}/carry-on",
        f"POST {API}/campaigns/{{campaign}}/prune",
        f"POST {API}/campaigns/{{campaign}}/rows/{{row}}/resolve",
        f"POST {API}/unsettled-calls/{{call}}",
        f"POST {API}/campaigns/{{campaign}}/repair",
        f"POST {API}/plans/{{plan}}/approve",
        f"POST {API}/runs/{{run}}/carry-on",
    },
    "at_least admin": {
        "POST /people/invite",
        "POST /people/links",
        "POST /people/links/revoke",
        "POST /people/revoke",
        "POST /settings/inboxes/pause",
        "POST /settings/inboxes/resume",
        "POST /settings/inboxes/scan",
        "POST /settings/notices",
        "POST /settings/notices/remove",
        "POST /settings/notices/test",
        "POST /settings/set",
        f"DELETE {API}/links/{{link}}",
        f"DELETE {API}/people/{{name}}",
        f"POST {API}/links",
        f"POST {API}/people",
    },
    "with_right decide reviewer": {
        "POST /c/{campaign}/videos/verdicts",
        "POST /c/{campaign}/videos/{row}/review",
        f"POST {API}/campaigns/{{campaign}}/rows/{{row}}/review",
    },
}
ANSWERS = {name: status for looks in LOOKS.values() for name, status in looks.items()}
TAKES = {
    name: guard for table in (LOOKS, CHANGES) for guard, names in table.items() for name in names
}
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
    "approver": "POST /c/{campaign}/retakes",
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
    named = [*OPEN, *ANSWERS, *(name for names in CHANGES.values() for name in names)]

    assert sorted(named) == sorted(ROUTES)


@pytest.mark.parametrize("name", sorted(ROUTES))
def test_a_route_takes_what_its_table_says(name: str) -> None:
    asked = set(guards(ROUTES[name].dependant))

    assert asked == ({TAKES[name]} if name not in OPEN else set())
    if any(one.startswith("with_right") for one in asked):
        assert "{campaign}" in name


def test_who_only_looks_changes_nothing() -> None:
    assert not any(name.startswith(("GET", "HEAD")) for names in CHANGES.values() for name in names)
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
        wanted = {"campaign": "spring", "name": "Mara", "rights": rights.split("+")}
        wanted["all_videos"] = True
        made = (await open_board.admin.post(f"{API}/links", json=wanted)).json()
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
async def test_everybody_sees_what_they_may_and_no_offer_of_anything_else(
    open_board: OpenBoard,
) -> None:
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
