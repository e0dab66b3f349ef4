"""The outermost layer: a planned fault meets the request it strikes, and spoils its answer."""

from __future__ import annotations

import gzip
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from email.utils import formatdate
from functools import partial
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from callsheet.deployments.sandbox.container import Container
from callsheet.deployments.sandbox.envelope import Refusal
from callsheet.deployments.sandbox.faults import struck
from callsheet.deployments.sandbox.faults.planned import Fault
from callsheet.deployments.sandbox.faults.struck import (
    Answer,
    StruckCall,
    again,
    answer_of,
    key_of,
    whole_body,
)

FROM = re.compile(rb"bytes=([0-9]+)-([0-9]*)")
HTML = """<!DOCTYPE html>
<html><head><title>{title}</title></head>
<body><center><h1>{title}</h1></center><hr><center>proxy</center></body></html>
"""
XML = """<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>
"""
#: Code, words and whether it is worth repeating, where a fault says nothing of them.
USUAL: Mapping[int, tuple[str, str, bool]] = {
    401: ("unauthorized", "The API key is not valid: it was revoked.", False),
    402: ("insufficient_credits", "There are not enough credits for this.", False),
    403: ("forbidden", "This key lacks the scope that this needs.", False),
    409: ("conflict", "The same is being done at this moment.", False),
    429: ("rate_limited", "A rate or spend limit is reached; come back later.", False),
}
EXPIRED = Refusal(403, "url_expired", "This download address has expired; ask for another.")
NO_BODY = (204, 304)
#: Where refusals are those of OAuth (RFC 6749, section 5.2) and not the envelope of the API.
OAUTH = ("/api/oauth/", "/agent/")


async def _changed(call: StruckCall, change: Callable[[Answer, Fault], Answer]) -> None:
    """Act, and answer with the true answer as `change` makes it."""
    await call.give(change(await call.act(), call.fault))


def _rewrite(answer: Answer, fault: Fault) -> Answer:
    said = answer.json()
    record = said["data"] if isinstance(said, dict) and "data" in said else said
    for path, value in fault.set.items():
        _set(record, path.split("."), value)
    for path in fault.remove:
        _remove(record, path.split("."))
    return answer.saying(said)


def _set(record: Any, path: list[str], value: Any) -> None:
    for name in path[:-1]:
        record = record.setdefault(name, {}) if isinstance(record, dict) else None
    if isinstance(record, dict):
        record[path[-1]] = deepcopy(value)


def _remove(record: Any, path: list[str]) -> None:
    """Remove a member; `*` in its path stands for every item of a list."""
    if "*" in path:
        place = path.index("*")
        for name in path[:place]:
            record = record.get(name) if isinstance(record, dict) else None
        for item in record if isinstance(record, list) else ():
            _remove(item, path[place + 1 :])
        return
    for name in path[:-1]:
        record = record.get(name) if isinstance(record, dict) else None
    if isinstance(record, dict):
        record.pop(path[-1], None)


def _gzip(answer: Answer, _: Fault) -> Answer:
    return answer.holding(gzip.compress(answer.body), **{"content-encoding": "gzip"})


