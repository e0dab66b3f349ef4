"""A plan as a document: stored with its approval, or saved in a file.

A saved plan is a JSON file, or an HTML page with the same JSON in it. It has a digest of itself.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import orjson
from sqlalchemy import Connection

from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.report import say_limits
from callsheet.tasks.campaign.values import Change, FoundVideo, Plan, PlanLine
from callsheet.tasks.campaign.waits import later
from callsheet.tasks.ledger.campaigns import PaidElsewhere
from callsheet.tasks.ledger.diff import ACTIONS
from callsheet.tasks.ledger.plans import KeptPlan, PlanKind, add_approved, pack
from callsheet.tasks.ledger.reviews import Review
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.files import whole_file
from callsheet.tasks.values.amounts import CreditPrice, as_number, parse_credits
from callsheet.tasks.values.briefs import canonical_json

FORMAT = 1
#: Options that a saved plan brings along; a run of it needs to be told no other.
TERMS = frozenset((
    "sheet", "campaign", "budget", "select", "first", "canary", "waves", "retry_failed", "edits",
    "adopt", "map", "delimiter", "worksheet", "hidden_rows", "yes_many", "new_campaign",
    "same_campaign", "retire",
))  # fmt: skip
#: File names of plans that are pages.
PAGES = (".html", ".htm")
#: What encloses the document in a page.
_IN_PAGE = re.compile(r'<script type="application/json" id="plan">(.*?)</script>', re.DOTALL)
#: Members of a line that are as its fields are, and amounts; each with the field of PlanLine.
_PLAIN = {
    **{name: name for name in (
        "row", "action", "edit_of", "state", "digest", "title", "operation", "tool", "language",
        "brand", "variant_of",
    )},
    "duration_seconds": "length", "aspect_ratio": "ratio", "quoted_seconds": "priced_for",
}  # fmt: skip
_AMOUNTS = {"quoted": "priced", "charged": "charged", "max_credits": "max_credits"}


def plan_document(plan: Plan) -> dict[str, object]:
    """Return the plan as JSON: the document of `plan --json` and `plan -o FILE`."""
    return {**_head_document(plan), "rows": [_line_document(line) for line in plan.lines]}


def _head_document(plan: Plan) -> dict[str, object]:
    """Return what it says of all its rows together."""
    return {
        "format": FORMAT,
        "campaign": plan.campaign,
        "sheet": {"address": plan.sheet, "sha256": plan.sheet_digest},
        "credits": {
            "total": as_number(plan.total),
            "most": as_number(plan.most),
            "later": as_number(later(plan)),
            "unpriced": plan.unpriced,
            "committed": as_number(plan.committed),
            "budget": as_number(plan.budget),
            "left": as_number(None if plan.budget is None else plan.budget - plan.committed),
            "balance": as_number(plan.balance),
            "keep_rate": as_number(plan.keep_rate),
            "expected": as_number(plan.expected),
        },
        "limits": say_limits(plan),
        "elsewhere": [
            {
                "campaign": one.campaign,
                "rows": {r: as_number(c) for r, c in one.costs.items()},
                "approved": sorted(one.approved),
            }
            for one in plan.elsewhere
        ],
        "retiring": list(plan.retiring),
        "changes": [one._asdict() for one in plan.changes],
        "needs_word": plan.needs_word,
        "live": plan.live,
        "canary": plan.canary,
        "waves": list(plan.waves),
        "retry_failed": plan.retry_failed,
        "quote_tolerance": as_number(plan.tolerance),
        "late": [line.row for line in plan.late],
        "sandbox": plan.sandbox,
        **({"because": plan.because} if plan.because else {}),
        **({"cancelled_at": plan.cancelled_at} if plan.cancelled_at else {}),
    }


def _line_document(line: PlanLine) -> dict[str, object]:
    return {
        **{name: getattr(line, field) for name, field in _PLAIN.items()},
        **{name: as_number(getattr(line, field)) for name, field in _AMOUNTS.items()},
        "why": line.words,
        "adopts": line.found._asdict() if line.found else None,
        "tags": list(line.tags),
        **({"was": line.was} if line.was else {}),
        **({} if line.usual is None else {"usual": as_number(line.usual)}),
        **({"take": line.base or line.take} if line.base or line.take or line.nth else {}),
        **(_row_document(line) if line.nth else {}),
    }


def _row_document(line: PlanLine) -> dict[str, object]:
    """Return what the line of a row says that was planned from the ledger."""
    review = None if line.review is None else asdict(line.review)
    return {"nth": line.nth, "kept": line.kept, "review": review}


def plan_of(document: Mapping[str, Any]) -> Plan:
    """Return the plan that a document shows; raise an error of Python for one that shows none."""
    credits, sheet = document.get("credits", {}), document.get("sheet", {})
    return Plan(
        campaign=document["campaign"],
        sheet=sheet.get("address", ""),
        sheet_digest=sheet.get("sha256", ""),
        lines=tuple(map(_line_of, document["rows"])),
        budget=parse_credits(credits.get("budget")),
        committed=parse_credits(credits.get("committed")) or Decimal(0),
        balance=parse_credits(credits.get("balance")),
        keep_rate=parse_credits(credits.get("keep_rate")),
        elsewhere=tuple(
            PaidElsewhere(
                campaign_id=0,
                campaign=one["campaign"],
                costs={row: Decimal(str(cost)) for row, cost in one["rows"].items()},
                approved=frozenset(one.get("approved", ())),
            )
            for one in document.get("elsewhere", ())
        ),
        retiring=tuple(document.get("retiring", ())),
        changes=tuple(Change(**one) for one in document.get("changes", ())),
        needs_word=document.get("needs_word", False),
        live=document.get("live", 0),
        canary=document.get("canary", "no"),
        waves=tuple(document.get("waves", ())),
        retry_failed=document.get("retry_failed", 0),
        tolerance=parse_credits(document.get("quote_tolerance")) or Decimal(0),
        sandbox=bool(document.get("sandbox")),
        because=document.get("because"),
        cancelled_at=document.get("cancelled_at"),
    )


def stored_plan(kept: KeptPlan, price: CreditPrice | None = None) -> Plan:
    """Return a plan as the ledger has it, without rows where these were dropped since.

    `price` is what a credit costs, for words.
    """
    found = plan_of(kept.document or {"campaign": kept.campaign, "rows": ()})
    found = replace(found, credit_price=price, priced_at=kept.made_at)
    return replace(found, id=kept.id, by=kept.approval)


def _line_of(line: Mapping[str, Any]) -> PlanLine:
    said: dict[str, Any] = {"title": "", "digest": ""}
    said |= {field: line[name] for name, field in _PLAIN.items() if line.get(name) is not None}
    amounts = ((field, parse_credits(line.get(name))) for name, field in _AMOUNTS.items())
    said |= {field: amount for field, amount in amounts if amount is not None}
    ACTIONS[line["action"]]
    # The line of a sheet names the take that is edited, one of the ledger the row's present take.
    is_edit, take = bool(line.get("edit_of")) and not line.get("nth"), line.get("take", 0)
    return PlanLine(
        **{**said, "row": str(line["row"])},
        why=line.get("why"),
        found=FoundVideo(**line["adopts"]) if line.get("adopts") else None,
        tags=tuple(line.get("tags", ())),
        nth=line.get("nth", 0),
        base=take if is_edit else 0,
        take=0 if is_edit else take,
        kept=line.get("kept", False),
        review=Review(**line["review"]) if line.get("review") else None,
    )


def store_approved(
    connection: Connection,
    plan: Plan,
    *,
    at: float,
    kind: PlanKind = "run",
    plan_id: str | None = None,
) -> Plan:
    """Store a plan with the approval that it has; return it with its id, also in its words.

    Return the same plan if it was stored before the run, or if nothing needs approval. `plan_id` is
    what it is stored under, where another run has to find it. Call it in the transaction that
    approves the rows, so that the ledger has both or neither.
    """
    if plan.id is not None or not plan.by:
        return plan
    plan_id = plan_id or uuid4().hex
    add_approved(
        connection,
        plan_id,
        kind=kind,
        campaign=plan.campaign,
        document=pack(_compact_document(plan)),
        total=plan.most,
        by=plan.by,
        at=at,
    )
    return replace(plan, id=plan_id, by=f"{plan.by}, plan {plan_id}")


def _compact_document(plan: Plan) -> Iterator[bytes]:
    """Yield a plan as JSON, with the rows that it pays for or takes over.

    A line at a time: a hundred thousand dicts take two hundred megabytes.
    """
    yield orjson.dumps(_head_document(plan))[:-1] + b',"rows":['
    for n, line in enumerate(chain(plan.spending, plan.adopting)):
        yield b"," * bool(n) + orjson.dumps(_line_document(line))
    yield b"]}"


# Plans in files.


class SavedPlan(NamedTuple):
    """A plan of a file as it was shown, the options that it was made with, and all that it says."""

    path: Path
    plan: Plan
    terms: Mapping[str, Any]
    document: Mapping[str, Any]


def save_plan(
    document: Mapping[str, Any], path: Path, page: Callable[[Mapping[str, Any]], str] | None = None
) -> None:
    """Write a plan's document where `run --plan` can read it, as JSON or as a page of HTML.

    `page` makes the page, with the document in it. Raises BadInput when that fails.
    """
    saved = {**document, "digest": _digest(document)}
    text = page(saved) if page else json.dumps(saved, indent=2, ensure_ascii=False) + "\n"
    with whole_file(path) as file:
        file.write(text.encode())


def read_plan(path: Path) -> SavedPlan:
    """Return a saved plan; raise BadInput for any other file, or one that was edited."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix.lower() in PAGES:
            found = _IN_PAGE.search(text)
            text = found[1] if found else ""
        saved: dict[str, Any] = json.loads(text)
        if saved["format"] != FORMAT:
            raise ValueError("a plan of another version of Callsheet")
        is_edited = saved.pop("digest") != _digest(saved)
        plan, told = plan_of(saved), saved.get("terms", {})
        terms = RunOptions.of({name: told[name] for name in TERMS & told.keys()}).kept()
    except (OSError, ValueError, ArithmeticError, LookupError, TypeError, AttributeError) as error:
        raise BadInput(
            f"{path} is not a saved plan; nothing was spent",
            remedy="make one with `callsheet plan SHEET -o FILE`",
        ) from error
    if is_edited:
        raise BadInput(
            f"{path} was changed after it was saved; nothing was spent",
            remedy="change the sheet or the options, and make a new plan with "
            "`callsheet plan SHEET -o FILE`",
        )
    return SavedPlan(path, plan, terms, saved | {"terms": terms})


def _digest(document: Mapping[str, Any]) -> str:
    """Return the digest of a plan's document without its own; raise ValueError for NaN."""
    return hashlib.sha256(canonical_json(dict(document))).hexdigest()
