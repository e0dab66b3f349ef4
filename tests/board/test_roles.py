"""Every page and call says who may come, and those for outsiders which campaign it is about."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from deployments.board.app import CALLS, PAGES

#: For anybody: to log in and out, and a probe; /metrics asks by itself (`test_metrics.py`).
OPEN = {"GET /login", "POST /login", "POST /logout", "GET /live", "GET /metrics"}
#: What may be done without a change of anything: asked for with GET by everybody who may look.
ROUTES = {
    f"{method} {route.path}": route
    for module in (*PAGES, *CALLS)
    for route in module.router.routes
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
