"""Writes a digest or an alarm as an email and as chat text. Pure.

Text from sheets, services and people is always escaped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from callsheet.tasks.nights.calendar import read_zone
from callsheet.tasks.notices.action_items import CampaignFigures, Contents, Letter, Matter, longest
from callsheet.tasks.runtime.errors import shorten
from callsheet.tasks.runtime.redact import one_line
from callsheet.tasks.values.amounts import CreditPrice, as_text, count, in_credits, in_table

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

#: Action items and campaigns in one email; the others are counted.
MOST = 12
#: Action items in a chat message.
FEW = 5
#: Maximum characters of a video's title below its picture.
TITLE = 44
#: Notes for sheets that no video was made of.
_SAID: Mapping[str, str] = {
    "not-approved": "waits for approval",
    "invalid": "fix the sheet",
    "set-aside": "set aside until it changes",
}


def digest_letter(contents: Contents, *, sample: bool = False) -> Letter:
    """Return the digest of a nightly run; `sample` marks one that only tests an address."""
    subject = subject_of(contents)
    subject = f"Sample: {subject}" if sample else subject
    words = _words(contents, subject, sample=sample)
    pictures = {video.part: video.jpeg for video in contents.videos if video.jpeg}
    html = _filled("digest.html", words, pictured=bool(pictures))
    return Letter(
        subject=subject,
        html=html,
        bare=_filled("digest.html", words, pictured=False) if pictures else html,
        text=_filled("digest.txt", words, pictured=False).strip() + "\n",
        short=_short(contents),
        pictures=pictures,
    )


def alarm_letter(
    subject: str, lines: tuple[str, ...], *, inbox: str, link: str | None = None
) -> Letter:
    """Return a short alarm: a nightly run failed."""
    words = {"subject": subject, "lines": lines, "inbox": inbox, "link": link}
    html = _filled("alarm.html", words, pictured=False)
    text = "\n\n".join((subject, *lines, *((link,) if link else ()), f"-- \nCallsheet, {inbox}"))
    short = "\n".join((*lines, *((link,) if link else ())))
    return Letter(subject=subject, html=html, bare=html, text=f"{text}\n", short=short)


def _words(contents: Contents, subject: str, *, sample: bool) -> dict[str, Any]:
    told = sorted(told_of(contents) or contents.lines, key=lambda line: line.name)
    ready, total = videos_of(told_of(contents) or contents.lines)
    return {
        "subject": subject,
        "verdict": verdict_of(contents),
        "sample": sample,
        "contents": contents,
        "night": f"{contents.night:%A} {contents.night.day} {contents.night:%B}",
        "matters": contents.matters[:MOST],
        "more_matters": max(0, len(contents.matters) - MOST),
        "lines": told[:MOST],
        "more_lines": max(0, len(told) - MOST),
        "unchanged": len(contents.lines) - len(told),
        "ready": ready,
        "total": total,
        "moment": _moments(contents.zone),
    }


def _notes(line: CampaignFigures, price: CreditPrice | None) -> list[str]:
    """Return the notes next to the figures of a campaign."""
    needing = f"{count(line.needing, 'video')} {'needs' if line.needing == 1 else 'need'} you"
    notes = {
        needing: line.needing,
        f"{line.under_way:,} under way": line.under_way,
        **dict.fromkeys(_named(line), True),
        _SAID.get(line.outcome, ""): line.outcome in _SAID,
        f"{in_table(line.per_kept, price)} a kept video": line.per_kept is not None,
    }
    return [words for words, is_so in notes.items() if is_so]


#: Late rows, and rows of deleted videos, that are named at most.
LISTED = 5


def _named(line: CampaignFigures) -> list[str]:
    """Return the rows that are late, and those whose videos were deleted at the service."""
    found = {"late": line.late, "deleted at the service (keep_at_service)": line.deleted}
    return [
        f"{what}: {', '.join(rows[:LISTED])}"
        + (f" and {len(rows) - LISTED:,} more" if len(rows) > LISTED else "")
        for what, rows in found.items()
        if rows
    ]


def _more_to_pay(line: CampaignFigures, price: CreditPrice | None) -> str:
    """Return the forecast cost if it is more than what is charged and reserved, else nothing."""
    if line.forecast is None or line.forecast <= line.charged + line.reserved:
        return ""
    return f"{in_table(line.forecast, price)} when all are made"


def _short(contents: Contents) -> str:
    """Return a few lines: action items with links, new videos, the next nightly run."""
    told = []
    for matter in contents.matters[:FEW]:
        told.append(f"- {_where(matter)}{matter.title}{_lasting(matter)}: {_way(matter)}")
    if len(contents.matters) > FEW:
        told.append(f"- and {len(contents.matters) - FEW} more")
    told += [f"- {line.name}: {words}" for line in contents.lines[:FEW] for words in _named(line)]
    fresh = sum(line.fresh for line in contents.lines)
    if fresh:
        page = next((line.link for line in contents.lines if line.fresh and line.link), None)
        told.append(f"- {count(fresh, 'new video')}" + (f": {page}" if page else ""))
    told.append(f"- {in_credits(contents.charged, contents.credit_price)} in this run")
    if contents.next_at is not None:
        told.append(f"- Next nightly run: {_moments(contents.zone)(contents.next_at)}")
    return "\n".join(map(one_line, told))


def _where(matter: Matter) -> str:
    name = matter.campaign or matter.sheet
    return "" if name in matter.title else f"{name}: "


def _lasting(matter: Matter) -> str:
    return f" (for {count(matter.nights, 'night')})" if matter.nights > 1 else ""


def _way(matter: Matter) -> str:
    return matter.link or (f"`{matter.command}`" if matter.command else "")


def _moments(zone: str) -> Callable[[float], str]:
    """Return a function that formats a time in a zone: Tuesday 24 November, 02:00."""
    own = read_zone(None if zone == "local" else zone)

    def moment(at: float) -> str:
        here = datetime.fromtimestamp(at, UTC).astimezone(own)
        return f"{here:%A} {here.day} {here:%B}, {here:%H:%M}"

    return moment


def _filled(template: str, words: dict[str, Any], *, pictured: bool) -> str:
    return _templates().get_template(template).render(pictured=pictured, **words)


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("callsheet.tasks.notices"),
        # Plain text needs no escaping.
        autoescape=lambda name: name is not None and name.endswith(".html"),
        undefined=StrictUndefined,
        finalize=_safe,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {"credits": in_credits, "amount": as_text, "coded": _coded}
    templates.filters |= {"short": partial(shorten, limit=TITLE), "notes": _notes}
    templates.globals |= {"count": count, "percent": _percent, "where": _where, "lasting": _lasting}
    templates.globals |= {"more_to_pay": _more_to_pay}
    return templates


def _safe(value: Any) -> Any:
    """Return a text of a sheet on one line; HTML as it is."""
    return one_line(value) if type(value) is str else value


def _coded(text: str) -> Markup:
    """Return text as HTML, with the parts between backticks as code."""
    from markupsafe import Markup, escape

    code = r'<code style="font-family:ui-monospace,Menlo,Consolas,monospace">\1</code>'
    return Markup(re.sub("`([^`]*)`", code, str(escape(text))))


def _percent(part: Any, whole: Any) -> int:
    """Return a share in whole percents, rounded down."""
    return max(0, min(100, int(100 * part / whole))) if whole else 0


# The result of a nightly run in one line: the subject of its email. Pure.


#: After this many nights the subject says how long an item has been waiting.
LONG = 3


def subject_of(contents: Contents) -> str:
    """Return the subject: how long the oldest action item has waited, then the result."""
    nights = longest(contents.matters)
    urgent = f"Waiting for {nights} nights – " if nights >= LONG else ""
    return " ".join(one_line(f"{urgent}{verdict_of(contents)}").split())


def verdict_of(contents: Contents) -> str:
    """Return the result: videos ready, videos that need attention, credits."""
    lines = told_of(contents)
    if len(lines) == 1:
        return f"{lines[0].name}: {', '.join(_of_one(lines[0], contents))}"
    if not lines:
        rest = count(len(contents.lines), "campaign")
        what = f"{rest} as {'it was' if len(contents.lines) == 1 else 'they were'}"
        return f"Nothing to do: {what}" if contents.lines else "Nothing to do: no sheets"
    return f"{count(len(lines), 'campaign')}: {', '.join(_of_several(lines, contents))}"


def videos_of(lines: Iterable[CampaignFigures]) -> tuple[int, int]:
    """Return how many videos are ready, and how many are planned."""
    made = [line for line in lines if line.outcome not in ("invalid", "set-aside")]
    return sum(line.ready for line in made), sum(line.total for line in made)


def told_of(contents: Contents) -> list[CampaignFigures]:
    """Return the campaigns with news."""
    return [line for line in contents.lines if _is_told(line, contents.matters)]


def _is_told(line: CampaignFigures, matters: Sequence[Matter]) -> bool:
    return (
        bool(line.late or line.deleted)
        or line.outcome not in ("unchanged", "set-aside")
        or any(matter.sheet == line.sheet for matter in matters)
    )


def _of_one(line: CampaignFigures, contents: Contents) -> list[str]:
    matters = (matter for matter in contents.matters if matter.sheet == line.sheet)
    titles = {matter.kind: matter.title for matter in matters}
    waiting, broken = titles.get("not-approved", ""), titles.get("invalid", "")
    limit = line.charged if line.budget is None else line.budget
    charged = in_credits(limit, contents.credit_price)
    of_budget = "" if line.budget is None else f"{as_text(line.charged)} of "
    said = {
        f"{line.ready:,} of {count(line.total, 'video')} ready": line.total and not waiting,
        _need(line.needing): line.needing,
        f"{line.under_way:,} under way": line.under_way,
        f"{len(line.late):,} late": line.late,
        waiting[:1].lower() + waiting[1:]: waiting,
        f"{broken.partition(' in ')[0]}, nothing was made": broken,
        "set aside until the sheet changes": "set-aside" in titles,
        f"{of_budget}{charged}": line.charged or line.budget is not None,
    }
    return [words for words, is_so in said.items() if is_so] or ["nothing to do"]


def _of_several(lines: Sequence[CampaignFigures], contents: Contents) -> list[str]:
    ready, total = videos_of(lines)
    needing, late = sum(line.needing for line in lines), sum(len(line.late) for line in lines)
    kinds = Counter(matter.kind for matter in contents.matters)
    said = {
        f"{ready:,} of {count(total, 'video')} ready": total,
        _need(needing): needing,
        f"{late:,} late": late,
        f"{count(kinds['not-approved'], 'approval')} to give": kinds["not-approved"],
        f"{count(kinds['invalid'], 'sheet')} to fix": kinds["invalid"],
        f"{in_credits(contents.charged, contents.credit_price)} in this run": True,
    }
    return [words for words, is_so in said.items() if is_so]


def _need(videos: int) -> str:
    return f"{videos:,} {'needs' if videos == 1 else 'need'} you"
