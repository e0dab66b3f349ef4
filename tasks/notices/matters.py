"""What of a night needs a person, for how long it has, and whether that is worth telling again.

Pure: reports in, matters out. The same matter is told when it is new, and again after three nights,
a week, and then every week: with the subject saying how long, instead of the same mail each day.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from callsheet.tasks.credits import in_credits
from callsheet.tasks.ledger import NEEDS_PERSON
from callsheet.tasks.nights.sheet_answers import names_of
from callsheet.tasks.nights.values import NightReport, Outcome, SheetReport
from callsheet.tasks.notices.page_links import campaign_page
from callsheet.tasks.notices.values import Matter
from callsheet.tasks.plural import count
from callsheet.tasks.redact import redact
from callsheet.tasks.suggest import suggest, suggest_run

#: Problems or rows that are named of one matter.
NAMED = 4
#: After so many nights the same is told again; later every week.
AGAIN = (3, 7)
#: In this order they are told: what costs the most to leave alone first.
ORDER: Sequence[Outcome] = ("needs-person", "not-approved", "invalid", "parked", "set-aside")


@dataclass(frozen=True, kw_only=True)
class About:
    """What a notice told of: its night, the marks of its matters, and videos by campaign.

    `sheets` are marks of all sheets of the night; they are not kept. `told` is when each of the
    nights ended that it knew of, by date.
    """

    night: str
    marks: frozenset[str] = frozenset()
    videos: Mapping[str, int] | None = None
    sheets: frozenset[str] = field(default=frozenset(), compare=False)
    told: Mapping[str, float] | None = field(default=None, compare=False)

    def as_text(self) -> str:
        """Return it as the ledger keeps it."""
        said = {"night": self.night, "marks": sorted(self.marks), "videos": self.videos or {}}
        more = {} if self.told is None else {"told": dict(self.told)}
        return json.dumps(said | more, sort_keys=True)

    @classmethod
    def read(cls, text: str) -> About:
        """Read what `as_text` wrote."""
        told = json.loads(text)
        return cls(night=told["night"], marks=frozenset(told["marks"]), videos=told["videos"])


def nights_told(text: str) -> Mapping[str, float] | None:
    """Return when the nights ended that a notice knew of (`About.told`); None where it says none.

    Those of earlier releases say none.
    """
    told: Mapping[str, float] | None = json.loads(text).get("told")
    return told


def about(report: NightReport, matters: Iterable[Matter]) -> About:
    """Return what a notice of a night tells of."""
    videos = {one.campaign or one.sheet: len(one.delivered) for one in report.sheets}
    return About(
        night=report.night,
        marks=frozenset(matter.mark for matter in matters),
        videos={name: number for name, number in videos.items() if number},
        sheets=frozenset(_mark(one.name) for one in report.sheets),
    )


def matters_of(
    report: NightReport,
    before: Sequence[NightReport] = (),
    *,
    board: str | None = None,
    place: str | None = None,
    reasons: Mapping[str, Sequence[str]] | None = None,
) -> list[Matter]:
    """Return what needs a person; `before` are the nights before it, the last first.

    `place` is where the sheets lie, `reasons` are sentences of the rows that wait, by campaign.
    What is parked goes on by itself: it is a matter from its second night in a row on.
    """
    found = []
    for sheet in report.sheets:
        kind = _kind(sheet)
        if kind is None:
            continue
        since = _since(sheet, kind, before) or report.night
        nights = (date.fromisoformat(report.night) - date.fromisoformat(since)).days + 1
        if kind != "parked" or nights > 1:
            lines = (reasons or {}).get(sheet.campaign or "", ())
            matter = _matter(sheet, kind, board, place, lines)
            found.append(replace(matter, since=since, nights=nights))
    return sorted(found, key=lambda one: (ORDER.index(one.kind), -one.nights, one.sheet))


def is_worth(now: About, last: About | None, matters: Sequence[Matter], *, quiet: bool) -> bool:
    """Whether a night is to be told, after `last` was what was told before it.

    New videos, what is new or settled among the matters, and what has lasted for another while; a
    quiet inbox is told nothing else.
    """
    if last is None:
        return bool(now.videos or now.marks) or not quiet
    again = last.night == now.night
    if now.videos and not (again and now.videos == last.videos):
        return True
    # What a night did not come to has settled nothing.
    gone = (mark.split(":") for mark in last.marks - now.marks)
    settled = any(kind != "set-aside" and sheet in now.sheets for kind, sheet, _ in gone)
    if now.marks - last.marks or settled:
        return True
    if any(_is_due_again(matter, last.night) for matter in matters):
        return True
    return not quiet and not again and bool(now.sheets)


def longest(matters: Iterable[Matter]) -> int:
    """Return for how many nights the oldest of the matters has lasted; 0 without any."""
    lasting = (matter.nights for matter in matters if matter.kind != "set-aside")
    return max(lasting, default=0)


def steps(nights: int) -> int:
    """Return how often something that lasts for so many nights was to be told again."""
    return sum(nights >= step for step in AGAIN) + max(0, (nights - AGAIN[-1]) // 7)


def _is_due_again(matter: Matter, told: str) -> bool:
    then = (date.fromisoformat(told) - date.fromisoformat(matter.since)).days + 1
    return matter.kind != "set-aside" and steps(matter.nights) > steps(then)


def needing_of(sheet: SheetReport) -> int:
    """Return how many rows of a sheet wait for a person."""
    return sum(sheet.rows.get(state, 0) for state in NEEDS_PERSON) or len(sheet.needing)


def _kind(sheet: SheetReport) -> Outcome | None:
    if sheet.outcome in ("invalid", "not-approved", "set-aside"):
        return sheet.outcome
    if sheet.outcome == "needs-person" or needing_of(sheet):
        # Also where nothing has changed since: it waits all the same.
        return "needs-person"
    return "parked" if sheet.outcome == "parked" else None


def _since(sheet: SheetReport, kind: Outcome, before: Sequence[NightReport]) -> str | None:
    """Return the first of the nights in a row before this one that met the same; None for none."""
    since = None
    for night in before:
        if night.skipped is not None or not night.sheets:
            continue
        then = next((one for one in night.sheets if one.name == sheet.name), None)
        if then is None or _kind(then) != kind or not _is_same(sheet, then):
            break
        since = night.night
    return since


def _is_same(sheet: SheetReport, then: SheetReport) -> bool:
    """Whether some of what is the matter was so then."""
    mine, theirs = {*sheet.needing, *sheet.problems}, {*then.needing, *then.problems}
    return not mine or not theirs or bool(mine & theirs)


def _matter(
    sheet: SheetReport,
    kind: Outcome,
    board: str | None,
    place: str | None,
    reasons: Sequence[str],
) -> Matter:
    told = sorted({*sheet.problems, *sheet.needing, f"{sheet.rows.get('total', 0)}"})
    if kind == "parked":
        told = []
    # Rows say more of themselves in the ledger than by their ids.
    lines = reasons or sheet.problems or sheet.needing
    whole = max(len(lines), needing_of(sheet) if kind == "needs-person" else 0)
    button, link, command = _way_on(sheet, kind, board, place)
    return Matter(
        mark=f"{kind}:{_mark(sheet.name)}:{_mark(*told)}",
        kind=kind,
        sheet=sheet.name,
        campaign=sheet.campaign,
        title=_title(sheet, kind),
        words=_words(sheet, kind),
        lines=tuple(_line(sheet, line, to_type=not link) for line in lines[:NAMED]),
        more=max(0, whole - NAMED) if lines else 0,
        button=button if link else None,
        link=link,
        command=None if link else command,
    )


def _mark(*words: str) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:12]


def _words(sheet: SheetReport, kind: Outcome) -> str | None:
    """Return why it stands as it does, without what the title, the lines and the button say."""
    if sheet.unanswered is not None:
        return redact(sheet.unanswered)
    if kind == "invalid" and sheet.problems:
        return f"All of it is in {names_of(sheet.sheet)[1]}, beside the sheet."
    if sheet.words is None:
        return None
    words = redact(sheet.words).partition("; nothing was spent")[0]
    return words[:1].upper() + words[1:].rstrip(".") + "."


def _line(sheet: SheetReport, line: str, *, to_type: bool) -> str:
    """Return a problem without the name of its sheet, which stands above it.

    What is to be typed is left out where there is a button.
    """
    said = redact(line)
    if not to_type:
        said = re.sub(r"[:;(][^:;(]*`callsheet .*$", "", said).rstrip()
    if said.startswith(f"{sheet.sheet}:"):
        return re.sub(r"^(\d+) ", r"line \1, ", said[len(sheet.sheet) + 1 :])
    return said.removeprefix(f"{sheet.sheet} ").removeprefix(f"{sheet.sheet}, ")


def _title(sheet: SheetReport, kind: Outcome) -> str:
    if kind == "needs-person":
        rows = needing_of(sheet) or 1
        return f"{count(rows, 'video')} {'needs' if rows == 1 else 'need'} you"
    if kind == "not-approved":
        videos = sheet.rows.get("total", 0)
        what = count(videos, "video") if videos else "a plan"
        price = f" for {in_credits(sheet.asked)}" if sheet.asked is not None else ""
        waits = "waits" if videos <= 1 else "wait"
        return f"{what[:1].upper()}{what[1:]}{price} {waits} for your approval"
    if kind == "invalid":
        problems = len(sheet.problems)
        return f"{count(problems, 'problem')} in {sheet.sheet}" if problems else sheet.sheet
    if kind == "set-aside":
        return f"{sheet.sheet} is set aside until it changes"
    return f"{sheet.campaign or sheet.sheet} does not get on"


def _way_on(
    sheet: SheetReport, kind: Outcome, board: str | None, place: str | None
) -> tuple[str, str | None, str | None]:
    """Return what the button says, where it leads, and what to type where there is no board."""
    path = f"{place.rstrip('/')}/{sheet.sheet}" if place else sheet.sheet
    campaign, page = sheet.campaign or sheet.sheet, campaign_page(board, sheet.campaign)
    if kind == "needs-person":
        rows = needing_of(sheet)
        label = f"Decide on {count(rows, 'video')}" if rows else "See what helps"
        attention = campaign_page(board, sheet.campaign, "attention")
        return label, attention or sheet.link, suggest("rows", campaign)
    if kind == "not-approved":
        price = f" for {in_credits(sheet.asked)}" if sheet.asked is not None else ""
        return f"Look and approve{price}", sheet.link or page, suggest_run(path, campaign)
    if kind in ("invalid", "set-aside"):
        return "See every problem", sheet.link, suggest("check", path)
    return "See where it stands", page or sheet.link, suggest("status", campaign)
