"""Owns the name of the operation that a request calls, known before any of it has run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.types import Scope

#: The sandbox's own doors: nothing goes wrong there.
OWN = "/_sandbox"


class Operation(NamedTuple):
    """What a request calls, and the id of the video in its path."""

    name: str
    video: str | None


class Operations:
    """The operations of all routers, in the order in which they are tried.

    A route counted under a name goes by that name; any other by its function's.
    """

    def __init__(self, routers: Sequence[APIRouter], names: Mapping[object, str]) -> None:
        self._routes = [
            (route.methods or set(), route.path_regex, _name(route, names))
            for router in routers
            for route in router.routes
            if isinstance(route, APIRoute) and not route.path.startswith(OWN)
        ]
        self.names = list(dict.fromkeys(name for _, _, name in self._routes))

    def of(self, scope: Scope) -> Operation | None:
        """Name what a request calls; None where there is no such route."""
        for methods, path, name in self._routes:
            found: re.Match[str] | None = path.match(scope["path"])
            if found is not None and scope["method"] in methods:
                said = found.groupdict()
                return Operation(name, said.get("video_id") or said.get("name"))
        return None


def _name(route: APIRoute, names: Mapping[object, str]) -> str:
    counted = (names.get(depends.dependency) for depends in route.dependencies)
    return next((name for name in counted if name is not None), route.name)
