"""What films cost and how many come of what is paid: by tool, language, ratio and month.

A line is one combination of these, so lines add up to the campaign's account, and whoever wants
fewer of them sums the counts and amounts anew. Pure: takes in, lines out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, cast

from tasks.credits import MICRO, from_micro, to_micro

#: What takes are told apart by; `tool` is None where the script was written by hand.
_BY = ["month", "operation", "tool", "language", "aspect_ratio"]
COLUMNS = (
    *_BY, "takes", "paid", "delivered", "keep_rate", "charged", "reserved", "charged_per_film",
    "render_minutes", "film_minutes",
)  # fmt: skip


def analysis(made: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield a line for every month (UTC), operation, tool, language and ratio.

    A take is paid when it was charged for; `keep_rate` is the part of those that was delivered.
    What is charged for takes that came to nothing is part of `charged_per_film`. A render lasts
    from when the service took it to when it was seen to have ended, well or not.
    """
    import pandas as pd

    # Whole millionths: sums of them are exact.
    found = pd.DataFrame.from_records([_counted(line) for line in made])
    if found.empty:
        return
    sums = found.groupby(_BY, dropna=False, sort=False).sum()
    for line in sums.sort_index().reset_index().to_dict("records"):
        yield _line(cast("Mapping[str, Any]", line))


def _counted(line: Mapping[str, Any]) -> dict[str, Any]:
    paid, delivered = line["charged"] > 0, line["delivered_at"] is not None
    rendered = line["accepted_at"] is not None and line["ready_at"] is not None
    return {
        "month": f"{datetime.fromtimestamp(line['intended_at'], UTC):%Y-%m}",
        **{name: str(line[name] or "") for name in _BY[1:]},
        "takes": 1,
        "paid": int(paid),
        "delivered": int(delivered),
        "kept": int(paid and delivered),
        "charged": to_micro(line["charged"]),
        "reserved": to_micro(line["reserved"]),
        "render": line["ready_at"] - line["accepted_at"] if rendered else 0.0,
        "film": (line["seconds"] or 0.0) if delivered else 0.0,
    }


def _line(of: Mapping[str, Any]) -> dict[str, Any]:
    paid, films, charged = int(of["paid"]), int(of["delivered"]), from_micro(int(of["charged"]))
    return {
        **{name: of[name] or None for name in _BY},
        "takes": int(of["takes"]),
        "paid": paid,
        "delivered": films,
        "keep_rate": round(int(of["kept"]) / paid, 4) if paid else None,
        "charged": charged,
        "reserved": from_micro(int(of["reserved"])),
        "charged_per_film": (charged / films).quantize(Decimal(1) / MICRO) if films else None,
        "render_minutes": round(of["render"] / 60, 2),
        "film_minutes": round(of["film"] / 60, 2),
    }
