"""What videos cost, and who is to pay for them: two sums over takes. Pure: takes in, lines out.

The lines of the analysis, one for every combination of tool, language, ratio and month, add up to
the campaign's account; so do those of cost centres. Those of tags do not: a row with several tags
counts under each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, cast

from callsheet.tasks.credits import MICRO, from_micro, to_micro

#: What takes are told apart by; `tool` is None where the script was written by hand.
_BY = ["month", "operation", "tool", "language", "aspect_ratio"]
#: The columns of `analysis`.
ANALYSIS = (
    *_BY, "takes", "paid", "delivered", "kept", "rejected", "keep_rate", "charged", "reserved",
    "charged_per_video", "charged_per_kept", "render_minutes", "video_minutes",
)  # fmt: skip


def analysis(made: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield a line for every month (UTC), operation, tool, language and ratio.

    A take is paid when it was charged for. `kept` and `rejected` are takes by what somebody said of
    their videos, `keep_rate` is the part of these that is kept. What is charged for takes that came
    to nothing is part of `charged_per_video` and `charged_per_kept`. A render lasts
    from when the service took it to when it was seen to have ended, well or not.
    """
    import pandas as pd

    # Whole millionths: sums of them are exact.
    found = pd.DataFrame.from_records([_counted(line) for line in made])
    if found.empty:
        return
    sums = found.groupby(_BY, dropna=False, sort=False).sum()
    for line in sums.sort_index().reset_index().to_dict("records"):
        yield _analysed(cast("Mapping[str, Any]", line))


def _counted(line: Mapping[str, Any]) -> dict[str, Any]:
    paid, delivered = line["charged"] > 0, line["delivered_at"] is not None
    rendered = line["accepted_at"] is not None and line["ready_at"] is not None
    return {
        "month": f"{datetime.fromtimestamp(line['intended_at'], UTC):%Y-%m}",
        **{name: str(line[name] or "") for name in _BY[1:]},
        "takes": 1,
        "paid": int(paid),
        "delivered": int(delivered),
        "kept": int(line["review"] == "keep"),
        "rejected": int(line["review"] == "reject"),
        "charged": to_micro(line["charged"]),
        "reserved": to_micro(line["reserved"]),
        "render": line["ready_at"] - line["accepted_at"] if rendered else 0.0,
        "video": (line["seconds"] or 0.0) if delivered else 0.0,
    }


def _analysed(of: Mapping[str, Any]) -> dict[str, Any]:
    videos, charged = int(of["delivered"]), from_micro(int(of["charged"]))
    kept, rejected = int(of["kept"]), int(of["rejected"])
    return {
        **{name: of[name] or None for name in _BY},
        "takes": int(of["takes"]),
        "paid": int(of["paid"]),
        "delivered": videos,
        "kept": kept,
        "rejected": rejected,
        "keep_rate": round(kept / (kept + rejected), 4) if kept + rejected else None,
        "charged": charged,
        "reserved": from_micro(int(of["reserved"])),
        "charged_per_video": _each(charged, videos),
        "charged_per_kept": _each(charged, kept),
        "render_minutes": round(of["render"] / 60, 2),
        "video_minutes": round(of["video"] / 60, 2),
    }


def _each(charged: Decimal, videos: int) -> Decimal | None:
    return (charged / videos).quantize(Decimal(1) / MICRO) if videos else None


#: The columns of `chargeback`.
CHARGEBACK = (
    "by", "name", "month", "rows", "takes", "charged", "reserved", "retakes", "retakes_charged",
    "note",
)  # fmt: skip
#: What stands beside every line of a tag.
ONCE_PER_TAG = "a row with several tags counts under each of them"


@dataclass
class _Sum:
    rows: set[str] = field(default_factory=set)
    takes: int = 0
    charged: Decimal = Decimal(0)
    reserved: Decimal = Decimal(0)
    retakes: int = 0
    retakes_charged: Decimal = Decimal(0)

    def add(self, line: Mapping[str, Any]) -> None:
        charged = line["charged"] or Decimal(0)
        self.rows.add(line["row"])
        self.takes += 1
        self.charged += charged
        self.reserved += line["reserved"]
        if line["take"] > 1:
            self.retakes += 1
            self.retakes_charged += charged


def chargeback(spent: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield a line for every cost centre and month, every tag and month, and one for all.

    A take belongs to the month (UTC) in which it was intended, and to the cost centre its row had
    then; takes without one have a line of their own, whose name is empty. Every take after the
    first of a row is a retake; what it cost is part of `charged`.
    """
    centres: dict[tuple[str, str], _Sum] = {}
    tags: dict[tuple[str, str], _Sum] = {}
    total = _Sum()
    for line in spent:
        month = f"{datetime.fromtimestamp(line['intended_at'], UTC):%Y-%m}"
        centres.setdefault((line["cost_center"] or "", month), _Sum()).add(line)
        for tag in dict.fromkeys(line["tags"]):
            tags.setdefault((tag, month), _Sum()).add(line)
        total.add(line)
    for (name, month), found in sorted(centres.items()):
        yield _charged("cost_center", name or None, month, found)
    for (name, month), found in sorted(tags.items()):
        yield _charged("tag", name, month, found, note=ONCE_PER_TAG)
    yield _charged("campaign", None, None, total, note="the sum of the cost centres")


def _charged(
    by: str, name: str | None, month: str | None, found: _Sum, *, note: str | None = None
) -> dict[str, Any]:
    return {
        "by": by,
        "name": name,
        "month": month,
        "rows": len(found.rows),
        "takes": found.takes,
        "charged": found.charged,
        "reserved": found.reserved,
        "retakes": found.retakes,
        "retakes_charged": found.retakes_charged,
        "note": note,
    }
