"""`callsheet sandbox`: the whole video service on this machine, until it is stopped."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from callsheet.deployments.sandbox.options import OptionRefused, Options
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.settings import load_settings


def main(args: Namespace) -> int:
    """Serve; return 0 when told to stop. Raises BadInput for an option that cannot work."""
    state = Path(args.state) if args.state else load_settings().home / "sandbox"
    said: dict[str, Any] = {
        "port": args.port,
        "state": state,
        "render": args.render,
        "allow_loopback_webhooks": args.allow_loopback_webhooks,
        "webhook_vendor": args.webhook_vendor,
        "json": args.json,
        "rate": args.rate,
        "spend_limit": args.spend_limit,
        "retry_after": args.retry_after,
        "answers": args.answers,
        "script": Path(args.script) if args.script else None,
    }
    if args.credits is not None:
        said["credits"] = args.credits
    if args.time_scale is not None:
        said["time_scale"] = _number(args.time_scale)
    try:
        options = Options(**said)
    except OptionRefused as refusal:
        raise BadInput(str(refusal)) from refusal
    from callsheet.deployments.sandbox.serve import serve

    return serve(options)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise BadInput(f'--time-scale "{text}" is not a number') from error
