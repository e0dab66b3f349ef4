"""Prefect artifacts: problems of a sheet, progress, links to videos.

No secret is in any of them.

A few per run, however many rows there are, without secrets. A failed update is logged.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import unicodedata
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextvars import copy_context
from dataclasses import dataclass
from functools import wraps
from hashlib import sha256
from pathlib import PurePosixPath
from textwrap import wrap
from typing import Any, ParamSpec
from urllib.parse import quote

from callsheet.flows.shown.page import Page, PageLost
from callsheet.tasks.engine.progress import Snapshot
from callsheet.tasks.notices.action_items import campaign_page, row_page
from callsheet.tasks.runtime.errors import CallsheetError, Problem, SheetError, shorten
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.redact import one_line, redact
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.values.amounts import count

P = ParamSpec("P")
log = logging.getLogger("callsheet.prefect")

#: Maximum rows of a table: the page renders all of them at once.
LINES = 1000
#: Maximum characters per line of a cell.
WIDE = 36
#: Maximum characters of a name in a key.
_LONG = 60
#: Characters with a meaning in Markdown, which renders the cells.
_MARKS = re.compile(r"[\\`*\[<]|~(?=~)|(?<![^\W_])_|_(?![^\W_])")
_HEADS = re.compile(r"^(\d*)([#>+.)-])(?=#*\s)")


def key_of(name: str, kind: str) -> str:
    """Return the key of an artifact: Prefect allows only lowercase letters, digits and dashes.

    Names that would be equal in these letters get different keys.
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_LONG]
    if slug != name:
        slug = "-".join(filter(None, (slug, sha256(name.encode()).hexdigest()[:6])))
    return f"callsheet-{slug}-{kind}"


def cell(text: object) -> str:
    """Return text for a cell: one line, redacted, with Markdown escaped."""
    flat = " ".join(one_line(redact(str(text))).split())
    parts = flat.split("`")
    if len(parts) % 2 == 0:
        return _HEADS.sub(r"\1\\\2", _MARKS.sub(r"\\\g<0>", flat))
    # Text in backticks is a command.
    parts[::2] = [_MARKS.sub(r"\\\g<0>", part) for part in parts[::2]]
    return _HEADS.sub(r"\1\\\2", "`".join(parts))


def words_cell(text: object) -> str:
    """Return a sentence for a cell, on several lines, since a cell does not wrap."""
    return "  \n".join(cell(line) for line in wrap(one_line(redact(str(text))), WIDE))


def link(text: str, address: str) -> str:
    """Return a link for a cell, with the address redacted."""
    safe = address.replace(" ", "%20").replace("(", "%28").replace(")", "%29")
    words = cell(text).replace("]", r"\]")
    return f"[{words}]({safe})"


def table_in_words(columns: Iterable[str], lines: Iterable[Iterable[object]]) -> list[str]:
    """Return the lines of a Markdown table from rendered cells."""
    names = list(columns)
    rows = [names, ["---"] * len(names), *lines]
    return ["| " + " | ".join(str(one).replace("|", r"\|") for one in row) + " |" for row in rows]


async def put_table(page: Page, key: str, lines: list[dict[str, Any]], *, words: str) -> str | None:
    """Publish a table below `words`; return the address of its page."""
    made = await page.publish("table", json.dumps(lines), key=key, words=words)
    return None if made is None else page.address("artifacts/artifact", made)


async def put_words(
    page: Page, key: str, lines: Iterable[str], *, words: str | None = None
) -> None:
    """Publish lines of Markdown."""
    await page.publish("markdown", "\n".join(lines), key=key, words=words)


