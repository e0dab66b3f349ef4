"""One run from the command line: the question, the picture, the signals, the last word."""

from __future__ import annotations

import hashlib
from argparse import Namespace
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path

from rich.console import Console

from callsheet.deployments.commands.check import show_sheet
from callsheet.deployments.commands.options import typed_in
from callsheet.deployments.commands.prune import prune
from callsheet.deployments.prefect_run import find_starter
from callsheet.deployments.process import stopping
from callsheet.deployments.progress import ProgressView
from callsheet.deployments.tables import show_plan, show_urgent_rows
from callsheet.deployments.terminal import (
    ask,
    at_terminal,
    consent,
    console_for,
    plain,
    print_json,
    say_moment,
    user_name,
)
from callsheet.flows.executor import run_sheet
from callsheet.tasks.aftercare.explain import run_line
from callsheet.tasks.aftercare.first_videos import say_waiting
from callsheet.tasks.aftercare.waiting import waiting_rows
from callsheet.tasks.campaign.approver import Approver
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan import check_retirement
from callsheet.tasks.campaign.report import say_elsewhere, say_outcome
from callsheet.tasks.campaign.run import Run, Watch
from callsheet.tasks.campaign.steps import say_hidden
from callsheet.tasks.campaign.validity import check_not_taken_back, check_valid
from callsheet.tasks.campaign.values import Plan, RunOutcome
from callsheet.tasks.campaign.waits import released, waiting_lines
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.values import NEEDS_PERSON
from callsheet.tasks.runtime.errors import ConfigurationError, MovedOn, SheetError, SpendRefused
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.redact import say, unsigned
from callsheet.tasks.runtime.suggest import suggest, suggest_run
from callsheet.tasks.sheet.fetch import fetch
from callsheet.tasks.values.amounts import count, in_credits
from callsheet.tasks.webhooks.listener import check_address


async def run_here(args: Namespace, options: RunOptions, settings: Settings, prefect: Watch) -> int:
    """Process a campaign from its sheet to its report; return the exit status."""
    find = partial(find_starter, settings.home, args.profile, verbose=args.verbose)
    outcome = await run_sheet(
        options,
        settings,
        _AtTerminal(args, settings),
        watch=partial(_shown, console=console_for(args), prefect=prefect),
        find_starter=None if args.workers is None else find,
    )
    document = outcome.as_json()
    if args.prune and outcome.exit_status not in (1, 2, 4):
        named = Namespace(**{**vars(args), "campaign": outcome.campaign})
        try:
            pruned = await prune(named)
            document["prune"] = pruned.model_dump()
            document["exit"] = outcome.exit_status or pruned.exit
        except SpendRefused:
            # The run is over, whatever the answer is to this question.
            say(f"nothing was deleted: `{suggest('prune', outcome.campaign)}` asks again")
    if args.json:
        print_json(document)
    return int(document["exit"])


@asynccontextmanager
async def _shown(run: Run, console: Console, prefect: Watch) -> AsyncIterator[None]:
    """Show the plan, the progress and the end, in Prefect too; stop the run at a signal."""
    run.on_plan = partial(_show, run, console)
    run.on_wait = _say_who_is_at_work
    run.on_note = say
    async with _receiver_of_run(run):
        with stopping(run):
            async with prefect(run):
                with ProgressView(console) as view:
                    run.listeners.append(view.on_snapshot)
                    run.on_quotes = view.quoting
                    yield
                # Before Prefect has shown it all: no one waits for that to see the videos.
                assert run.outcome is not None
                await _tell(run, run.outcome, console)


