"""A plan as a document: stored with its approval, saved in a file, compared with what is true now.

A saved plan is a JSON file, or an HTML page with the same JSON in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection

from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.values import PAID, Change, FoundVideo, Plan, PlanLine
from callsheet.tasks.campaign.waits import later
from callsheet.tasks.ledger.campaigns import PaidElsewhere
from callsheet.tasks.ledger.diff import ACTIONS
from callsheet.tasks.ledger.plans import KeptPlan, PlanKind, add_approved
from callsheet.tasks.ledger.reviews import Review
from callsheet.tasks.runtime.errors import BadInput, MovedOn, SpendRefused, shorten
from callsheet.tasks.values.amounts import as_number, as_text, in_credits, parse_credits

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
#: Members of a line that say what a row asks for, and the field of PlanLine that each is.
_ASKED = {
    "title": "title",
    "operation": "operation",
    "tool": "tool",
    "duration_seconds": "length",
    "aspect_ratio": "ratio",
    "language": "language",
}


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
        },
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
        "late": [line.row for line in plan.late],
        "sandbox": plan.sandbox,
        **({"because": plan.because} if plan.because else {}),
        **({"cancelled_at": plan.cancelled_at} if plan.cancelled_at else {}),
    }


def _line_document(line: PlanLine) -> dict[str, object]:
    return {
        "row": line.row,
        "action": line.action,
        "edit_of": line.edit_of,
        "state": line.state,
        **({"was": line.was} if line.was else {}),
        "why": line.words,
        "adopts": line.found._asdict() if line.found else None,
        "digest": line.digest,
        "quoted": as_number(line.priced),
        "quoted_seconds": line.priced_for,
        "charged": as_number(line.charged),
        "max_credits": as_number(line.max_credits),
        "brand": line.brand,
        "tags": list(line.tags),
        **{name: getattr(line, field) for name, field in _ASKED.items()},
        "variant_of": line.variant_of,
        **(_row_document(line) if line.nth else {}),
    }


def _row_document(line: PlanLine) -> dict[str, object]:
    """Return what the line of a row says that was planned from the ledger."""
    review = None if line.review is None else asdict(line.review)
    return {"nth": line.nth, "take": line.take, "kept": line.kept, "review": review}


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
        sandbox=bool(document.get("sandbox")),
        because=document.get("because"),
        cancelled_at=document.get("cancelled_at"),
    )


def stored_plan(kept: KeptPlan) -> Plan:
    """Return a plan as the ledger has it, without rows where these were dropped since."""
    empty = {"campaign": kept.campaign, "rows": ()}
    return replace(plan_of(kept.document or empty), id=kept.id, by=kept.approval)


def _line_of(line: Mapping[str, Any]) -> PlanLine:
    asked = {field: line[name] for name, field in _ASKED.items() if line.get(name) is not None}
    ACTIONS[line["action"]]
    return PlanLine(
        **{"title": "", **asked},
        row=str(line["row"]),
        action=line["action"],
        edit_of=line.get("edit_of"),
        variant_of=line.get("variant_of"),
        found=FoundVideo(**line["adopts"]) if line.get("adopts") else None,
        state=line.get("state"),
        why=line.get("why"),
        digest=line.get("digest", ""),
        priced=parse_credits(line.get("quoted")),
        priced_for=line.get("quoted_seconds"),
        charged=parse_credits(line.get("charged")) or Decimal(0),
        max_credits=parse_credits(line.get("max_credits")),
        brand=line.get("brand"),
        tags=tuple(line.get("tags", ())),
        nth=line.get("nth", 0),
        take=line.get("take", 0),
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
    document = _compact_document(plan)
    add_approved(
        connection,
        plan_id,
        kind=kind,
        campaign=plan.campaign,
        document=document,
        total=plan.most,
        by=plan.by,
        at=at,
    )
    return replace(plan, id=plan_id, by=f"{plan.by}, plan {plan_id}")


def _compact_document(plan: Plan) -> str:
    """Return a plan as JSON text, with the rows that it pays for or takes over.

    A line at a time: ten thousand dicts take ten megabytes.
    """
    head = json.dumps(_head_document(plan), ensure_ascii=False)
    approved = (*plan.spending, *plan.adopting)
    lines = (json.dumps(_line_document(one), ensure_ascii=False) for one in approved)
    rows = ",".join(lines)
    return f'{head[:-1]}, "rows": [{rows}]}}'


# Plans in files.


def save_plan(
    document: Mapping[str, Any], path: Path, page: Callable[[Mapping[str, Any]], str] | None = None
) -> None:
    """Write a plan's document where `run --plan` can read it, as JSON or as a page of HTML.

    `page` makes the page, with the document in it. Raises BadInput when that fails.
    """
    try:
        text = page(document) if page else json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"the plan cannot be written to {path}: {error.strerror}") from error


def read_plan(path: Path) -> dict[str, Any]:
    """Return the document of a saved plan; raise BadInput for any other file."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix.lower() in PAGES:
            found = _IN_PAGE.search(text)
            text = found[1] if found else ""
        saved: dict[str, Any] = json.loads(text)
        if saved["format"] != FORMAT:
            raise ValueError("a plan of another version of Callsheet")
        # What cannot be shown was changed since it was saved.
        plan_of(saved)
        told = saved.get("terms", {})
        terms = RunOptions.of({name: told[name] for name in TERMS & told.keys()})
        return saved | {"terms": terms.kept()}
    except (OSError, ValueError, ArithmeticError, LookupError, TypeError, AttributeError) as error:
        raise BadInput(
            f"{path} is not a saved plan; nothing was spent",
            remedy="make one with `callsheet plan SHEET -o FILE`",
        ) from error


