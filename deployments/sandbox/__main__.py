"""The sandbox from the command line: `python -m callsheet.deployments.sandbox`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from callsheet.deployments.sandbox.options import Answers, OptionRefused, Options, RetryAfter


def main(words: Sequence[str] | None = None) -> int:
    """Read the options and serve."""
    said = vars(_parser().parse_args(words))
    try:
        options = Options(**said)
    except OptionRefused as refusal:
        print(refusal, file=sys.stderr)
        return 2
    # Only now: the web framework takes most of a second to import.
    from callsheet.deployments.sandbox.serve import serve

    return serve(options)


def _parser() -> argparse.ArgumentParser:
    usual = Options()
    parser = argparse.ArgumentParser(prog="sandbox", description="The video service on a laptop.")
    option = parser.add_argument
    option("--host", default=usual.host, help="a loopback address")
    option("--port", type=int, default=usual.port, help="0 takes any free one")
    option("--fd", type=int, metavar="NUMBER", help=argparse.SUPPRESS)
    option("--origin", metavar="URL", help="how others reach it; --host may then be any address")
    option("--key-file", type=Path, metavar="FILE", help="with the key that holds every scope")
    option("--state", type=Path, default=usual.state, help="where it keeps itself")
    option("--time-scale", type=float, default=usual.time_scale, help="60 makes minutes seconds")
    option("--render", choices=("real", "instant"), default=usual.render)
    option("--credits", type=int, default=usual.credits, help="the balance of a new state")
    option("--rate", type=int, default=usual.rate, help="paid calls allowed in a window")
    option("--rate-window", type=float, default=usual.rate_window, help="its length in seconds")
    option("--spend-limit", type=int, default=usual.spend_limit, help="credits in a window")
    option("--spend-window", type=float, default=usual.spend_window, help="its length in seconds")
    option("--retry-after", choices=get_args(RetryAfter), default=usual.retry_after)
    option("--allow-loopback-webhooks", action="store_true", help="for tests on one machine")
    option("--webhook-vendor", default=usual.webhook_vendor, help="X-<this>-Signature and so on")
    option("--answers", choices=get_args(Answers), default=usual.answers, help="in which shape")
    option("--script", type=Path, metavar="FILE", help="faults to plan, in TOML or JSON")
    option("--exit-with-parent", action="store_true", help="stop when stdin ends")
    option("--json", action="store_true", help="say in one line of JSON when it is ready")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
