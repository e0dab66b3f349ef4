"""Owns what is done to the true answer, and to the request before the service acts on it."""

from __future__ import annotations

import gzip
import re
from collections.abc import Awaitable, Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs

from deployments.sandbox.faults.call import Call, key_of

FROM = re.compile(rb"bytes=([0-9]+)-([0-9]*)")


async def _rewrite(call: Call) -> None:
    answer = await call.act()
    said = answer.json()
    record = said["data"] if isinstance(said, dict) and "data" in said else said
    for path, value in call.fault.set.items():
        _set(record, path.split("."), value)
    for path in call.fault.remove:
        _remove(record, path.split("."))
    await call.give(answer.saying(said))


def _set(record: Any, path: list[str], value: Any) -> None:
    for name in path[:-1]:
        record = record.setdefault(name, {}) if isinstance(record, dict) else None
    if isinstance(record, dict):
        record[path[-1]] = deepcopy(value)


def _remove(record: Any, path: list[str]) -> None:
    for name in path[:-1]:
        record = record.get(name) if isinstance(record, dict) else None
    if isinstance(record, dict):
        record.pop(path[-1], None)


async def _restatus(call: Call) -> None:
    await call.give(replace(await call.act(), status=call.fault.status))


async def _truncated(call: Call) -> None:
    answer = await call.act()
    half = answer.body[: len(answer.body) // 2]
    await call.give(answer.holding(half), call.fault.framing)


async def _no_length(call: Call) -> None:
    await call.give(await call.act(), "close" if call.fault.close else "chunked")


async def _gzip(call: Call) -> None:
    answer = await call.act()
    await call.give(answer.holding(gzip.compress(answer.body), **{"content-encoding": "gzip"}))


async def _gzip_lie(call: Call) -> None:
    await call.give((await call.act()).labelled(**{"content-encoding": "gzip"}))


async def _forget_key(call: Call) -> None:
    key = key_of(call.body)
    forgotten = "DELETE FROM idempotency WHERE key = ?"
    await call.house.database.run(lambda db: db.execute(forgotten, (key,)))
    await call.give(await call.act())


async def _wrong_format(call: Call) -> None:
    other = b"format=srt" if b"format=vtt" in call.scope["query_string"] else b"format=vtt"
    await call.give(await call.act(query_string=other))


async def _corrupt(call: Call) -> None:
    answer = await call.act()
    body = bytearray(answer.body)
    first = max(0, (len(body) - call.fault.bytes) // 2)
    for at in range(first, min(first + call.fault.bytes, len(body))):
        body[at] ^= 0xFF
    await call.give(replace(answer, body=bytes(body)))


async def _no_moov(call: Call) -> None:
    answer = await call.act()
    # `free` is a box that players skip, and without `moov` there is nothing to play.
    await call.give(replace(answer, body=answer.body.replace(b"moov", b"free", 1)))


async def _range_ignored(call: Call) -> None:
    headers = [(name, value) for name, value in call.scope["headers"] if name != b"range"]
    await call.give(await call.act(headers=headers))


async def _range_shifted(call: Call) -> None:
    def shifted(found: re.Match[bytes]) -> bytes:
        return b"bytes=%d-%s" % (int(found[1]) + call.fault.bytes, found[2])

    headers = [
        (name, FROM.sub(shifted, value) if name == b"range" else value)
        for name, value in call.scope["headers"]
    ]
    await call.give(await call.act(headers=headers))


async def _old_film(call: Call) -> None:
    asked = parse_qs(call.scope["query_string"].decode()).get("render", [""])[0]
    before = max(1, int(asked) - 1) if asked.isdigit() else 1
    signed = call.house.signer.sign(call.video or "", before, now=call.house.now())
    query = signed.path.partition("?")[2].encode()
    await call.give(await call.act(query_string=query))


async def _etag_changed(call: Call) -> None:
    answer = await call.act()
    other = answer.header("etag").strip('"')[::-1]
    await call.give(answer.labelled(etag=f'"{other}"'))


STRIKES: Mapping[str, Callable[[Call], Awaitable[None]]] = {
    "rewrite": _rewrite,
    "restatus": _restatus,
    "truncated": _truncated,
    "no-length": _no_length,
    "gzip": _gzip,
    "gzip-lie": _gzip_lie,
    "forget-key": _forget_key,
    "wrong-format": _wrong_format,
    "corrupt": _corrupt,
    "no-moov": _no_moov,
    "range-ignored": _range_ignored,
    "range-shifted": _range_shifted,
    "etag-changed": _etag_changed,
    "old-film": _old_film,
}
