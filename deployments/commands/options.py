"""What the options of a command mean: settings, sheet options, amounts."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from decimal import Decimal

from tasks.credits import parse_credits
from tasks.errors import BadInput
from tasks.settings import Settings, load_settings
from tasks.sheet import SheetOptions


def settings_of(args: Namespace, overrides: Mapping[str, str] | None = None) -> Settings:
    """Return the settings in force for a command."""
    return load_settings(profile=args.profile, overrides=overrides)


def sheet_options(args: Namespace, settings: Settings) -> SheetOptions:
    """Return how the sheet is to be read."""
    return SheetOptions(
        campaign=args.campaign,
        budget=budget_of(args),
        delimiter=args.delimiter,
        worksheet=args.worksheet,
        name_template=settings.names,
    )


def budget_of(args: Namespace, option: str = "budget") -> Decimal | None:
    """Return `--budget`, or another such option; raise BadInput when it is not an amount."""
    text = getattr(args, option, None)
    if text is None:
        return None
    amount = parse_credits(text)
    if amount is None:
        named = option.replace("_", "-")
        raise BadInput(f'--{named} "{text}" is not an amount of credits; nothing was spent')
    return amount