def out_of_the_way(
    publish: Callable[P, Coroutine[Any, Any, None]],
) -> Callable[P, Coroutine[Any, Any, None]]:
    """Log a failed publication instead of raising it."""

    @wraps(publish)
    async def published(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            await publish(*args, **kwargs)
        except PageLost:
            pass
        except Exception as error:
            # Whatever it is, it is no reason to leave videos where they are.
            words = redact(str(error) or repr(error))
            log.warning("Prefect does not show all of this run: %s", words)

    return published


# The problems of a sheet on Prefect's page, each with its cell.


#: Maximum problems to log, and to name in the message of a state.
LOGGED, SAID = 200, 5


async def publish_problems(page: Page, error: CallsheetError) -> str:
    """Publish every problem of a sheet in the log and in a table; return the message of the state.

    The message has the first problems. For any other error, log and message have its text and
    remedy.
    """
    problems = error.problems if isinstance(error, SheetError) else ()
    for note in error.notes if isinstance(error, SheetError) else ():
        page.log(f"note {redact(str(note))}")
    words = _words_of(error, problems)
    for problem in problems[:LOGGED]:
        page.log(redact(str(problem)), logging.ERROR)
    if len(problems) > LOGGED:
        page.log(f"... and {count(len(problems) - LOGGED, 'more problem')}", logging.ERROR)
    if not problems:
        # Waiting, also for approval, is not an error.
        page.log(words, logging.WARNING if error.exit_status in (4, 5) else logging.ERROR)
    if problems:
        await _publish_table(page, problems)
    return words


def _words_of(error: CallsheetError, problems: tuple[Problem, ...]) -> str:
    words = redact(str(error)).rstrip(".")
    told = [redact(str(problem)) for problem in problems]
    first = [one for one in told[:SAID] if one not in words]
    if first:
        rest = [f"... and {len(told) - SAID:,} more"] if len(told) > SAID else []
        words = "\n".join([f"{words}:", *(f"- {one}" for one in (*first, *rest))])
    return f"{words}\n{redact(error.remedy)}" if error.remedy else words


@out_of_the_way
async def _publish_table(page: Page, problems: tuple[Problem, ...]) -> None:
    file = redact(problems[0].file)
    words = f"{count(len(problems), 'problem')} of `{file}`; nothing was spent"
    if len(problems) > LINES:
        words += f". The first {LINES:,} are shown; `{suggest('check', file)}` shows all"
    table = [_line(problem) for problem in problems[:LINES]]
    key = key_of(PurePosixPath(file).stem or "sheet", "problems")
    await put_table(page, key, table, words=words)


def _line(problem: Problem) -> dict[str, Any]:
    return {
        "line": problem.line,
        "row": cell(problem.row or ""),
        "cell": cell(problem.cell or problem.column or ""),
        "it says": "" if problem.value is None else cell(shorten(problem.value)),
        "problem": words_cell(problem.message),
    }


# Links to videos in Prefect: to the board, or to the store.


#: The text of the link.
VIDEO = "video"


@dataclass(frozen=True, kw_only=True)
class VideoLinks:
    """Links to a campaign's rows and videos: on its `board`, if there is one, or in its store."""

    store: str
    board: str | None

    campaign: str

    @classmethod
    def of(cls, campaign: str, store: str, settings: Settings) -> VideoLinks:
        """Return the links of a campaign; `store` is the address of its store."""
        return cls(campaign=campaign, store=store, board=settings.board_url)

    def row(self, row: str, text: str | None = None) -> str:
        """Return the cell of a row id: a link to its page on the board, if there is one."""
        page = row_page(self.board, self.campaign, row)
        return cell(row) if page is None else link(text or row, page)

    def video(self, row: Mapping[str, Any]) -> str:
        """Return the cell of the video of a row (`row_document`): a link, or its location.

        Never a signed address: everyone who sees Prefect's page could watch the video.
        """
        files = (file["uri"] for file in row["deliveries"] if file["kind"] == "mp4")
        uri = next(files, None)
        # The player and not the file: it asks for a login.
        player = f"videos?open={quote(row['row'], safe='')}"
        if page := campaign_page(self.board, self.campaign, player):
            return self.row(row["row"], "board") if uri is None else link(VIDEO, page)
        return "" if uri is None else cell(uri.removeprefix(self.store.rstrip("/") + "/"))


# Progress of a run on its page in Prefect.


#: Minimum seconds between two updates of the progress artifact.
PACE = 1.0


class ProgressArtifact:
    """Publishes snapshots, at most one a second, without delaying the run."""

    def __init__(self, page: Page) -> None:
        self._page = page
        # It is called from tasks that do not belong to the flow.
        self._flow = copy_context()
        self._id: str | None = None
        self._latest: Snapshot | None = None
        self._task: asyncio.Task[None] | None = None

    def on_snapshot(self, snapshot: Snapshot) -> None:
        """Accept a snapshot; the newest one is sent after the previous one."""
        self._latest = snapshot
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._send(pause=PACE), context=self._flow)

    async def settle(self) -> None:
        """Send the last snapshot."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._latest is not None:
            await self._send(pause=0)

    async def _send(self, *, pause: float) -> None:
        await self._put()
        await asyncio.sleep(pause)

    @out_of_the_way
    async def _put(self) -> None:
        snapshot = self._latest
        assert snapshot is not None
        done = percent_delivered(snapshot)
        words = ", ".join(f"{count} {state}" for state, count in snapshot.rows.items())
        if self._id is None:
            self._id = await self._page.publish("progress", done, words=words)
        else:
            await self._page.change(self._id, done, words)


def percent_delivered(snapshot: Snapshot) -> float:
    """Return the delivered share of a campaign, without failed rows."""
    unwanted = snapshot.rows.get("retired", 0) + snapshot.rows.get("cancelled", 0)
    wanted = snapshot.total - unwanted
    return 100.0 * snapshot.rows.get("delivered", 0) / wanted if wanted > 0 else 0.0
