"""Which campaign a sheet is: one it was before, a new one, or someone else's of the same name.

A file's name alone does not tell: a renamed sheet would be paid for again, and another client's
would remake and retire a campaign's rows. Nothing here writes to the ledger.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import chain, count
from pathlib import Path, PurePath

from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan import wanted_of
from callsheet.tasks.campaign.selection import check_selection
from callsheet.tasks.ledger.campaigns import (
    Campaign,
    PaidElsewhere,
    all_campaigns,
    campaigns_from,
    find_campaign,
    has_paid,
    is_begun,
    origins_of,
    paid_elsewhere,
)
from callsheet.tasks.ledger.database import ledger_file, ledger_url, shown_address
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.values import CampaignRow, rows_of
from callsheet.tasks.runtime.errors import Problem, SpendRefused
from callsheet.tasks.runtime.home import LastRun, last_run, note_run
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.suggest import suggest_run
from callsheet.tasks.sheet import Sheet
from callsheet.tasks.values.amounts import as_text
from callsheet.tasks.values.briefs import Brief, Json, canonical_json

#: From this part of the rows on, a sheet is taken for another one with the same rows.
ALIKE = 0.5
#: What tells a video from others of its kind; the rest is settings that all rows may share.
TELLING = ("title", "topic", "script", "narration", "image", "clip", "photos")


@dataclass(frozen=True, kw_only=True)
class Match:
    """What is known of a sheet besides its campaign's name.

    `refusal` stands in the way of spending; `elsewhere` was paid for in other campaigns, which a
    person said are other ones; `moved` says that a person gave the campaign this sheet.
    """

    refusal: SpendRefused | None = None
    elsewhere: tuple[PaidElsewhere, ...] = ()
    moved: bool = False


async def name_campaign(ledger: Ledger, sheet: Sheet, options: RunOptions) -> Sheet:
    """Return the sheet under the campaign it was run as before, where only its file names it.

    What was tried with `--sandbox` is another campaign than what is made with the service.
    """
    if not sheet.named_after_file or options.new_campaign:
        return sheet
    before: list[tuple[int, str]] = []
    if sheet.origin is not None:
        before = await ledger.read(campaigns_from, origin=sheet.origin)
    # Read after it, so that a campaign which another run makes meanwhile is among them.
    known = {one.name: one for one in await ledger.read(all_campaigns)}
    for number, name in before:
        if is_other_money(known[name], sandbox=options.sandbox):
            continue
        if name == sheet.campaign:
            return sheet
        if are_alike(sheet.briefs, await ledger.read(rows_of, campaign_id=number)):
            words = f"continues campaign {name}, as in its last run"
            return _renamed(sheet, name, words)
    campaign = known.get(sheet.campaign)
    if campaign is None or not is_other_money(campaign, sandbox=options.sandbox):
        return sheet
    if not await ledger.read(is_begun, campaign_id=campaign.id):
        return sheet
    name = _beside(campaign, known, options)
    is_real = f"is campaign {name} here, since {campaign.name} is made with a real service"
    tried = f"is campaign {name} from now on, since {campaign.name} was only tried with --sandbox"
    return _renamed(sheet, name, is_real if options.sandbox else tried)


def is_other_money(campaign: Campaign, *, sandbox: bool) -> bool:
    """Return whether a campaign has a sandbox's videos and the run would make real ones, or so."""
    return campaign.sandbox is not None and campaign.sandbox != sandbox


def check_same_money(campaign: Campaign, *, sandbox: bool) -> None:
    """Raise SpendRefused for what a sandbox was to make and a service would, or the reverse."""
    if is_other_money(campaign, sandbox=sandbox):
        raise SpendRefused(_other_money_words(campaign, sandbox=sandbox))


def _other_money_words(campaign: Campaign, *, sandbox: bool) -> str:
    tried = "was only tried with --sandbox: its videos and credits are not real"
    real = "was made with the real service, and --sandbox would mix test videos with its videos"
    return f"campaign {campaign.name} {real if sandbox else tried}; nothing was spent"


def _beside(campaign: Campaign, known: Mapping[str, Campaign], options: RunOptions) -> str:
    """Return a name for the same sheet's campaign with the other service; one there is goes on."""
    stem = f"{campaign.name}-{'sandbox' if options.sandbox else 'real'}"
    names = chain([stem], (f"{stem}-{number}" for number in count(2)))
    return next(
        name
        for name in names
        if name not in known or not is_other_money(known[name], sandbox=options.sandbox)
    )


def _renamed(sheet: Sheet, campaign: str, words: str) -> Sheet:
    note = Problem(file=sheet.name, message=words)
    return replace(sheet, campaign=campaign, notes=(*sheet.notes, note))


