"""`callsheet video create` and `estimate`: one video, quoted, asked for once, paid for once.

The key is a pure function of the request, so the same command typed twice gives the same video.
"""

from __future__ import annotations

import time
from argparse import Namespace
from decimal import Decimal
from functools import partial

from callsheet.deployments.commands.options import budget_of
from callsheet.deployments.direct.body import body_from
from callsheet.deployments.direct.perform import tell_made
from callsheet.deployments.direct.session import Document, Session
from callsheet.deployments.terminal import consent, plain
from callsheet.tasks.campaign.catalog import ask_again, compared_by, known_catalogue
from callsheet.tasks.campaign.comparison import unlisted_in
from callsheet.tasks.runtime.errors import (
    BadInput,
    Conflict,
    Forbidden,
    NotFound,
    OtherRefusal,
    SpendRefused,
)
from callsheet.tasks.runtime.redact import redacted
from callsheet.tasks.runtime.suggest import again_with
from callsheet.tasks.service import Operation
from callsheet.tasks.service import operations as ops
from callsheet.tasks.values.amounts import as_number, as_text, in_credits
from callsheet.tasks.values.briefs import (
    CREATE,
    DIRECT,
    Json,
    canonical_json,
    digest_of,
    idempotency_key,
)


async def estimate(at: Session) -> Document:
    """Ask what a video would cost; free (specification, section 4)."""
    quote = await at.service.estimate(_request(at.args, ops.ESTIMATE))
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
    wanted = {"start_generation": True, **_request(at.args, ops.CREATE)}
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
    again = f"--another {at.args.another + 1} makes another"
    words = f"key {key}: the same command again gives this video; {again}"
    return {**tell_made(at, made, words), "key": key, "quoted": as_number(price)}


def _request(args: Namespace, operation: Operation[object]) -> dict[str, Json]:
    request = body_from(args, operation)
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
        raise BadInput("--another needs a key that Callsheet makes, and the request has its own")
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
        tell=partial(ask_again, at.service, at.settings, at.ledger, clock=time.time),
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
