"""How a page is made: a template, what it shows, and who is looking. No string of it is markup."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit, urlunsplit

from fastapi import Request
from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse

from callsheet.deployments.board.places import shown_place
from callsheet.deployments.campaign_status import AT, DOORS
from callsheet.tasks.ledger.people import Person
from callsheet.tasks.ledger.values import NEEDS_PERSON, NOT_BEGUN, UNDER_WAY, State
from callsheet.tasks.runtime.process import own_version
from callsheet.tasks.runtime.redact import visible
from callsheet.tasks.sheet.correct import choices_of, is_correctable, name_of_copy
from callsheet.tasks.values.amounts import (
    CreditPrice,
    as_text,
    count,
    in_credits,
    parse_credits,
    say_share,
)

#: Up to so many seconds a moment is told by how long ago it was: then the number, and its unit.
_AGO = ((60, 1, "s"), (3600, 60, "min"), (86_400, 3600, "h"), (2_592_000, 86_400, "d"))


def page(
    request: Request, template: str, person: Person | None, *, status: int = 200, **shown: Any
) -> HTMLResponse:
    """Return a template filled in: a whole page, or a fragment (`_name.html`) of one."""
    return HTMLResponse(filled(request, template, person, **shown), status)


def filled(request: Request, template: str, person: Person | None, **shown: Any) -> str:
    """Return the text of a template filled in, as `page` answers it."""
    board = request.app.state.board
    known = {"person": person, "path": request.url.path, "board": board, "now": board.clock()}
    known["lasting"] = _form_address(request)
    return rendered(template, **{**known, **shown})


def _form_address(request: Request) -> str:
    """Return where the form was: what it leads to is loaded again there, and sent only once."""
    with suppress(ValueError):
        asked = urlsplit(request.headers.get("referer", "") if request.method == "POST" else "")
        return urlunsplit(("", "", asked.path, asked.query, ""))
    return ""


def rendered(template: str, **shown: Any) -> str:
    """Return the text of a template filled in, without a board."""
    return _TEMPLATES.get_template(template).render(shown)


def part(text: object) -> str:
    """Return a name as one part of an address."""
    return quote(str(text), safe="")


def _price(context: Context) -> CreditPrice | None:
    """Return the price of a credit; a page without a board is given it."""
    board = context.get("board")
    price: CreditPrice | None = board.settings.credit_price if board else context["credit_price"]
    return price


@pass_context
def _in_credits(context: Context, amount: Decimal | None) -> str:
    return in_credits(amount, _price(context))


@pass_context
def _money(context: Context, amount: Decimal | float | None) -> str:
    """Return an amount of credits in money, below the credits; nothing without a price."""
    price, credits = _price(context), parse_credits(amount)
    if price is None or not credits:
        return ""
    return Markup('<span class="money">{}</span>').format(price.words(credits))


@pass_context
def _moment(context: Context, at: float | None) -> str:
    """Return a moment as an element that says how long ago it was, and when."""
    if at is None:
        return "–"
    when = datetime.fromtimestamp(at, UTC)
    element = '<time datetime="{}" data-ago title="{}">{}</time>'
    words = _ago(context["now"] - at) or f"{when.day} {when:%b %Y}"
    return Markup(element).format(
        f"{when:%Y-%m-%dT%H:%M:%SZ}", f"{when.day} {when:%b %Y %H:%M:%S} UTC", words
    )


@pass_context
def _without_folder(context: Context, text: str) -> str:
    """Return words in which uploaded sheets have the names that people gave them."""
    folder = re.escape(str((context["board"].folder / "sheets").resolve()))
    return re.sub(rf"{folder}[/\\]\w+[/\\]", "", text)


def _with_code(text: str) -> str:
    """Return words with what stands between backticks set as something to type."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    code = Markup("<code>{}</code>")
    return Markup("").join(code.format(one) if i % 2 else one for i, one in enumerate(parts))


#: A sentence that begins with a plain word.
_WORD = re.compile(r"[a-z][a-z'’-]*[,;]?(?: |$)")


def _sentence(text: str) -> str:
    """Return words as a sentence, with a capital and an end, as this person may read them."""
    text = shown_place(text)
    end = "" if text[-1:] in ".!?:)" else "."
    # The id of a row and the name of a file stay as they are.
    first = text[:1].upper() if _WORD.match(text) else text[:1]
    return _with_code(f"{first}{text[1:]}{end}")


def _day(at: float | None) -> str:
    """Return a moment as an element that says when it was, for what is read much later."""
    if at is None:
        return "–"
    when = datetime.fromtimestamp(at, UTC)
    element = '<time datetime="{}" data-day>{}</time>'
    return Markup(element).format(
        f"{when:%Y-%m-%dT%H:%M:%SZ}", f"{when.day} {when:%b %Y %H:%M} UTC"
    )


class _NoteLine(NamedTuple):
    """A line of a note; one that begins with a moment of the video says so, in seconds."""

    words: str
    at: str = ""
    seconds: int | None = None


def _note_lines(note: str) -> list[_NoteLine]:
    """Return a note line by line: `0:07 the old logo` is about the seventh second."""
    found = []
    for line in filter(None, map(str.strip, note.splitlines())):
        if moment := _MOMENT.match(line):
            seconds = 60 * int(moment[1]) + int(moment[2])
            found.append(_NoteLine(line[moment.end() :].lstrip(" :-"), moment[0], seconds))
        else:
            found.append(_NoteLine(line))
    return found


_MOMENT = re.compile(r"(\d{1,3}):([0-5]\d)(?!\d)")


def _ago(seconds: float) -> str | None:
    if seconds < 5:
        return "just now"
    for below, unit, name in _AGO:
        if seconds < below:
            return f"{int(seconds // unit)} {name} ago"
    return None


def _share(some: float, whole: float) -> str:
    """Return a part of a whole in percent."""
    return say_share(some, whole) if whole else "–"


def _size(count_of_bytes: float) -> str:
    """Return a number of bytes for people."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if count_of_bytes < 1000 or unit == "GB":
            break
        count_of_bytes /= 1000
    return f"{count_of_bytes:.0f} {unit}" if unit == "bytes" else f"{count_of_bytes:.1f} {unit}"


def _under(which: frozenset[State], rows: Mapping[State, int]) -> int:
    return sum(rows.get(state, 0) for state in which)


def _safe(value: Any) -> Any:
    """Return a text without control characters; HTML as it is."""
    # A form sends every line break as two characters: they are one, and nothing to be seen.
    return visible(value.replace("\r\n", "\n")) if type(value) is str else value


_TEMPLATES = Environment(
    loader=PackageLoader("callsheet.deployments.board"),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_safe,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters |= {
    "place": shown_place,
    "credits": as_text,
    "in_credits": _in_credits,
    "money": _money,
    "moment": _moment,
    "day": _day,
    "note_lines": _note_lines,
    "with_code": _with_code,
    "sentence": _sentence,
    "part": part,
    "size": _size,
    "without_folder": _without_folder,
    "name_of_copy": name_of_copy,
    "choices_of": choices_of,
}
_TEMPLATES.tests["correctable"] = is_correctable
_TEMPLATES.globals |= {
    "count": count,
    "share": _share,
    "version": own_version,
    "needs_person": lambda rows: _under(NEEDS_PERSON, rows),
    "under_way": lambda rows: _under(UNDER_WAY, rows),
    "not_begun": lambda rows: _under(NOT_BEGUN, rows),
    "run_doors": DOORS,
    "run_steps": AT,
}