def check_saved_plan(plan: Plan, path: Path, *, tolerance: Decimal = Decimal(0)) -> None:
    """Raise SpendRefused, naming every row that moved, unless the saved plan still holds.

    A price may have changed by `tolerance`, a part of it (0.1 is a tenth).
    """
    check_holds(plan, read_plan(path), tolerance=tolerance, look=LOOK)


def check_not_taken_back(plan: Plan, path: Path) -> None:
    """Raise MovedOn where rows that a saved plan pays for ask for something else without a charge.

    A run that has nothing to approve compares no prices: those of approved rows were approved.
    """
    if moved := _taken_back(read_plan(path), plan):
        raise _moved_on(moved, look=LOOK)


# Whether a plan still holds.

#: The remedy for a saved plan that does not.
LOOK = "make a new plan (`callsheet plan SHEET -o FILE`) and approve that"


def check_holds(
    plan: Plan, saved: Mapping[str, Any], *, tolerance: Decimal = Decimal(0), look: str
) -> None:
    """Raise MovedOn unless all that `plan` spends is as in the document of an approved one.

    Raises SpendRefused for one that is of other money. `look` is the remedy.
    """
    check_money(saved.get("sandbox"), plan.sandbox, look=look)
    moved = moved_since(saved, plan, tolerance=tolerance, costlier=True)
    if moved:
        raise _moved_on(moved, look=look)


def _moved_on(moved: Sequence[str], *, look: str) -> MovedOn:
    words = "the sheet or the prices changed since the plan was approved; nothing was spent:"
    return MovedOn("\n  ".join([words, *moved]), remedy=look)


def moved_since(
    document: Mapping[str, Any],
    now: Plan,
    *,
    tolerance: Decimal = Decimal(0),
    costlier: bool = False,
) -> list[str]:
    """Say what is no longer as a plan's document says: campaign, rows, briefs, prices, who leaves.

    A price may have changed by `tolerance`, a part of it. With `costlier` what is not paid for or
    not retired any more is no matter, unless the row asks for something else.
    """
    campaign = document["campaign"]
    same = campaign == now.campaign
    moved = [] if same else [f"the plan is for campaign {campaign}, not {now.campaign}"]
    before = {line["row"]: line for line in document["rows"]}
    after = {line.row: line for line in (*now.spending, *now.adopting)}
    for row, line in after.items():
        moved += _moved(line, before.get(row), tolerance)
    shown = {(one["campaign"], row) for one in document.get("elsewhere", ()) for row in one["rows"]}
    moved += paid_since(shown, now.elsewhere)
    retries = document.get("retry_failed", 0)
    if now.retry_failed > retries:
        moved.append(f"{now.retry_failed} new attempts of a failed row now, {retries} then")
    left, gone_then = set(now.retiring), set(document.get("retiring", ()))
    gone = left - gone_then if now.needs_word or not costlier else set()
    if costlier:
        moved += _taken_back(document, now)
    else:
        why = {line.row: line.why for line in now.lines}
        paid = (row for row, line in before.items() if line["action"] in PAID)
        moved += [_unpaid(row, why.get(row)) for row in paid if row not in after]
        moved += [f"{row}: the sheet has it again" for row in sorted(gone_then - left)]
    moved += _unshown(document, now)
    if document.get("cancelled_at") != now.cancelled_at:
        moved.append(f"campaign {campaign} was cancelled meanwhile")
    return moved + [f"{row}: the sheet no longer has it" for row in sorted(gone)]


