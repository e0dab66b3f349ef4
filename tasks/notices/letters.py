"""Puts a digest into words: a page and a text for mails, a few lines for chats. Pure.

Nothing of what sheets, services and people say is markup here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from callsheet.tasks.credits import as_text, in_credits
from callsheet.tasks.errors import shorten
from callsheet.tasks.nights.calendar import read_zone
from callsheet.tasks.notices.values import CampaignFigures, Contents, Letter, Matter
from callsheet.tasks.notices.verdict import subject_of, told_of, verdict_of, videos_of
from callsheet.tasks.plural import count

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

#: Matters and campaigns of one mail; the others are counted.
MOST = 12
#: Matters of a message in a chat.
FEW = 5
#: Characters of a video's title that have room below its picture.
TITLE = 44
#: What is said of a sheet that nothing was made of.
_SAID: Mapping[str, str] = {
    "not-approved": "waits for approval",
    "invalid": "fix the sheet",
    "set-aside": "set aside until it changes",
}


def digest_letter(contents: Contents, *, sample: bool = False) -> Letter:
    """Return the digest of a night in words; `sample` says that it is only to try the address."""
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
    """Return a notice of a few sentences: a night that failed, or one that did not come."""
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


def _notes(line: CampaignFigures) -> list[str]:
    """Return what is said of a campaign beside its figures."""
    notes = []
    if line.needing:
        notes.append(
            f"{count(line.needing, 'video')} {'needs' if line.needing == 1 else 'need'} you"
        )
    if line.under_way:
        notes.append(f"{line.under_way:,} under way")
    if line.outcome in _SAID:
        notes.append(_SAID[line.outcome])
    if line.per_kept is not None:
        notes.append(f"{as_text(line.per_kept)} a kept video")
    return notes


def _more_to_pay(line: CampaignFigures) -> str:
    """Return what it will have cost, where that is more than what is paid or set aside."""
    if line.forecast is None or line.forecast <= line.charged + line.reserved:
        return ""
    return f"{as_text(line.forecast)} when all are made"


def _short(contents: Contents) -> str:
    """Return a few lines: what needs a person with a link each, new videos, the next night."""
    told = []
    for matter in contents.matters[:FEW]:
        told.append(f"- {_where(matter)}{matter.title}{_lasting(matter)}: {_way(matter)}")
    if len(contents.matters) > FEW:
        told.append(f"- and {len(contents.matters) - FEW} more")
    fresh = sum(line.fresh for line in contents.lines)
    if fresh:
        page = next((line.link for line in contents.lines if line.fresh and line.link), None)
        told.append(f"- {count(fresh, 'new video')}" + (f": {page}" if page else ""))
    told.append(f"- {in_credits(contents.charged)} in this run")
    if contents.next_at is not None:
        told.append(f"- Next nightly run: {_moments(contents.zone)(contents.next_at)}")
    return "\n".join(told)


def _where(matter: Matter) -> str:
    name = matter.campaign or matter.sheet
    return "" if name in matter.title else f"{name}: "


def _lasting(matter: Matter) -> str:
    return f" (for {count(matter.nights, 'night')})" if matter.nights > 1 else ""


def _way(matter: Matter) -> str:
    return matter.link or (f"`{matter.command}`" if matter.command else "")


def _moments(zone: str) -> Callable[[float], str]:
    """Return what says a moment as people of a zone write it: Tuesday 24 November, 02:00."""
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
        # Of a text nothing is markup that would have to be escaped.
        autoescape=lambda name: name is not None and name.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {"credits": in_credits, "amount": as_text, "coded": _coded}
    templates.filters |= {"short": partial(shorten, limit=TITLE), "notes": _notes}
    templates.globals |= {"count": count, "percent": _percent, "where": _where, "lasting": _lasting}
    templates.globals |= {"more_to_pay": _more_to_pay}
    return templates


def _coded(text: str) -> Markup:
    """Return words as markup, with what stands between backticks set as something to type."""
    from markupsafe import Markup, escape

    parts = [
        Markup('<code style="font-family:ui-monospace,Menlo,Consolas,monospace">{}</code>')
        if at % 2
        else Markup("{}")
        for at, _ in enumerate(text.split("`"))
    ]
    filled = [form.format(escape(word)) for form, word in zip(parts, text.split("`"), strict=True)]
    return Markup("").join(filled)


def _percent(part: Any, whole: Any) -> int:
    """Return a part in whole percents, never 100 before it is all."""
    if not whole:
        return 0
    share = int(100 * part / whole)
    return max(0, min(100, share))
