"""Everything that can be made to go wrong: where, called what, in which words, and its effect.

`before` means that the service does not act, `after` that it acts in full first: what was
reserved stays reserved. Kinds without either word act, and spoil the true answer. What strikes a
render or a delivery takes effect where those are made.
"""

from __future__ import annotations

import asyncio
import gzip
import os
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from email.utils import formatdate
from functools import partial
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from callsheet.deployments.sandbox.envelope import Refusal
from callsheet.deployments.sandbox.faults.fault import Fault
from callsheet.deployments.sandbox.faults.struck import Answer, StruckCall, key_of

Effect = Callable[[StruckCall], Awaitable[None]]
#: What a shell says of a process ended by SIGKILL.
KILLED = 137
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


def _after(how: Effect) -> Effect:
    """Act in full before this effect."""

    async def acted(call: StruckCall) -> None:
        await call.act()
        await how(call)

    return acted


async def _crash(_: StruckCall) -> None:
    os._exit(KILLED)


async def _slow_before(call: StruckCall) -> None:
    await asyncio.sleep(call.fault.seconds)
    await call.give(await call.act())


async def _slow(call: StruckCall) -> None:
    answer = await call.act()
    await asyncio.sleep(call.fault.seconds)
    await call.give(answer)


async def _drip(call: StruckCall) -> None:
    answer = await call.act()
    await answer.begin(call.send)
    for drop in _drops(call, answer.body):
        await call.send({"type": "http.response.body", "body": drop, "more_body": True})
        await asyncio.sleep(call.fault.seconds)
    await call.send({"type": "http.response.body", "body": b""})


async def _drip_headers(call: StruckCall) -> None:
    answer = await call.act()
    for drop in _drops(call, answer.head(clock=time.time()) + answer.body):
        call.write(drop)
        await asyncio.sleep(call.fault.seconds)
    await call.drop()


def _drops(call: StruckCall, body: bytes) -> Iterator[bytes]:
    for at in range(0, len(body), call.fault.bytes):
        if call.transport.is_closing():
            return
        yield body[at : at + call.fault.bytes]


async def _close_idle(call: StruckCall) -> None:
    await call.give(await call.act())
    await asyncio.sleep(call.fault.seconds)
    await call.drop()


async def _break_off(call: StruckCall, how: Effect = StruckCall.drop) -> None:
    answer = await call.act()
    if call.fault.framing == "close":
        await call.give(replace(answer, body=answer.half()), "close")
        return
    if call.fault.framing == "chunked":
        answer = answer.labelled(**{"content-length": None})
    await answer.begin(call.send)
    await call.send({"type": "http.response.body", "body": answer.half(), "more_body": True})
    await how(call)


async def _truncated(call: StruckCall) -> None:
    answer = await call.act()
    await call.give(answer.holding(answer.half()), call.fault.framing)


async def _no_length(call: StruckCall) -> None:
    await call.give(await call.act(), "close" if call.fault.close else "chunked")


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
    name, *rest = path
    if name == "*":
        for item in record if isinstance(record, list) else ():
            _remove(item, rest)
    elif isinstance(record, dict) and rest:
        _remove(record.get(name), rest)
    elif isinstance(record, dict):
        record.pop(name, None)


def _empty(answer: Answer, _: Fault) -> Answer:
    return answer.holding(b"")


def _restatus(answer: Answer, fault: Fault) -> Answer:
    return replace(answer, status=fault.status)


def _gzip_lie(answer: Answer, _: Fault) -> Answer:
    return answer.labelled(**{"content-encoding": "gzip"})


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


def _page(_: Answer | None, fault: Fault) -> Answer:
    phrase = next((known.phrase for known in HTTPStatus if known == fault.status), "")
    body = HTML.format(title=f"{fault.status} {phrase}".strip()).encode()
    return Answer(fault.status).holding(body, **{"content-type": "text/html"})


async def _forget_key(call: StruckCall) -> None:
    await call.service.forget_key(key_of(call.body))
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
    signed = call.service.links.make("file", call.video or "", before, now=time.time())
    query = signed.path.partition("?")[2].encode()
    await call.give(await call.act(query_string=query))


def _answers(status: int) -> Effect:
    return partial(_refuse, status=status)


