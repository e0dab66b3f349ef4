"""What a person typed for `callsheet run`, as the parameters of the flow that shows the run.

Prefect's page then says what was asked for, and a run of these parameters asks for the same.
"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from callsheet.deployments.commands.options import budget_of
from callsheet.tasks.redact import redact

#: Options that are parameters of the same name and value.
_ALIKE = (
    "select", "at_limit", "max_wait", "plan", "if_running", "wait", "worksheet", "delimiter",
    "hidden_rows", "new_campaign", "same_campaign", "retire", "pay_again", "workers",
    "profile",
)  # fmt: skip


def flow_parameters(args: Namespace) -> dict[str, Any]:
    """Return the parameters of the flow `campaign` for a run of the command line."""
    amounts = {name: budget_of(args, name) for name in ("budget", "run_budget")}
    return {
        # For the eyes alone: the run is open already, and what signs an address stays here.
        "sheet": redact(args.sheet),
        "approve": "yes" if args.yes or args.plan else "ask",
        **{name: None if n is None else float(n) for name, n in amounts.items()},
        **{name: getattr(args, name) for name in _ALIKE},
    }
