"""Opens the ledger and finds the campaign and rows that a command names."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from shlex import quote

from callsheet.deployments.at import At, campaign_in
from callsheet.deployments.commands.options import settings_of
from callsheet.tasks.ledger.board_settings import in_force
from callsheet.tasks.ledger.campaigns import Campaign, all_campaigns
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.people import Person
from callsheet.tasks.ledger.values import rows_of
from callsheet.tasks.runtime.errors import BadInput, LedgerError, NotHere
from callsheet.tasks.runtime.home import LastRun
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import user_name
from callsheet.tasks.runtime.suggest import suggest


@asynccontextmanager
async def reading(args: Namespace) -> AsyncIterator[At]:
    """Open the ledger that is there for whoever types; raise LedgerError when there is none.

    What is not in it is looked for in the ledgers of this user's other runs (`telling_where`).
    """
    settings = settings_of(args)
    person = Person(id=0, name=user_name(), role="admin")
    with telling_where(args):
        async with await open_ledger(settings.ledger, create=False) as ledger:
            settings = await ledger.read(in_force, settings=settings)
            yield At(settings=settings, ledger=ledger, person=person, sandbox=settings.sandbox)


@contextmanager
def telling_where(args: Namespace) -> Iterator[None]:
    """Have an error about what is not in the ledger tell which other ledger of this user has it."""
    settings = settings_of(args)
    try:
        yield
    except (NotHere, LedgerError) as error:
        words = [getattr(args, "campaign", None), *(getattr(args, "words", None) or ())]
        named = next((campaign_in(word) for word in words if word), None)
        if named is not None and (way := _way_to(named, settings, error)):
            error.remedy = way
        raise


def _way_to(campaign: str, settings: Settings, error: BadInput) -> str | None:
    """Return how to reach the ledger that has a campaign, where it is another of this user's."""
    from callsheet.tasks.campaign.quick_check import ledger_with

    there_is_one = not isinstance(error, NotHere) and not _is_missing(settings)
    if settings.ledger_is_named or there_is_one:
        return None
    run = ledger_with(campaign, settings)
    return None if run is None else f"{campaign} is in another ledger: {_step(run)}"


def _step(run: LastRun) -> str:
    home = Path(run.home)
    if run.ledger == f"sqlite:///{(home / 'ledger.db').resolve()}":
        return f"`cd {quote(str(home.parent))}`, then run the same command again"
    return f"set CALLSHEET_LEDGER={quote(run.ledger)}, then run the same command again"


def _is_missing(settings: Settings) -> bool:
    return not Path(settings.ledger.removeprefix("sqlite:///")).exists()


# Which campaign and rows `[CAMPAIGN] [ROW ...]` and `--select` mean.


async def campaign_and_words(args: Namespace, at: At) -> tuple[Campaign, list[str]]:
    """Return the campaign, the newest unless the first word names one, and the rows named.

    Raises BadInput for one word that could be either.
    """
    first, *others = args.words or [None]
    known = await at.read(all_campaigns)
    named = next((campaign for campaign in known if campaign.name == first), None)
    newest = await at.campaign(None)
    if named is None:
        return newest, list(args.words)
    rows = await at.read(rows_of, campaign_id=newest.id, row=first)
    if rows and named.id != newest.id and not others and not args.select:
        raise BadInput(
            f'"{first}" is a campaign, and a row of {newest.name}',
            remedy=f"`{suggest(args.command, newest.name, first)}` means the row, "
            f"`{suggest(args.command, first, '--select', '*')}` the campaign",
        )
    return named, others
