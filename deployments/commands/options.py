"""What the options of a command mean: settings, sheet options, amounts, flow parameters."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.home import is_here, last_run
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.logs import log_as
from callsheet.tasks.runtime.redact import redact, say, unsigned
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.values.amounts import as_number, parse_credits
from callsheet.tasks.values.briefs import origin_of

if TYPE_CHECKING:
    # Only commands that are given a sheet pay for reading one.
    from callsheet.tasks.campaign.options import RunOptions


def settings_of(args: Namespace, overrides: Mapping[str, str] | None = None) -> Settings:
    """Return the settings in force for a command, and for its sheet if it has one."""
    sheet = getattr(args, "sheet", None)
    overrides = overrides or getattr(args, "overrides", None)
    settings = load_settings(profile=args.profile, overrides=overrides, sheet=sheet)
    log_as(settings.log, settings.log_level)
    for remark in settings.remarks:
        _note(remark)
    return settings


@cache
def _note(words: str) -> None:
    """Say something once, however often the settings are asked for."""
    say(f"note {words}")


def ledger_note(settings: Settings, sheet: str) -> str | None:
    """Return where the sheet's ledger is or was, where this folder does not lead to it."""
    if settings.ledger_is_named:
        return None
    if not is_here(settings.home, Path.cwd()):
        return f"the ledger is in {settings.home}, which knows the sheet; this folder has none"
    origin = origin_of(sheet)
    last = last_run(settings.notes, origin.place) if origin else None
    if last is None or Path(last.home).is_dir():
        return None
    return f"{unsigned(sheet)} was last run with the ledger {last.ledger}, which is gone"


@contextmanager
def settings_for(args: Namespace) -> Iterator[Settings]:
    """Yield the settings in force; with `--sandbox` of a sandbox that lives as long as this."""
    with sandbox_for(args):
        yield settings_of(args)


@contextmanager
def sandbox_for(args: Namespace) -> Iterator[None]:
    """With `--sandbox` have a sandbox as long as this lasts, and its settings in force."""
    if not getattr(args, "sandbox", False):
        yield
        return
    from callsheet.deployments.servers import sandbox

    state = settings_of(args).home / "sandbox"
    scale = getattr(args, "time_scale", None)
    # Runs of a board or an agent outlive it, and go on with its next sandbox.
    keep_port = getattr(args, "command", None) in ("board", "mcp")
    with sandbox(state, time_scale=scale, keep_port=keep_port) as args.overrides:
        yield


def options_of(args: Namespace) -> RunOptions:
    """Return what a command asks of a run.

    Raises BadInput for an amount or a duration that cannot be read.
    """
    # `check` speaks to no ledger, and comes by here too.
    from callsheet.tasks.campaign.options import RunOptions

    # An amount that cannot be read is called by the option that was typed.
    given = vars(args) | {name: budget_of(args, name) for name in ("budget", "run_budget")}
    saved = getattr(args, "plan", None) is not None
    return RunOptions.of(given, saved_plan=saved, typed=tuple(typed_in(args)))


def take_saved_plan(args: Namespace) -> None:
    """Complete what was typed with the sheet and the options that `--plan FILE` was made with.

    `args.shown` is the plan that the file shows. Raises BadInput for a plan that cannot be read or
    was edited, and where nothing names a sheet.
    """
    if args.plan is not None:
        from callsheet.tasks.campaign.plan_document import read_plan

        saved = read_plan(Path(args.plan))
        args.shown = saved.plan
        for name, value in saved.terms.items():
            if not getattr(args, name, None):
                setattr(args, name, value)
    if not args.sheet:
        raise BadInput(
            "the run needs a sheet, or --plan with a plan that was made of one; nothing was spent",
            remedy="name it: `callsheet run SHEET`",
        )


def typed_in(args: Namespace) -> list[str]:
    """Return the options that a suggested run repeats: what shapes it, but for its campaign."""
    found = {name: getattr(args, name, None) for name in _REPEATED}
    hidden = {"skip": "--visible-only", "read": "--include-hidden"}.get(args.hidden_rows)
    canary = getattr(args, "canary", None)
    said = ["--canary", *([canary] if canary != "yes" else [])] if canary else []
    maps = [word for one in getattr(args, "map", None) or () for word in ("--map", one)]
    return (
        ([hidden] if hidden else [])
        + maps
        + said
        + [
            word
            for name, value in found.items()
            if value
            for word in (f"--{name.replace('_', '-')}", *([] if value is True else [str(value)]))
        ]
    )


_REPEATED = (
    "budget", "run_budget", "at_limit", "select", "first", "waves", "retry_failed", "edits",
    "delimiter", "worksheet", "profile", "sandbox", "time_scale", "max_wait", "yes_many",
    "repair", "yes", "json", "without_prefect",
)  # fmt: skip


def budget_of(args: Namespace, option: str = "budget") -> Decimal | None:
    """Return `--budget`, or another such option; raise BadInput when it is not an amount."""
    text = getattr(args, option, None)
    if text is None:
        return None
    amount = parse_credits(text)
    if amount is None:
        named = option.replace("_", "-")
        raise BadInput(
            f'--{named} "{text}" is not an amount of credits; write it like 1200 or '
            "12.5; nothing was spent"
        )
    return amount


# What a person typed for `callsheet run`, as the parameters of the flow that shows the run.
#
# Prefect's page then says what was asked for, and a run of these parameters asks for the same.


def flow_parameters(args: Namespace, options: RunOptions) -> dict[str, Any]:
    """Return the parameters of the flow `campaign` for a run of the command line."""
    given = vars(args)
    # The flow learns from its settings whether the service is a sandbox.
    alike = [name for name in type(options).model_fields if name in given and name != "sandbox"]
    return {
        **{name: given[name] for name in (*alike, "plan", "profile")},
        "budget": as_number(options.budget),
        "run_budget": as_number(options.run_budget),
        # For the eyes alone: the run is open already, and what signs an address stays here.
        "sheet": redact(args.sheet),
        "approve": "yes" if args.yes or args.plan else "ask",
    }