async def _refuse(call: StruckCall, status: int | None = None) -> None:
    fault = call.fault.model_copy(update={"status": status or call.fault.status})
    answer = _page(None, fault) if fault.html else _words(call, fault)
    answer = answer.labelled(**_retry_after(call))
    if fault.status in NO_BODY:
        answer = Answer(fault.status)
    if fault.clock_skew is None:
        await call.give(answer)
    else:
        await call.give_raw(answer, clock_skew=fault.clock_skew)


def _words(call: StruckCall, fault: Fault) -> Answer:
    status = fault.status
    usual, sentence, again = USUAL.get(status, ("planned_fault", "It went wrong.", status >= 500))
    code, message = fault.code or usual, fault.message or sentence
    if call.scope["path"].startswith(OAUTH):
        return Answer(status).saying({"error": code, "error_description": message})
    retryable = again if fault.retryable is None else fault.retryable
    headers = {"www-authenticate": "Bearer"} if status == 401 else {}
    return Answer.of(Refusal(status, code, message, retryable=retryable, headers=headers).answer())


def _retry_after(call: StruckCall) -> dict[str, str]:
    fault = call.fault
    if fault.retry_after is not None:
        return {"retry-after": str(fault.retry_after)}
    if fault.retry_after_date is None:
        return {}
    moment = time.time() + (fault.clock_skew or 0.0) + fault.retry_after_date
    return {"retry-after": formatdate(moment, usegmt=True)}


async def _redirect(call: StruckCall) -> None:
    path, query = call.scope["path"], call.scope["query_string"].decode()
    elsewhere = f"https://elsewhere.invalid{path}" + (f"?{query}" if query else "")
    location = str(call.fault.location or elsewhere)
    await call.give(Answer(307).holding(b"", location=location))


async def _expired(call: StruckCall) -> None:
    await call.give(Answer.of(EXPIRED.answer()))


async def _elsewhere(_: StruckCall) -> None:
    raise AssertionError("a render or a delivery is struck where it is made")


def _change(change: Callable[[Answer, Fault], Answer]) -> Effect:
    return partial(_changed, change=change)


