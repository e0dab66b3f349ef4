"""`callsheet adopt`: takes over videos that were made elsewhere; nothing is paid."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from functools import partial
from typing import Any

from rich.console import Console

from callsheet.deployments.commands.check import show_findings
from callsheet.deployments.commands.options import options_of, settings_for
from callsheet.deployments.new_ledger import prepare_ledger
from callsheet.deployments.process import run_command
from callsheet.deployments.tables import show_plan
from callsheet.deployments.terminal import consent, console_for, plain, print_json
from callsheet.deployments.terminal_run import rows_shown
from callsheet.flows.executor import run_sheet
from callsheet.tasks.campaign.approver import Approver
from callsheet.tasks.campaign.report import say_outcome
from callsheet.tasks.campaign.stored_plans import plan_from, plan_with_prices
from callsheet.tasks.campaign.validity import check_valid
from callsheet.tasks.campaign.values import Plan
from callsheet.tasks.runtime.errors import SpendRefused
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.suggest import again_with
from callsheet.tasks.sheet import Sheet
from callsheet.tasks.values.amounts import count


def main(args: Namespace) -> int:
    """Show the videos that were found, ask, and have them delivered."""
    console = console_for(args)
    with settings_for(args) as settings:
        told = run_command(_adopt(args, settings, console))
    if args.json:
        print_json(told)
    return int(told["exit"])


async def _adopt(args: Namespace, settings: Settings, console: Console) -> dict[str, Any]:
    options = options_of(args).but(adopt=True, sandbox=settings.sandbox)
    sheet, plan, match = await plan_from(options, settings, plan_with_prices)
    show_findings(sheet, console)
    show_plan(plan, console)
    if match.refusal is not None:
        raise match.refusal
    told = _document(sheet, plan)
    if not plan.moves_anything:
        return told
    by = ""
    if plan.adopting:
        videos = count(len(plan.adopting), "video")
        verb = "is" if len(plan.adopting) == 1 else "are"
        try:
            by = await consent(
                args, f"Take over {videos} for 0 credits?", what=f"{videos} to take over {verb}"
            )
        except SpendRefused as refusal:
            refusal.document = told
            raise
    prepare_ledger(settings, sandbox=settings.sandbox)
    running = partial(run_sheet, options, settings, _Adopting(plan, by), sheet=sheet)
    outcome = await running(watch=partial(rows_shown, console=console))
    console.print(plain(say_outcome(outcome)))
    return {**told, **outcome.as_json(), "exit": outcome.exit_status or told["exit"]}


def _document(sheet: Sheet, plan: Plan) -> dict[str, Any]:
    """Return what was found, as `adopt --json` says it."""
    left = [line for line in plan.lines if line.action == "person"]
    return {
        "campaign": plan.campaign,
        "adopted": [
            {"row": line.row, **line.found._asdict()} for line in plan.adopting if line.found
        ],
        "needs_attention": [{"row": line.row, "why": line.why} for line in left],
        "notes": [str(note) for note in sheet.notes],
        "exit": 3 if left else 0,
    }


class _Adopting(Approver):
    """Approves the videos that were shown, and no others."""

    def __init__(self, shown: Plan, by: str) -> None:
        self._shown = shown
        self._by = by

    async def wants_hidden(self, rows: Sequence[str]) -> bool:
        """Return True: hidden rows are in the plan that was shown, and nothing is paid for them."""
        return True

    async def approve(self, plan: Plan) -> Plan:
        """Return the plan as approved; raise MovedOn for a video that was not shown."""
        check_valid(self._shown, plan, look=again_with())
        return plan.approved(self._by)
