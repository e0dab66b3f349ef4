"""The name of a flow run: what somebody typed, else its campaign and the minute it began."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cache
from pathlib import PurePosixPath
from typing import Any, cast

from coolname.data import config
from prefect.runtime import flow_run

#: What the form of Prefect's page fills in: a star with a Greek letter, `lambda3-vega-cloud`.
_OF_THE_FORM = re.compile(
    r"(alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|omicron|pi|rho"
    r"|sigma|tau|upsilon|phi|chi|psi|omega)\d*(-[a-z]+){1,4}"
)


def run_name() -> str:
    """Name a flow run, unless it has a name that Prefect did not make up."""
    named = flow_run.name
    if named and not is_made_up(named):
        return str(named)
    asked: dict[str, Any] = flow_run.parameters or {}
    name = asked.get("campaign") or PurePosixPath(str(asked.get("sheet", ""))).stem or "campaign"
    return f"{name} {datetime.now(UTC):%Y-%m-%d %H:%M}"


def is_made_up(name: str) -> bool:
    """Whether a name is one that Prefect gives to runs without a name: `dancing-otter`."""
    if _OF_THE_FORM.fullmatch(name):
        return True
    words = name.split("-")
    return len(words) == 2 and _known_words().issuperset(words)


@cache
def _known_words() -> frozenset[str]:
    lists = cast(dict[str, dict[str, Any]], config)
    return frozenset(word for one in lists.values() for word in one.get("words", ()))
