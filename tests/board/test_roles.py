"""Every page and call says who may come, and refuses all others: each route, as each role."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import httpx
import pytest
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from callsheet.deployments.board.app import API, CALLS, PAGES
from callsheet.tasks.ledger.campaigns import ensure_campaign
from tests.board.conftest import OpenBoard

#: For anybody: to log in and out, and a probe; /metrics asks by itself (`test_metrics.py`).
OPEN = {"GET /login", "POST /login", "POST /logout", "GET /live", "GET /metrics"}
#: What may be done without a change of anything: asked for with GET by everybody who may look.
ROUTES = {
    f"{method} {route.path}": route
    for router in (*PAGES, *CALLS)
    for route in router.routes
    if isinstance(route, APIRoute)
    for method in sorted(route.methods)
}


def guards(dependant: Dependant) -> Iterator[str]:
    """Yield the role or right that each dependency asks for, however deep it is."""
    for one in dependant.dependencies:
        made_by, _, _ = getattr(one.call, "__qualname__", "").partition(".<locals>")
        if made_by in ("at_least", "with_right"):
            cells = {cell.cell_contents for cell in one.call.__closure__ or ()}  # type: ignore[union-attr]
            yield f"{made_by} {' '.join(sorted(map(str, cells)))}"
        yield from guards(one)


def test_there_are_many() -> None:
    assert len(ROUTES) > 40


@pytest.mark.parametrize("name", sorted(ROUTES))
def test_a_route_says_who_may_come(name: str) -> None:
    asked = list(guards(ROUTES[name].dependant))

    assert bool(asked) != (name in OPEN), asked
    if any(one.startswith("with_right") for one in asked):
        assert "{campaign}" in ROUTES[name].path or "{campaign:" in ROUTES[name].path


@pytest.mark.parametrize("name", sorted(set(ROUTES) - OPEN))
def test_what_changes_something_is_nothing_for_lookers(name: str) -> None:
    method, _, _ = name.partition(" ")
    asked = list(guards(ROUTES[name].dependant))

    if method not in ("GET", "HEAD"):
        assert "at_least viewer" not in asked
        assert not any("see" in one or "download" in one for one in asked)


#: What each role is called in a route, the lowest first.
ORDER = ("viewer", "reviewer", "approver", "admin")


def path_of(route: APIRoute, campaign: str) -> str:
    """Return an address of a route; what it names, but for the campaign, is nowhere."""
    path = re.sub(r"\{campaign(:path)?\}", campaign, route.path)
    prefix = API if route in API_ROUTES else ""
    return prefix + re.sub(r"\{[^}]+\}", "7", path)


API_ROUTES = [route for router in CALLS for route in router.routes]


def may(name: str, who: str, campaign: str) -> bool:
    """Whether somebody may come to a route, by what the route itself asks for."""
    for asked in guards(ROUTES[name].dependant):
        kind, *words = asked.split()
        role = next(word for word in words if word in ORDER)
        if who in ORDER:
            return ORDER.index(who) >= ORDER.index(role)
        right = next((word for word in words if word not in ORDER), None)
        return kind == "with_right" and campaign == "spring" and right in who.split("+")
    return True


async def clients(open_board: OpenBoard) -> dict[str, httpx.AsyncClient]:
    """Return somebody of every kind: nobody, each role, and guests with some rights each."""
    ours = {"origin": open_board.origin}
    found = {role: open_board.clients[role] for role in ORDER}
    found["nobody"] = await open_board.client(headers=ours)
    for rights in ("see", "see+decide", "see+download"):
        wanted = {"campaign": "spring", "name": "Mara", "rights": rights.split("+")}
        made = (await open_board.admin.post(f"{API}/links", json=wanted)).json()
        found[rights] = await open_board.client(headers=ours)
        await open_board.press(found[rights], made["address"], accept="*/*")
    return found


@pytest.mark.parametrize("campaign", ["spring", "autumn"])
async def test_every_route_lets_in_whom_it_names_and_refuses_all_others(
    campaign: str, open_board: OpenBoard
) -> None:
    for name in ("spring", "autumn"):
        await open_board.ledger.write(
            partial(ensure_campaign, name=name, sheet="s.csv", sheet_digest="0", at=0.0)
        )
    people, wrong = await clients(open_board), []
    for name in sorted(set(ROUTES) - OPEN):
        method, path = name.partition(" ")[0], path_of(ROUTES[name], campaign)
        for who, client in people.items():
            async with client.stream(method, path) as answer:
                status = answer.status_code
            expected = 401 if who == "nobody" else None if may(name, who, campaign) else 403
            fits = status == expected if expected else status not in (401, 403)
            if not fits or status >= 500:
                wrong.append(f"{name} as {who}: {status}")
    assert not wrong