_DROP, _RESET, _GONE = StruckCall.drop, StruckCall.reset, StruckCall.gone
_WORDS = {"code": None, "message": None, "retryable": None}
_RETRY = {"retry_after": None, "retry_after_date": None, "clock_skew": None}
_ERROR = {"status": 500, "html": False, **_WORDS, **_RETRY}
_DROPS = {"bytes": 1, "seconds": 0.05}
_LENGTH = {"framing": "length"}
_OK = {"status": 200}
#: Every kind there is, by where it strikes, `*` being any operation: its name, its effect, the
#: members that it takes with their defaults (`...` says that one must be given), and its words.
TABLE: dict[str, list[tuple[str, Effect, Mapping[str, Any], str]]] = {
    "*": [
        # The connection.
        ("drop-before", _DROP, {}, "closes the connection without acting and without an answer"),
        ("drop-after", _after(_DROP), {}, "acts, then closes the connection without an answer"),
        ("reset-before", _RESET, {}, "resets the connection (TCP RST) without acting"),
        ("reset-after", _after(_RESET), {},
         "acts, then resets the connection (TCP RST) without an answer"),
        ("hang-before", _GONE, {}, "never acts, never answers, until the client leaves"),
        ("hang", _after(_GONE), {}, "acts, then never answers, until the client leaves"),
        ("crash-before", _crash, {}, "ends the sandbox at once, as SIGKILL does, without acting"),
        ("crash-after", _after(_crash), {}, "acts, then ends the sandbox at once, as SIGKILL does"),
        ("slow-before", _slow_before, {"seconds": 1.0}, "waits, then acts and answers"),
        ("slow", _slow, {"seconds": 1.0}, "acts, waits, then answers"),
        ("drip", _drip, _DROPS, "sends the body a few bytes at a time"),
        ("drip-headers", _drip_headers, _DROPS, "sends headers and body in pieces"),
        ("close-idle", _close_idle, {"seconds": 0.0},
         "answers, then closes the connection without notice"),
        # Another answer, without acting.
        ("error-before", _refuse, _ERROR, "answers an error without acting"),
        ("status", _refuse, {**_ERROR, "status": ...}, "answers the given status without acting"),
        ("unauthorized", _answers(401), _WORDS, "answers 401 without acting, as for a revoked key"),
        ("no-credits", _answers(402), _WORDS, "answers 402 without acting"),
        ("forbidden", _answers(403), _WORDS, "answers 403 without acting, as for a missing scope"),
        ("conflict", _answers(409), _WORDS, "answers 409 without acting"),
        ("limited", _answers(429), {**_WORDS, **_RETRY}, "answers 429 without acting"),
        ("redirect", _redirect, {"location": None}, "answers 307 to another host without acting"),
        # Another answer, after acting.
        ("error-after", _after(_refuse), _ERROR, "acts, then answers an error"),
        ("html", _change(_page), _OK, "acts, then answers a proxy's HTML page"),
        ("xml", _change(_xml), _OK, "acts, then answers a storage service's XML error"),
        ("empty", _change(_empty), {}, "acts, then answers without a body"),
        ("not-json", _change(_not_json), {},
         "acts, then answers text that is not JSON, labeled as JSON"),
        ("shapeless", _change(_shapeless), {}, "acts, then answers an envelope with nothing in it"),
        # The true answer, changed.
        ("rewrite", _change(_rewrite), {"set": {}, "remove": []},
         "acts, and changes members of its answer"),
        ("restatus", _change(_restatus), _OK, "acts, and answers with another status of success"),
        ("cut-body", _break_off, _LENGTH, "acts, and closes halfway through the body"),
        ("reset-midway", partial(_break_off, how=_RESET), {},
         "acts, and resets the connection halfway through the body"),
        ("truncated", _truncated, _LENGTH, "acts, and answers half the body as a whole"),
        ("no-length", _no_length, {"close": False}, "acts, and answers without Content-Length"),
        ("gzip", _change(_gzip), {},
         "acts, and compresses the body, even if the client did not ask"),
        ("gzip-lie", _change(_gzip_lie), {}, "acts, and labels the plain body as gzip"),
    ],
    "create": [
        ("forget-key", _forget_key, {},
         "forgets the idempotency key, then acts: a second video, a second charge"),
    ],
    "captions": [("wrong-format", _wrong_format, {}, "answers VTT for SRT and SRT for VTT")],
    "file": [
        ("expired", _expired, {}, "answers 403, as for an address that has expired"),
        ("corrupt", _change(_corrupt), {"bytes": 16},
         "damages bytes in the middle and keeps the length"),
        ("no-moov", _change(_no_moov), {},
         "answers a video of the right length that no player opens"),
        ("range-ignored", _range_ignored, {}, "answers the whole video to a Range request"),
        ("range-shifted", _range_shifted, {"bytes": 1},
         "answers another range than the client asked for"),
        ("old-video", _old_video, {}, "answers the video of the previous render, if there was one"),
        ("etag-changed", _change(_etag_changed), {}, "answers with another ETag"),
    ],
    # On a render, whatever asked for it.
    "render": [
        ("fail", _elsewhere, {"message": None}, "the render fails and its credits are released"),
        ("never", _elsewhere, {}, "the render never ends"),
        ("slow", _elsewhere, {"seconds": 60.0}, "the render takes longer"),
        ("corrupt", _elsewhere, {}, "the render ends with a video that cannot be played"),
        ("ai-mark", _elsewhere, {}, "the video has a C2PA manifest in it, an empty one"),
    ],
    # On the delivery of an event.
    "webhook": [
        ("missing", _elsewhere, {}, "it is never sent"),
        ("doubled", _elsewhere, {}, "it is sent twice"),
        ("late", _elsewhere, {"seconds": 60.0}, "it is sent late"),
        ("forged", _elsewhere, {}, "a copy signed with another secret is sent first"),
        ("replayed", _elsewhere, {}, "the same body is sent again under a new event id"),
        ("reserialized", _elsewhere, {}, "its body is serialized again after it was signed"),
        ("unsigned", _elsewhere, {}, "it is sent without a signature"),
    ],
}  # fmt: skip


class FaultKind(NamedTuple):
    """One line of the table, and where it strikes."""

    on: str
    do: str
    effect: Effect
    takes: Mapping[str, Any]
    about: str


KINDS = [FaultKind(on, *row) for on, rows in TABLE.items() for row in rows]


def kinds_on(on: str) -> dict[str, FaultKind]:
    """Give every kind that can strike there, by what it is called."""
    places = (on,) if on in ("render", "webhook") else ("*", on)
    return {kind.do: kind for kind in KINDS if kind.on in places}


def listed_kinds() -> list[dict[str, Any]]:
    """Show the whole list, as JSON can hold it."""
    return [
        {"on": kind.on, "do": kind.do, "about": kind.about, "takes": list(kind.takes)}
        for kind in KINDS
    ]