def _unpaid(row: str, why: str | None) -> str:
    return f"{row}: it is no longer paid for" + (f": {why}" if why else "")


def _taken_back(document: Mapping[str, Any], now: Plan) -> list[str]:
    """Say which rows that a plan pays for were edited since, and cost nothing now."""
    paid = {line["row"]: line for line in document["rows"] if line["action"] in PAID}
    return [
        f"{line.row}: the row was edited since{_edited(then, _line_document(line))}"
        for line in now.lines
        if (then := paid.get(line.row)) and then.get("digest") != line.digest
        if not line.spends and line.action not in ("adopt", "retire")
    ]


def _unshown(document: Mapping[str, Any], now: Plan) -> list[str]:
    """Say what would be changed besides making videos that a plan's document did not show.

    Retired rows are compared by themselves, and a budget is what the approval says.
    """
    shown = {one["words"] for one in document.get("changes", ())}
    said = (one for one in now.changes if one.what not in ("retire", "budget"))
    return [f"not in the plan: {one.words}" for one in said if one.words not in shown]


def paid_since(shown: Collection[tuple[str, str]], now: Iterable[PaidElsewhere]) -> list[str]:
    """Say which rows other campaigns have by now, besides those (campaign, row) that were shown."""
    return [
        f"{row}: campaign {one.campaign} {'approved' if row in one.approved else 'paid for'} it"
        for one in now
        for row in one.costs
        if (one.campaign, row) not in shown
    ]


def check_money(planned: bool | None, now: bool, *, look: str) -> None:
    """Raise SpendRefused where a sandbox has priced a plan and a service would be paid, or so.

    None: anyone who saved it did not say. `look` is the remedy.
    """
    if planned is None or planned == now:
        return
    then, here = ("a sandbox" if one else "a real service" for one in (planned, now))
    raise SpendRefused(
        f"the plan was made with {then}, and its videos would be made by {here}; nothing was spent",
        remedy=look,
    )


def _moved(line: PlanLine, saved: Mapping[str, Any] | None, tolerance: Decimal) -> list[str]:
    """Say what is another than in the saved line of a row that would be paid for now."""
    if saved is None:
        return [f"{line.row}: not in the plan, {in_credits(line.priced)} now"]
    if line.action == "adopt":
        shown = saved.get("adopts") or {}
        same = line.found is not None and line.found.video_id == shown.get("video_id")
        return [] if same else [f"{line.row}: the plan was not to take over this video"]
    if saved.get("action") not in PAID:
        then = saved.get("why") or saved.get("action")
        return [f"{line.row}: the plan was not to make it ({then}), {in_credits(line.priced)} now"]
    if saved.get("digest") != line.digest:
        return [f"{line.row}: the row was edited since{_edited(saved, _line_document(line))}"]
    if saved.get("edit_of") != line.edit_of:
        then, now = saved.get("edit_of"), line.edit_of
        return [f"{line.row}: {_how(then)} then, {_how(now)} now"]
    before = parse_credits(saved.get("quoted"))
    if before != line.priced and not _is_close(before, line.priced, tolerance):
        return [f"{line.row}: {in_credits(before)} then, {as_text(line.priced)} now"]
    return []


def _how(edit: str | None) -> str:
    return f"an edit of its {edit}" if edit else "a new video"


def _edited(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Say what an edited row asked for and asks for now, as far as a plan shows that."""
    names = [name for name in (*_ASKED, "quoted") if then.get(name) != now[name]]
    if not names:
        return " (not its title, length or price)"
    before, after = (
        ", ".join(_asked(name, one.get(name)) for name in names) for one in (then, now)
    )
    return f": {before} then; {after} now"


def _asked(name: str, value: object) -> str:
    if name == "quoted":
        return in_credits(parse_credits(value))
    if value is None:
        return f"no {_ASKED[name]}"
    if name == "title":
        return f'"{shorten(str(value), 40)}"'
    return f"{value} s" if name == "duration_seconds" else str(value)


def _is_close(before: Decimal | None, now: Decimal | None, tolerance: Decimal) -> bool:
    if before is None or now is None:
        return False
    return abs(now - before) <= before * tolerance
