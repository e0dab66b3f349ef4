"""Calls that cost nothing: ask a price, poll a render, cancel one; and what their failures mean.

Owns what a failure to quote means before anything is spent. Asking for a price costs nothing.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import NamedTuple

from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.evidence import before, before_edit
from callsheet.tasks.engine.policy.creates import in_columns
from callsheet.tasks.engine.policy.decision import (
    RUNNING,
    AccessDenied,
    Closed,
    Memory,
    Missing,
    NeverSent,
    NotCancelled,
    Observation,
    Polled,
    Released,
    Troubled,
    VideoReady,
)
from callsheet.tasks.engine.policy.renders import video_is_asked_for
from callsheet.tasks.ledger.quotes import Quoted, record_quote, renew_quote
from callsheet.tasks.ledger.values import CampaignRow
from callsheet.tasks.runtime.errors import (
    BadRequest,
    CallsheetError,
    ConfigurationError,
    Conflict,
    Forbidden,
    NotFound,
    NotSent,
    OtherRefusal,
    OutcomeUnknown,
    Parked,
    RateLimited,
    ServerTrouble,
    ServiceError,
    ShapeError,
    Unauthenticated,
)
from callsheet.tasks.service import Video, VideoService
from callsheet.tasks.values.briefs import CREATE, Brief
from callsheet.tasks.values.edits import edit_of

#: When to come back to a service in trouble that names no moment, in seconds.
LATER = 300.0
#: What may be wrong with one request alone, and be another time.
TROUBLE = ServerTrouble | OutcomeUnknown | ShapeError


class Price(NamedTuple):
    """What a row would cost (None: not readable), or the words with which its brief is refused.

    `seconds` is the length that the price is for, where the service says it.
    """

    amount: Decimal | None
    refusal: str | None = None
    seconds: float | None = None


#: A row of a sheet or of the ledger.
Priceable = Brief | CampaignRow


def before_spending(error: ServiceError, now: float) -> CallsheetError:
    """Return a failure to quote as what it means to a run that has not spent anything yet.

    Waiting helps where the service is there and busy or in trouble; else a setting is wrong.
    """
    words = f"{str(error).rstrip('.')}; nothing was spent"
    if isinstance(error, RateLimited | TROUBLE):
        later = datetime.fromtimestamp(now + LATER, UTC)
        return Parked(words, until=error.retry_at or later, remedy=error.remedy)
    return ConfigurationError(words, remedy=error.remedy)


async def ask_price(service: VideoService, wanted: Priceable) -> Price:
    """Return what a row would cost, or why the service refuses its brief, in the row's own terms.

    An amount of None without words means that the service gave none that can be read. Raises
    ServiceError when the service cannot be asked.
    """
    return price_for(wanted, await brief_price(service, wanted))


async def brief_price(service: VideoService, wanted: Priceable) -> Price:
    """Return what every row of the same brief would cost; a refusal is in the client's words.

    Clips and edits are not quoted by the service (specification, section 4): what counts is the
    row's own `max_credits`. An edit without one is taken to cost no more than a new video.
    """
    edited = edit_of(wanted.operation) is not None
    if wanted.operation != CREATE and (wanted.max_credits is not None or not edited):
        return Price(wanted.max_credits)
    try:
        quote = await service.estimate(wanted.asked())
        return Price(quote.amount, seconds=quote.seconds)
    except BadRequest as error:
        return Price(None, str(error))
    except (NotFound, Conflict, OtherRefusal):
        # A service without quotes: the price is unknown, which a budget will not accept.
        return Price(None)


def price_for(wanted: Priceable, price: Price) -> Price:
    """Return the price of a brief as that of one of its rows: a refusal names the row's cells."""
    if price.refusal is None:
        return price
    return price._replace(refusal=in_columns(price.refusal, wanted))


def is_priced(row: CampaignRow, at: Context) -> bool:
    """Whether a row's quote is there and young enough; one of the future is of unknown age."""
    age = None if row.quoted_at is None else at.clock() - row.quoted_at
    young = age is not None and 0 <= age < at.settings.quote_age
    return row.state in ("quoted", "approved") and young


async def fresh_price(row: CampaignRow, at: Context) -> CampaignRow | Observation | None:
    """Return an approved row at a price that holds, asked again where its quote is too old.

    Returns None when it is not approved any more, since it costs more than was agreed to; and
    what was observed instead of a price, when the service cannot be asked.
    """
    if is_priced(row, at):
        return row
    try:
        amount, refusal, _ = await ask_price(at.service, row)
    except ServiceError as error:
        return observation_of(error, at.clock())
    now = at.clock()
    if not await record_price(at, Quoted(row, amount, refusal)):
        return None
    agreed = row.quoted if row.approved is None else row.approved
    return replace(row, quoted=amount, quoted_at=now, approved=agreed)