async def match_sheet(
    ledger: Ledger | None, sheet: Sheet, options: RunOptions, settings: Settings | None = None
) -> Match:
    """Judge whether the sheet is its campaign's, or one that was paid for under another name.

    With settings, a ledger that has paid nothing for it is refused where another one has.
    """
    campaign = None
    if ledger is not None:
        campaign = await ledger.read(find_campaign, name=sheet.campaign)
        if campaign is not None and is_other_money(campaign, sandbox=options.sandbox):
            # What was approved of a trial is not approved with a service that costs.
            if await ledger.read(is_begun, campaign_id=campaign.id):
                return Match(refusal=await _other_service(ledger, sheet, options, campaign))
        elif campaign is not None and await ledger.read(has_paid, campaign_id=campaign.id):
            return await _match_known(ledger, sheet, options, campaign)
    if settings is not None and not options.new_campaign:
        used = _used_elsewhere(settings, sheet)
        if used is not None:
            return Match(refusal=_in_another_ledger(used, settings, sheet, options))
    return Match() if ledger is None else await _match_new(ledger, sheet, options, campaign)


def note_ledger(settings: Settings, sheet: Sheet) -> None:
    """Note that this ledger has paid for the sheet, for runs that are started elsewhere."""
    if sheet.origin is not None:
        last = LastRun(
            sheet=sheet.origin.place, ledger=_shown(settings.ledger), home=str(settings.home)
        )
        note_run(settings.notes, last)


def are_alike(briefs: Sequence[Brief], rows: Sequence[CampaignRow]) -> bool:
    """Return whether a sheet and a campaign's rows are the same, give or take some editing.

    Rows of which nothing is approved or paid for do not count: a refused run may have left them.
    """
    rows = [row for row in rows if row.take or row.state == "approved"] or rows
    live = [row for row in rows if row.state != "retired"] or rows
    known = {row.row: row for row in rows}
    pairs = ((known.get(brief.row) or known.get(brief.earlier_id or ""), brief) for brief in briefs)
    same = sum(row is not None and _is_same(row, brief) for row, brief in pairs)
    return same >= ALIKE * min(len(briefs), len(live))


def _used_elsewhere(settings: Settings, sheet: Sheet) -> LastRun | None:
    """Return with what the sheet was last run, where that is another ledger and still there.

    Anyone who names a ledger means it.
    """
    if settings.ledger_is_named or sheet.origin is None:
        return None
    last = last_run(settings.notes, sheet.origin.place)
    if last is None or last.ledger == _shown(settings.ledger):
        return None
    file = ledger_file(ledger_url(last.ledger))
    return last if file is None or file.exists() else None


def _in_another_ledger(
    used: LastRun, settings: Settings, sheet: Sheet, options: RunOptions
) -> SpendRefused:
    home = Path(used.home)
    own = used.ledger == _shown(f"sqlite:///{home / 'ledger.db'}")
    address = used.sheet if own else sheet.address
    again = suggest_run(address, sheet.campaign, *options.typed)
    there = f"cd {shlex.quote(str(home.parent))} && " if own else ""
    there = there or f"CALLSHEET_LEDGER={shlex.quote(used.ledger)} "
    old = f"ledger in {home}" if own else f"ledger {used.ledger}"
    new = _shown(settings.ledger).removeprefix("sqlite:///")
    return SpendRefused(
        f"{sheet.name} was last run with the {old}, and the one of this folder, {new}, has paid "
        "for nothing of it; nothing was spent",
        remedy=f"to continue with that ledger:\n  {there}{again}\n"
        "to make the videos with this one, and perhaps pay for them a second time:\n"
        f"  {suggest_run(sheet.address, sheet.campaign, *options.typed, '--new-campaign')}",
    )


def _shown(address: str) -> str:
    """Return a ledger's address, whole and without its password."""
    url = ledger_url(address)
    file = ledger_file(url)
    if file is not None:
        url = url.set(database=str(file.resolve()))
    return shown_address(url)