class _AtTerminal(Approver):
    """Asks the person who typed the command."""

    def __init__(self, args: Namespace, settings: Settings) -> None:
        self._args = args
        self._tolerance = settings.quote_tolerance
        # A saved plan approves the rows that it pays for, and no price of a later round.
        self.approves_later = not args.plan

    async def wants_hidden(self, rows: Sequence[str]) -> bool | None:
        """Ask whether videos are wanted of rows that the workbook hides; a plan said it already."""
        if self._args.plan:
            return True
        if self._args.yes or not at_terminal():
            return None
        videos = "a video of it" if len(rows) == 1 else "videos of them"
        answer = await ask(f"{say_hidden(rows)}. Make {videos} too?")
        if answer is False:
            say("the hidden rows are skipped (--visible-only skips them without asking)")
        return answer

    async def accepts_reading(self, words: str) -> bool:
        """Ask whether a sheet that is paid for means something else now; --yes is no word on it."""
        return at_terminal() and bool(await ask(f"{plain(words)}. Read it this way from now on?"))

    async def see(self, plan: Plan) -> Plan:
        """Raise SpendRefused for a saved plan whose edits were taken back since."""
        if self._args.plan:
            check_not_taken_back(self._args.shown, plan)
        return plan

    async def approve(self, plan: Plan) -> Plan:
        """Ask once, unless the answer was given beforehand.

        Raise SpendRefused for a no, and MovedOn for a sheet that was saved meanwhile: its old rows
        would be paid for now, and the changed ones with the next run.
        """
        approved = plan.approved(await _approval(self._args, self._tolerance, plan))
        await _check_sheet_unchanged(self._args.sheet, plan)
        return approved


@asynccontextmanager
async def rows_shown(run: Run, console: Console) -> AsyncIterator[None]:
    """Show rows of a campaign that are made without its sheet, and stop at a signal."""
    with stopping(run), ProgressView(console) as view:
        run.listeners.append(view.on_snapshot)
        yield
    if run.outcome is not None:
        await show_urgent_rows(run, console)


def show_outcome(outcome: RunOutcome, run: str, console: Console) -> None:
    """Print what rows of a campaign came to, and the command that goes on with them."""
    console.print(plain(say_outcome(outcome)))
    if outcome.exit_status == 5:
        words = outcome.words or "still under way"
        console.print(plain(f"parked: {words}; `{run}` goes on"))


def _show(run: Run, console: Console, plan: Plan) -> None:
    """Show what was checked, then the plan."""
    if run.sheet is not None:
        show_sheet(run.sheet, console)
    show_plan(plan, console)


def _say_who_is_at_work(words: str) -> None:
    say(f"{words}: waiting for it (--if-running leave exits instead)")


async def _approval(args: Namespace, tolerance: Decimal, plan: Plan) -> str:
    """Return who approves a plan, in words."""
    if args.plan:
        check_valid(args.shown, plan, tolerance=tolerance)
        return f"approved by {user_name()} with the plan {args.plan}"
    price = plan.credit_price
    credits = in_credits(plan.total, price)
    credits += _later(plan)
    more = f", though {' and '.join(say_elsewhere(plan))}" if plan.elsewhere else ""
    if plan.adopting:
        videos = f"take over {count(len(plan.adopting), 'video')} for 0 credits"
        more += f", and {videos}"
        if not plan.spending and not plan.needs_word:
            return await consent(args, f"{videos.capitalize()}?", what=f"to {videos} is")
    if not (plan.spending or plan.adopting or plan.needs_word):
        return await consent(args, "Change this?", what="what the plan changes is")
    if not plan.needs_word:
        verb = "is" if plan.total == 1 else "are"
        return await consent(args, f"Spend {credits}{more}?", what=f"{credits} {verb}")
    if not at_terminal():
        yes = [] if args.yes else ["--yes"]
        words = [*typed_in(args), *yes, "--retire"]
        check_retirement(plan, suggest_run(unsigned(args.sheet), plan.campaign, *words))
    # --yes is a word on credits, not on rows that may be missing by mistake.
    unasked = Namespace(**{**vars(args), "yes": False})
    rows = f"{len(plan.retiring):,} of {count(plan.live, 'row')}"
    if not plan.spending:
        return await consent(unasked, f"Retire {rows} that left the sheet?", what=f"{rows} are")
    question = f"Spend {credits}{more}, and retire {rows} that left the sheet?"
    return await consent(unasked, question, what=f"{credits} and {rows} to be retired are")


async def _check_sheet_unchanged(address: str, plan: Plan) -> None:
    """Raise MovedOn for a file that is not the sheet of the plan any more."""
    if changed := await _what_became_of(address, plan.sheet_digest):
        raise MovedOn(
            f"{address} {changed} since its plan was made; nothing was approved, nothing was spent",
            remedy="run the same command again and check the new plan",
        )


