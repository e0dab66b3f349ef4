"""`callsheet video create` and `estimate`: builds the request, quotes it, pays once."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path

from callsheet.deployments.commands.options import budget_of
from callsheet.deployments.direct.session import Document, Session
from callsheet.deployments.terminal import consent, plain
from callsheet.tasks.campaign.catalog import compared_by, known_catalogue, told_anew
from callsheet.tasks.campaign.comparison import unlisted_in
from callsheet.tasks.runtime.errors import (
    BadInput,
    Conflict,
    Forbidden,
    NotFound,
    OtherRefusal,
    SpendRefused,
    shorten,
)
from callsheet.tasks.runtime.redact import redacted
from callsheet.tasks.runtime.suggest import again_with
from callsheet.tasks.sheet.trees import parse_json, read_script, read_speech
from callsheet.tasks.values.amounts import as_number, as_text, in_credits
from callsheet.tasks.values.briefs import (
    CREATE,
    DIRECT,
    Json,
    canonical_json,
    digest_of,
    idempotency_key,
)

# `callsheet video create` and `estimate`: one video, quoted, asked for once, paid for once.
#
# The key is a pure function of the request, so the same command typed twice gives the same video.


async def estimate(at: Session) -> Document:
    """Ask what a video would cost; free (specification, section 4)."""
    quote = await at.service.estimate(_request(at.args))
    if quote.amount is None:
        at.console.print("the service gave no price that can be read; --json shows what it said")
    else:
        at.console.print(f"{in_credits(quote.amount)}")
    return {"credits": as_number(quote.amount), "raw": redacted(quote.raw)}


async def create(at: Session) -> Document:
    """Make a video: its price first, then the question, then one request under one key.

    Raises SpendRefused without approval, or above `--max-credits`, and BadInput for a tool or an
    input that the service does not list: it would be paid for and do nothing.
    """
    wanted = {"start_generation": True, **_request(at.args)}
    if at.args.draft:
        wanted["start_generation"] = False
    key = _key(wanted, another=at.args.another)
    limit = budget_of(at.args, "max_credits")
    await _check_inputs(at, wanted)
    price = await _price(at, wanted)
    _check_price(price, limit)
    at.console.print(f"{plain(_named(wanted))}: {_priced(price)}")
    question = "Make it at an unknown price?"
    if price is not None:
        question = f"Spend {in_credits(price)}?"
    await consent(at.args, question, what=f"{_priced(price)} are")
    frozen = canonical_json({**wanted, "idempotency_key": key})
    made = await at.service.create(frozen, key=key)
    at.console.print(f"{plain(made.video_id)}: {plain(made.status or 'accepted')}")
    again = f"--another {at.args.another + 1} makes another"
    at.console.print(f"key {key}: the same command again gives this video; {again}")
    return {
        "video_id": made.video_id,
        "status": made.status,
        "poll_after_seconds": made.poll_after,
        "key": key,
        "quoted": as_number(price),
        "raw": redacted(made.raw),
    }


def _request(args: Namespace) -> dict[str, Json]:
    """Return the body: the raw one, then what the options say, then `--set`."""
    options = given(
        tool=args.tool,
        fields=fields(args),
        script=script(args.script),
        duration_seconds=args.duration,
        title=args.title,
        topic=args.topic,
        mode=args.mode,
        style=args.style,
        character_id=args.character,
        voice_id=args.voice_id,
        music_id=args.music_id,
        caption_style=args.caption_style,
        aspect_ratio=args.aspect_ratio,
        language=args.language,
        video_model=args.video_model,
    )
    request = completed({**raw_body(args), **options}, args)
    if ("tool" in request) == ("script" in request):
        both = "both a tool and a script" if "tool" in request else "neither a tool nor a script"
        raise BadInput(f"there is {both}: give one of them", remedy="--tool ID or --script FILE")
    return request


def _key(wanted: dict[str, Json], *, another: int) -> str:
    """Return the key, taking the person's own out of the request if there is one."""
    own = wanted.pop("idempotency_key", None)
    if another < 1:
        raise BadInput(f"--another {another} is not a number from 1")
    if own is None:
        digest = digest_of(CREATE, wanted)
        return idempotency_key(
            campaign=DIRECT, row=digest, operation=CREATE, digest=digest, nth=another
        )
    if another != 1:
        raise BadInput("--another is for keys of ours, and the request has one of its own")
    plain_key = isinstance(own, str) and own.isascii() and own.isprintable()
    if not plain_key or not own.strip() or '"' in own or "\\" in own:
        raise BadInput("idempotency_key is not plain text")
    return str(own)


async def _check_inputs(at: Session, wanted: dict[str, Json]) -> None:
    if "tool" not in wanted:
        return
    unlisted, _, _ = await compared_by(
        partial(unlisted_in, wanted),
        bool,
        tell=partial(told_anew, at.service, at.settings, at.ledger, clock=time.time),
        known=await known_catalogue(at.ledger, at.settings.base_url),
        now=time.time(),
    )
    if unlisted is None:
        return
    if at.settings.unlisted == "refuse":
        raise BadInput(
            f"{unlisted}; nothing was spent",
            remedy="`callsheet tools` shows what there is; CALLSHEET_UNLISTED=advise sends it "
            "all the same",
        )
    at.console.print(f"[yellow]advice[/] {plain(unlisted)}")