async def record_price(at: Context, quoted: Quoted) -> bool:
    """Record what was quoted; return whether an approved row is still approved."""
    now = at.clock()
    if quoted.row.state != "approved":
        await at.ledger.write(record_quote, quoted=quoted, at=now)
        return False
    tolerance = at.settings.quote_tolerance
    return await at.ledger.write(renew_quote, quoted=quoted, tolerance=tolerance, at=now)


# The poll lane: is the video there yet? Reads only.
#
# The words for a finished render are not in the specification, so the proof is a signed address. It
# is asked for at once when a webhook named the video; else the status is asked first, and the video
# when the word is not one for a render under way, at every fifth poll, and past the deadline.


async def poll(row: CampaignRow, memory: Memory, at: Context) -> Observation:
    """Poll a render once; an edit is ready once its video shows that it was rendered again."""
    seen = await _poll(row, memory, at)
    if edit_of(row.operation) is None or not isinstance(seen, Polled | VideoReady):
        return seen
    assert row.take is not None
    assert row.take.video_id is not None, "a rendering row has a video"
    earlier = await before_edit(at.ledger, row.take)
    if earlier is None:
        return seen
    seen = replace(seen, charged=earlier.cost_since(seen.charged))
    if isinstance(seen, Polled):
        return seen
    try:
        now = await before(at.service, row.take.video_id)
    except ServiceError as error:
        return observation_of(error, at.clock())
    # Until then the service hands out the video from before the edit.
    begun = memory.seen_running or earlier.changed_to(now)
    return (
        seen
        if begun and now.has_video and not now.running
        else Polled(now.status, downloadable=False)
    )


async def _poll(row: CampaignRow, memory: Memory, at: Context) -> Observation:
    assert row.take is not None
    assert row.take.video_id is not None, "a rendering row has a video"
    video_id, accepted = row.take.video_id, row.take.accepted_at or at.clock()
    try:
        if memory.hint:
            return await _video_first(video_id, at)
        overdue = at.clock() - accepted > at.settings.deadline
        return await look(at.service, video_id, polls=memory.polls + 1, overdue=overdue)
    except ServiceError as error:
        return observation_of(error, at.clock())


async def look(
    service: VideoService, video_id: str, *, polls: int, overdue: bool = False
) -> Polled | VideoReady:
    """Look at a render for the `polls`-th time; raise ServiceError when that fails."""
    video = await service.get(video_id)
    if not video_is_asked_for(video.status, polls, overdue=overdue):
        return Polled(video.status, video.poll_after, _charged(video))
    try:
        signed = await service.download(video_id)
    except Conflict:
        return _without_video(video)
    return VideoReady(signed.url, _charged(video))


async def _video_first(video_id: str, at: Context) -> Observation:
    """Ask for the video that a webhook told of; then the status tells what it charged, or why not.

    Without a status the charge is what was set aside.
    """
    try:
        signed = await at.service.download(video_id)
    except Conflict:
        return _without_video(await at.service.get(video_id))
    charged = None
    with suppress(ServiceError):
        charged = _charged(await at.service.get(video_id))
    return VideoReady(signed.url, charged)


def _without_video(video: Video) -> Polled:
    return Polled(video.status, video.poll_after, _charged(video), downloadable=False)


def _charged(video: Video) -> Decimal | None:
    """Return the charge: what a render under way has cost so far is not what it will have cost."""
    return None if video.status in RUNNING else video.charged


# The cancel lane: ask the service to stop a render that someone no longer wants.
#
# It costs nothing and may be asked again: the second answer is 409.


async def cancel(row: CampaignRow, at: Context) -> Observation:
    """Cancel a row's render; on 200 its reserved credits are released (specification, section 1).

    409 says that no render is running: the video may be there.
    """
    assert row.take is not None
    assert row.take.video_id is not None, "a rendering row has a video"
    try:
        video = await at.service.cancel(row.take.video_id)
    except ServiceError as error:
        observation = observation_of(error, at.clock())
        # Without a clear answer, too: a poll tells what became of it.
        return NotCancelled(str(error)) if isinstance(observation, Troubled) else observation
    charged = video.charged if video else None
    if edit_of(row.operation) and (earlier := await before_edit(at.ledger, row.take)):
        charged = earlier.cost_since(charged)
    return Released(charged)


# What the failure of a read tells: reading costs nothing, so every outcome may be asked again.


#: A 429 that names no moment closes the gate for this long, in seconds.
UNNAMED_WAIT = 60.0


def observation_of(error: ServiceError, now: float) -> Observation:
    """Return what the failure of a read tells; `now` is in Unix seconds."""
    match error:
        case RateLimited():
            return closed(error, now)
        case Unauthenticated() | Forbidden():
            return AccessDenied(str(error))
        case NotFound():
            return Missing()
        case NotSent():
            return NeverSent(str(error))
        case _:
            return Troubled(str(error))


def closed(error: RateLimited, now: float) -> Closed:
    """Return until when the gate is closed."""
    until = error.retry_at or datetime.fromtimestamp(now + UNNAMED_WAIT, UTC)
    return Closed(until, str(error))