async def _what_became_of(address: str, digest: str | None) -> str | None:
    """Say how a file is not the sheet of this digest any more; None where it is.

    What can be read once, such as a pipe, and what has to be downloaded is what was read.
    """
    path = Path(address).expanduser()
    if address == "-" or "://" in address or (path.exists() and not path.is_file()):
        return None
    try:
        found = await fetch(address)
    except SheetError:
        return "is not there any more"
    return "was changed" if hashlib.sha256(found.content).hexdigest() != digest else None


async def say_if_edited(campaign: Campaign, console: Console) -> None:
    """Say that a sheet was edited since its last run, where rows are made without it."""
    sheet = campaign.sheet or "-"
    if await _what_became_of(sheet, campaign.sheet_digest) == "was changed":
        words = f"{sheet} was edited since its last run, and these rows are made as they were then"
        console.print(plain(f"{words}: `{run_line(campaign)}` shows what changed, and its price"))


def _later(plan: Plan) -> str:
    """Say what a second round would cost, which is approved with the first."""
    whole = released(plan)
    if not plan.is_released_by_checks or len(whole.spending) == len(plan.spending):
        return ""
    unpriced = whole.unpriced - plan.unpriced
    unknown = f" and {unpriced} at an unknown price" if unpriced else ""
    more = in_credits(whole.total - plan.total, plan.credit_price)
    return f" now, and {more}{unknown} more once the first videos pass their checks"


async def _tell(run: Run, outcome: RunOutcome, console: Console) -> None:
    """Show the one table at the end, and what comes next."""
    assert run.campaign is not None
    assert run.plan is not None
    if run.plan.moves_anything:
        await show_urgent_rows(run, console)
    console.print(plain(say_outcome(outcome)))
    console.print(plain(f"videos: {run.at.store.address}"))
    if outcome.exit_status == 5:
        moment = outcome.parked_until
        when = f" not before {say_moment(moment, up=True)}" if moment else ""
        say(
            f"parked: {outcome.words or 'some rows are not finished'}; "
            f"run the same command again{when}"
        )
    elif outcome.exit_status == 3 and outcome.words:
        say(outcome.words)
    elif outcome.exit_status == 3:
        await _tell_what_is_left(run, outcome)


async def _tell_what_is_left(run: Run, outcome: RunOutcome) -> None:
    """Say which rows need attention; those that wait for first videos went as planned."""
    assert run.campaign is not None
    assert run.plan is not None
    name, waiting = outcome.campaign, len(waiting_lines(run.plan))
    if not waiting or sum(outcome.tally.rows.get(state, 0) for state in NEEDS_PERSON) > waiting:
        say(
            f"some rows need attention: `{suggest('rows', name)}` shows which and why, "
            f"`{suggest('explain', name, 'ROW')}` shows what you can do about one"
        )
    if not waiting:
        return
    if await run.at.ledger.read(waiting_rows, campaign=run.campaign):
        say(
            "rows wait for the first videos: if these are good, "
            f"`{suggest('approve', name, '--run')}` keeps them and makes the next"
        )
    for words in await run.at.ledger.read(say_waiting, campaign=run.campaign):
        say(words)


@asynccontextmanager
async def _receiver_of_run(run: Run) -> AsyncIterator[None]:
    """Have webhooks received while the run lasts, where there is an address for them.

    With `--wait webhook` raises ConfigurationError where they cannot be; else videos are found by
    looking for them, which is said.
    """
    settings, wait = run.at.settings, run.options.wait
    if wait == "webhook":
        check_address(settings)
    if wait == "poll" or not (settings.webhook_url or settings.webhook_secret):
        yield
        return
    # Only a run that receives pays for the server.
    from callsheet.deployments.receiver.endpoint import AlreadyReceiving
    from callsheet.deployments.receiver.server import receiving

    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(receiving(run.at.ledger, settings))
        except AlreadyReceiving:
            pass
        except ConfigurationError as error:
            if wait == "webhook":
                raise
            say(f"this run receives no webhooks: {error}")
        yield