async def _price(at: Session, wanted: dict[str, Json]) -> Decimal | None:
    try:
        return (await at.service.estimate(wanted)).amount
    except (Forbidden, NotFound, Conflict, OtherRefusal):
        # A key that may write but not read, or a service without quotes.
        return None


def _check_price(price: Decimal | None, limit: Decimal | None) -> None:
    if limit is None or (price is not None and price <= limit):
        return
    raise SpendRefused(
        f"{_priced(price)}, and --max-credits is {as_text(limit)}; nothing was spent",
        remedy=None if price is None else again_with("--max-credits", as_text(price)),
    )


def _priced(price: Decimal | None) -> str:
    return "credits at an unknown price" if price is None else (f"{in_credits(price)}")


def _named(wanted: dict[str, Json]) -> str:
    name = wanted.get("title") or wanted.get("topic") or wanted.get("tool") or "your script"
    draft = "" if wanted["start_generation"] else " (a draft: rendering it comes later)"
    return f"{name}{draft}"


# What is sent, from what was typed: options, a JSON file, and `--set` for any other member.


#: A file with more than this is no request.
MOST_BYTES = 8_000_000


def completed(request: Mapping[str, Json], args: Namespace) -> dict[str, Json]:
    """Return `request` with what `--set` adds or replaces, and without what `--unset` names.

    Raises BadInput for what cannot be sent as JSON in UTF-8.
    """
    changed = {name: _value(name, text) for name, text in _pairs(args.set, "--set", "NAME=JSON")}
    body = {**request, **changed}
    body = {name: value for name, value in body.items() if name not in args.unset}
    try:
        canonical_json(body)
    except ValueError as error:
        raise BadInput("the request holds text that is not UTF-8") from error
    return body


def raw_body(args: Namespace) -> dict[str, Json]:
    """Return the object in `--body`, as it is; nothing without it."""
    if args.body is None:
        return {}
    try:
        body = parse_json(read_text(args.body, "--body"))
    except ValueError as error:
        reason = getattr(error, "msg", error)
        raise BadInput(f"--body {args.body} is not JSON: {reason}") from error
    if not isinstance(body, dict):
        raise BadInput(f"--body {args.body} is not a JSON object")
    return dict(body)


def fields(args: Namespace) -> dict[str, Json]:
    """Return the inputs of a tool from `--field`."""
    return dict(_pairs(args.field, "--field", "NAME=TEXT"))


def script(path: str | None) -> Json:
    """Return the script in a file: a JSON object, or text with a blank line between scenes."""
    if path is None:
        return None
    text = read_text(path, "--script").strip()
    if not text:
        raise BadInput(f"--script {path} is empty")
    try:
        # A script that begins with @ is its own text here, and no file.
        return read_script(f"@{text}" if text.startswith("@") else text, folder=None)
    except ValueError as error:
        raise BadInput(f"--script {path} {error}") from error


def speech(text: str | None, option: str) -> Json:
    """Return what somebody is to say: the text, or what is in `@FILE`; an object stays one."""
    if text is None:
        return None
    if text.startswith("@") and not text.startswith("@@"):
        text = read_text(text[1:], option).strip()
        text = f"@{text}" if text.startswith("@") else text
    if not text.strip():
        raise BadInput(f"{option} is empty")
    try:
        return read_speech(text, folder=None)
    except ValueError as error:
        raise BadInput(f"{option} {error}") from error


def read_text(path: str, option: str) -> str:
    """Return the text of a file, or of standard input for `-`; raise BadInput when it is none."""
    try:
        if path == "-":
            content = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with Path(path).open("rb") as file:
                content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise BadInput(f"{option} {path} cannot be read: {error.strerror}") from error
    if len(content) > MOST_BYTES:
        raise BadInput(f"{option} {path} is longer than {MOST_BYTES // 1_000_000} MB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{option} {path} is not text in UTF-8") from error


def given(**options: Json) -> dict[str, Json]:
    """Return the options that were given."""
    return {name: value for name, value in options.items() if value not in (None, {}, [])}


def _pairs(texts: Iterable[str], option: str, form: str) -> Iterable[tuple[str, str]]:
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise BadInput(f'{option} "{shorten(text)}" is not of the form {form}')
        yield name.strip(), value


def _value(name: str, text: str) -> Json:
    try:
        return parse_json(text)
    except ValueError as error:
        # Text may be typed as it is, but what begins like an object was meant to be one.
        if text.lstrip()[:1] in ("{", "[", '"'):
            reason = getattr(error, "msg", error)
            raise BadInput(f"--set {name} begins like JSON but is none: {reason}") from error
        return text
