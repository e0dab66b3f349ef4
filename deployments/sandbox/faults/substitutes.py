"""Owns answers put in the place of the true one, before the service acted or after."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from email.utils import formatdate
from functools import partial
from http import HTTPStatus

from deployments.sandbox.envelope import Refusal, refused
from deployments.sandbox.faults.answer import Answer, answer_of
from deployments.sandbox.faults.call import Call

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


async def _error_before(call: Call) -> None:
    await _refuse(call, call.fault.status)


async def _error_after(call: Call) -> None:
    await call.act()
    await _refuse(call, call.fault.status)


async def _refuse(call: Call, status: int) -> None:
    answer = _page(status) if call.fault.html else _words(call, status)
    answer = answer.labelled(**_retry_after(call))
    if status in NO_BODY:
        answer = Answer(status)
    if call.fault.clock_skew is None:
        await call.give(answer)
    else:
        await call.give_raw(answer, clock_skew=call.fault.clock_skew)


def _words(call: Call, status: int) -> Answer:
    fault = call.fault
    usual, sentence, again = USUAL.get(status, ("planned_fault", "It went wrong.", status >= 500))
    code, message = fault.code or usual, fault.message or sentence
    if call.scope["path"].startswith(OAUTH):
        return Answer(status).saying({"error": code, "error_description": message})
    retryable = again if fault.retryable is None else fault.retryable
    headers = {"www-authenticate": "Bearer"} if status == 401 else {}
    return answer_of(refused(Refusal(status, code, message, retryable=retryable, headers=headers)))


def _retry_after(call: Call) -> dict[str, str]:
    fault = call.fault
    if fault.retry_after is not None:
        return {"retry-after": fault.retry_after}
    if fault.retry_after_date is None:
        return {}
    moment = call.house.now() + (fault.clock_skew or 0.0) + fault.retry_after_date
    return {"retry-after": formatdate(moment, usegmt=True)}


def _page(status: int) -> Answer:
    phrase = next((known.phrase for known in HTTPStatus if known == status), "")
    body = HTML.format(title=f"{status} {phrase}".strip()).encode()
    return Answer(status).holding(body, **{"content-type": "text/html"})


async def _redirect(call: Call) -> None:
    path, query = call.scope["path"], call.scope["query_string"].decode()
    elsewhere = f"https://elsewhere.invalid{path}" + (f"?{query}" if query else "")
    answer = Answer(307).holding(b"", location=call.fault.location or elsewhere)
    await call.give(answer)


async def _expired(call: Call) -> None:
    await call.give(answer_of(refused(EXPIRED)))


async def _html(call: Call) -> None:
    await call.act()
    await call.give(_page(call.fault.status))


async def _xml(call: Call) -> None:
    await call.act()
    answer = Answer(call.fault.status)
    await call.give(answer.holding(XML.encode(), **{"content-type": "application/xml"}))


async def _empty(call: Call) -> None:
    await call.give((await call.act()).holding(b""))


async def _not_json(call: Call) -> None:
    answer = await call.act()
    await call.give(answer.holding(b"upstream answered", **{"content-type": "application/json"}))


async def _shapeless(call: Call) -> None:
    answer = await call.act()
    said = answer.json()
    around = {**said, "data": {}} if isinstance(said, dict) and "data" in said else {}
    await call.give(answer.saying(around))


STRIKES: Mapping[str, Callable[[Call], Awaitable[None]]] = {
    "error-before": _error_before,
    "error-after": _error_after,
    "status": _error_before,
    "unauthorized": partial(_refuse, status=401),
    "no-credits": partial(_refuse, status=402),
    "forbidden": partial(_refuse, status=403),
    "conflict": partial(_refuse, status=409),
    "limited": partial(_refuse, status=429),
    "redirect": _redirect,
    "expired": _expired,
    "html": _html,
    "xml": _xml,
    "empty": _empty,
    "not-json": _not_json,
    "shapeless": _shapeless,
}