def _corrupt(answer: Answer, fault: Fault) -> Answer:
    body = bytearray(answer.body)
    first = max(0, (len(body) - fault.bytes) // 2)
    for at in range(first, min(first + fault.bytes, len(body))):
        body[at] ^= 0xFF
    return replace(answer, body=bytes(body))


def _no_moov(answer: Answer, _: Fault) -> Answer:
    # `free` is a box that players skip, and without `moov` there is nothing to play.
    return replace(answer, body=answer.body.replace(b"moov", b"free", 1))


def _etag_changed(answer: Answer, _: Fault) -> Answer:
    other = answer.header("etag").strip('"')[::-1]
    return answer.labelled(etag=f'"{other}"')


def _xml(_: Answer, fault: Fault) -> Answer:
    return Answer(fault.status).holding(XML.encode(), **{"content-type": "application/xml"})


def _not_json(answer: Answer, _: Fault) -> Answer:
    return answer.holding(b"upstream answered", **{"content-type": "application/json"})


def _shapeless(answer: Answer, _: Fault) -> Answer:
    said = answer.json()
    return answer.saying({**said, "data": {}} if isinstance(said, dict) and "data" in said else {})


async def _truncated(call: StruckCall) -> None:
    answer = await call.act()
    half = answer.body[: len(answer.body) // 2]
    await call.give(answer.holding(half), call.fault.framing)


async def _no_length(call: StruckCall) -> None:
    await call.give(await call.act(), "close" if call.fault.close else "chunked")


async def _forget_key(call: StruckCall) -> None:
    key = key_of(call.body)
    forgotten = "DELETE FROM idempotency WHERE key = ?"
    await call.container.database.run(lambda db: db.execute(forgotten, (key,)))
    await call.give(await call.act())


async def _wrong_format(call: StruckCall) -> None:
    other = b"format=srt" if b"format=vtt" in call.scope["query_string"] else b"format=vtt"
    await call.give(await call.act(query_string=other))


async def _range_ignored(call: StruckCall) -> None:
    headers = [(name, value) for name, value in call.scope["headers"] if name != b"range"]
    await call.give(await call.act(headers=headers))


async def _range_shifted(call: StruckCall) -> None:
    def shifted(found: re.Match[bytes]) -> bytes:
        return b"bytes=%d-%s" % (int(found[1]) + call.fault.bytes, found[2])

    headers = [
        (name, FROM.sub(shifted, value) if name == b"range" else value)
        for name, value in call.scope["headers"]
    ]
    await call.give(await call.act(headers=headers))


async def _old_video(call: StruckCall) -> None:
    asked = parse_qs(call.scope["query_string"].decode()).get("render", [""])[0]
    before = max(1, int(asked) - 1) if asked.isdigit() else 1
    signed = call.container.links.download(call.video or "", before, now=call.container.now())
    query = signed.path.partition("?")[2].encode()
    await call.give(await call.act(query_string=query))


async def _error(call: StruckCall, *, acts: bool) -> None:
    if acts:
        await call.act()
    await _refuse(call, call.fault.status)


async def _refuse(call: StruckCall, status: int) -> None:
    answer = _page(status) if call.fault.html else _words(call, status)
    answer = answer.labelled(**_retry_after(call))
    if status in NO_BODY:
        answer = Answer(status)
    if call.fault.clock_skew is None:
        await call.give(answer)
    else:
        await call.give_raw(answer, clock_skew=call.fault.clock_skew)


def _words(call: StruckCall, status: int) -> Answer:
    fault = call.fault
    usual, sentence, again = USUAL.get(status, ("planned_fault", "It went wrong.", status >= 500))
    code, message = fault.code or usual, fault.message or sentence
    if call.scope["path"].startswith(OAUTH):
        return Answer(status).saying({"error": code, "error_description": message})
    retryable = again if fault.retryable is None else fault.retryable
    headers = {"www-authenticate": "Bearer"} if status == 401 else {}
    return answer_of(Refusal(status, code, message, retryable=retryable, headers=headers).answer())


def _retry_after(call: StruckCall) -> dict[str, str]:
    fault = call.fault
    if fault.retry_after is not None:
        return {"retry-after": fault.retry_after}
    if fault.retry_after_date is None:
        return {}
    moment = call.container.now() + (fault.clock_skew or 0.0) + fault.retry_after_date
    return {"retry-after": formatdate(moment, usegmt=True)}


def _page(status: int) -> Answer:
    phrase = next((known.phrase for known in HTTPStatus if known == status), "")
    body = HTML.format(title=f"{status} {phrase}".strip()).encode()
    return Answer(status).holding(body, **{"content-type": "text/html"})


async def _redirect(call: StruckCall) -> None:
    path, query = call.scope["path"], call.scope["query_string"].decode()
    elsewhere = f"https://elsewhere.invalid{path}" + (f"?{query}" if query else "")
    answer = Answer(307).holding(b"", location=call.fault.location or elsewhere)
    await call.give(answer)


async def _expired(call: StruckCall) -> None:
    await call.give(answer_of(EXPIRED.answer()))


CHANGES: Mapping[str, Callable[[Answer, Fault], Answer]] = {
    "rewrite": _rewrite,
    "restatus": lambda answer, fault: replace(answer, status=fault.status),
    "gzip": _gzip,
    "gzip-lie": lambda answer, _: answer.labelled(**{"content-encoding": "gzip"}),
    "corrupt": _corrupt,
    "no-moov": _no_moov,
    "etag-changed": _etag_changed,
    "html": lambda _, fault: _page(fault.status),
    "xml": _xml,
    "empty": lambda answer, _: answer.holding(b""),
    "not-json": _not_json,
    "shapeless": _shapeless,
}
SPOILS: Mapping[str, Callable[[StruckCall], Awaitable[None]]] = {
    **{do: partial(_changed, change=change) for do, change in CHANGES.items()},
    "truncated": _truncated,
    "no-length": _no_length,
    "forget-key": _forget_key,
    "wrong-format": _wrong_format,
    "range-ignored": _range_ignored,
    "range-shifted": _range_shifted,
    "old-video": _old_video,
    "error-before": partial(_error, acts=False),
    "error-after": partial(_error, acts=True),
    "status": partial(_error, acts=False),
    "unauthorized": partial(_refuse, status=401),
    "no-credits": partial(_refuse, status=402),
    "forbidden": partial(_refuse, status=403),
    "conflict": partial(_refuse, status=409),
    "limited": partial(_refuse, status=429),
    "redirect": _redirect,
    "expired": _expired,
}


# Owns the outermost layer of the application: a planned fault meets the request it strikes, and
# the name of its operation is known before any of it has run.


#: The sandbox's own doors: nothing goes wrong there.
OWN = "/_sandbox"
STRIKES = {**struck.BREAKS, **SPOILS}


class FaultLayer:
    """Passes every request on, untouched and unread, unless a fault waits for its operation."""

    def __init__(self, app: ASGIApp, container: Container, operations: Operations) -> None:
        self._app = app
        self._container = container
        self._operations = operations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        faults = self._container.faults
        planned = scope["type"] == "http" and not faults.idle
        operation = self._operations.of(scope) if planned else None
        if operation is None or not faults.watches(operation.name):
            await self._app(scope, receive, send)
            return
        body = await whole_body(receive)
        if body is None:
            return
        fault = faults.strike(operation.name, video=operation.video, key=key_of(body))
        if fault is None:
            await self._app(scope, again(body, receive), send)
            return
        call = StruckCall(
            fault=fault, app=self._app, scope=scope, body=body, receive=receive, send=send,
            container=self._container, video=operation.video,
        )  # fmt: skip
        await STRIKES[fault.do](call)


class CalledOperation(NamedTuple):
    """What a request calls, and the id of the video in its path."""

    name: str
    video: str | None


class Operations:
    """The operations of all routers, in the order in which they are tried.

    A route counted under a name goes by that name; any other by its function's.
    """

    def __init__(self, routers: Sequence[APIRouter], names: Mapping[object, str]) -> None:
        self._routes = [
            (route.methods or set(), route.path_regex, _name_of(route, names))
            for router in routers
            for route in router.routes
            if isinstance(route, APIRoute) and not route.path.startswith(OWN)
        ]
        self.names = list(dict.fromkeys(name for _, _, name in self._routes))

    def of(self, scope: Scope) -> CalledOperation | None:
        """Name what a request calls; None where there is no such route."""
        for methods, path, name in self._routes:
            found: re.Match[str] | None = path.match(scope["path"])
            if found is not None and scope["method"] in methods:
                said = found.groupdict()
                return CalledOperation(name, said.get("video_id") or said.get("name"))
        return None


def _name_of(route: APIRoute, names: Mapping[object, str]) -> str:
    counted = (names.get(depends.dependency) for depends in route.dependencies)
    return next((name for name in counted if name is not None), route.name)