async def _match_known(
    ledger: Ledger, sheet: Sheet, options: RunOptions, campaign: Campaign
) -> Match:
    """Judge by where the campaign's sheets come from; without that, by its last sheet's address."""
    origins = await ledger.read(origins_of, campaign_id=campaign.id)
    if sheet.origin in origins or (not origins and campaign.sheet in (sheet.address, None)):
        return Match()
    rows = await ledger.read(rows_of, campaign_id=campaign.id)
    if are_alike(sheet.briefs, rows):
        return Match()
    if options.same_campaign:
        return Match(moved=True)
    other = await _free_name(ledger, sheet)
    own = origins[0] if origins else campaign.sheet
    words = f"campaign {campaign.name} was made from {own}, and {sheet.address} has few of its "
    words += f"rows: this run would {_damage(sheet.briefs, rows)}; nothing was spent"
    return Match(
        refusal=SpendRefused(
            words,
            remedy=f"to make {sheet.name} a campaign of its own:\n"
            f"  {suggest_run(sheet.address, other, *options.typed)}\n"
            f"to have it as the sheet of {campaign.name} from now on:\n"
            f"  {suggest_run(sheet.address, campaign.name, *options.typed, '--same-campaign')}",
        )
    )


async def _other_service(
    ledger: Ledger, sheet: Sheet, options: RunOptions, campaign: Campaign
) -> SpendRefused:
    known = {one.name: one for one in await ledger.read(all_campaigns)}
    other = _beside(campaign, known, options)
    return SpendRefused(
        _other_money_words(campaign, sandbox=options.sandbox),
        remedy="to make a separate campaign:\n"
        f"  {suggest_run(sheet.address, other, *options.typed)}",
    )


async def _match_new(
    ledger: Ledger, sheet: Sheet, options: RunOptions, campaign: Campaign | None
) -> Match:
    which = RowFilter.parse(options.select)
    if campaign is None:
        check_selection(which, sheet.briefs)
    briefs = [one for one in sheet.briefs if one.enabled and which.matches(one, "planned")]
    number = campaign.id if campaign else None
    wanted = wanted_of(briefs, {one.row for one in briefs})
    found = tuple(
        await ledger.read(
            paid_elsewhere, campaign_id=number, wanted=wanted, sandbox=options.sandbox
        )
    )
    paid = {row for one in found for row in one.costs}
    if not paid or len(paid) < ALIKE * len(briefs) or options.new_campaign:
        return Match(elsewhere=found)
    first = found[0]
    costs = {row: cost for one in reversed(found) for row, cost in one.costs.items()}
    credits = as_text(sum(costs.values(), Decimal(0)))
    whose = [
        f"campaign {one.campaign} {one.verb} {len(one.costs)} of {len(briefs)} rows"
        for one in found
    ]
    words = f"{', '.join(whose)}; nothing was spent"
    return Match(
        elsewhere=found,
        refusal=SpendRefused(
            words,
            remedy=f"to continue {first.campaign}:\n"
            f"  {suggest_run(sheet.address, first.campaign, *options.typed)}\n"
            f"to make them again as {sheet.campaign} ({credits} credits):\n"
            f"  {suggest_run(sheet.address, sheet.campaign, *options.typed, '--new-campaign')}",
        ),
    )


def _is_same(row: CampaignRow, brief: Brief) -> bool:
    """Return whether a row and a brief with its id are about the same video, edited or not."""
    if row.digest == brief.digest:
        return True
    old, new = _told(row.asked()), _told(json.loads(canonical_json(brief.request)))
    names = old.keys() | new.keys()
    same = sum(old.get(name) == new.get(name) for name in names)
    return bool(names) and same >= ALIKE * len(names)


def _told(request: Mapping[str, Json]) -> dict[str, Json]:
    """Return what tells a video from others; a tool's inputs are such, each for itself."""
    told = {name: request[name] for name in TELLING if name in request}
    return told | {f"fields.{name}": value for name, value in (request.get("fields") or {}).items()}


def _damage(briefs: Sequence[Brief], rows: Sequence[CampaignRow]) -> str:
    digests = {name: brief.digest for brief in briefs for name in (brief.was, brief.row)}
    live = [row for row in rows if row.state != "retired"]
    remade = sum(row.row in digests and digests[row.row] != row.digest for row in live)
    retired = sum(row.row not in digests for row in live)
    several = [f"make {remade} of its videos anew"] * bool(remade)
    several += [f"retire {retired} of its {len(live)} rows"] * bool(retired)
    return " and ".join(several) or "add to it"


async def _free_name(ledger: Ledger, sheet: Sheet) -> str:
    """Return a name for a campaign that there is not, after the worksheet or the folder."""
    own = ""
    if sheet.origin is not None:
        folder = PurePath(sheet.origin.place).parent.name
        own = re.sub(r"[^a-z0-9]+", "-", (sheet.origin.worksheet or folder).casefold()).strip("-")
    known = {campaign.name for campaign in await ledger.read(all_campaigns)}
    stem = f"{sheet.campaign[:40]}-{own[:30]}".strip("-")
    numbered = (f"{stem}-{number}" for number in count(2))
    return next(name for name in chain([stem], numbered) if name not in known)
