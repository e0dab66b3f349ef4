"""`callsheet run`: plan, ask once, produce, report.

Starts the sandbox that a run may need before anything heavy is imported, and ends it afterwards,
whatever happened.
"""

from __future__ import annotations

from argparse import Namespace
from contextlib import ExitStack

from callsheet.deployments.commands.options import (
    flow_parameters,
    ledger_note,
    options_of,
    settings_of,
    take_saved_plan,
)
from callsheet.deployments.new_ledger import prepare_ledger
from callsheet.deployments.process import run_command
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.redact import say
from callsheet.tasks.sheet.fetch import check_is_there


def main(args: Namespace) -> int:
    """Run a campaign from its sheet; the exit status is the outcome's."""
    take_saved_plan(args)
    # What cannot be read is said before anything is begun.
    options = options_of(args)
    found = settings_of(args)
    check_is_there(args.sheet)
    if not args.sandbox:
        found.service()
    if args.workers is not None:
        _check_workers(args, found)
    prepare_ledger(found, sandbox=args.sandbox)
    if note := ledger_note(found, args.sheet):
        say(str(note))
    with ExitStack() as stack:
        overrides = None
        if args.sandbox:
            from callsheet.deployments.servers import sandbox

            overrides = stack.enter_context(
                sandbox(found.home / "sandbox", time_scale=args.time_scale)
            )
        settings = settings_of(args, overrides)
        from callsheet.deployments.prefect_run import prefect_display
        from callsheet.deployments.servers import prefect_of
        from callsheet.deployments.terminal_run import run_here
        from callsheet.tasks.campaign.run import unwatched

        at = None if args.without_prefect else prefect_of(found.home)
        prefect = prefect_display(at, flow_parameters(args, options)) if at else unwatched
        return run_command(run_here(args, options, settings, prefect))


def _check_workers(args: Namespace, settings: Settings) -> None:
    """Raise a CallsheetError for options that workers cannot be had with."""
    from callsheet.deployments.up.up_file import sandbox_kept
    from callsheet.tasks.campaign.workers import check_workers

    if args.without_prefect:
        raise BadInput(
            "--workers and --without-prefect do not go together: workers are Prefect flow runs; "
            "nothing was spent",
            remedy="leave one of them out",
        )
    if args.sandbox and sandbox_kept(settings.home) is None:
        raise BadInput(
            "--workers and --sandbox need a sandbox that workers know; nothing was spent",
            remedy="start `callsheet up --sandbox` first",
        )
    check_workers(args.workers, settings)
