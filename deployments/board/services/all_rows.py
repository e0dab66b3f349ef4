"""What a form asks for all rows of an uploaded sheet: languages, shapes, a tool with its fields.

Reads the form and says at which field it cannot be meant; `services.sheets` makes the copy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.services.sheet_view import SheetView
from callsheet.deployments.commands.tools import find_catalogue
from callsheet.tasks.campaign.catalog import known_catalogue
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.sheet.all_rows import SHAPES, ForAllRows, parse_languages
from callsheet.tasks.sheet.columns import FIELDS
from callsheet.tasks.sheet.correct import has_copy, text_fault
from callsheet.tasks.sheet.headers import is_kept_only
from callsheet.tasks.sheet.text import language_name
from callsheet.tasks.values.catalog import Tool, ToolField

#: How long the page waits for the service's list of tools, in seconds.
LONGEST = 5.0


@dataclass(frozen=True, kw_only=True)
class ForAllRowsForm:
    """The form of a sheet, as `typed` fills it in: `language de`, `shape 9:16`, `others`, `tool`,
    and `input NAME` for each field of the tool.

    `tools` is None where the service does not list them.
    """

    seen: SheetView
    typed: Mapping[str, str]
    tools: Mapping[str, Tool] | None = None
    #: Whether it was sent to be written: then its mistakes are told.
    sent: bool = False

    @property
    def asked(self) -> ForAllRows:
        """What it asks for, without what cannot be meant."""
        languages = [code for code, _ in self.languages if f"language {code}" in self.typed]
        said = {name.partition(" ")[2]: text for name, text in self.typed.items()
                if name.startswith("input ") and text.strip()}  # fmt: skip
        tool = self.typed.get("tool", "").strip()
        return ForAllRows(
            languages=tuple(dict.fromkeys((*languages, *self._others[0]))),
            shapes=tuple(one for one in SHAPES if f"shape {one}" in self.typed),
            tool=tool,
            inputs={one.name: said[one.name] for one in self.fields if one.name in said},
        )

    @property
    def _others(self) -> tuple[tuple[str, ...], str]:
        """The languages that are typed, and what is wrong with them."""
        try:
            return parse_languages(self.typed.get("others", "")), ""
        except ValueError as fault:
            return (), str(fault)

    @property
    def words(self) -> str:
        """How many videos it makes."""
        return self.asked.words(self.seen.sheet, self.seen.rows)

    @property
    def key(self) -> str:
        """What tells it from forms that make another number of videos, or have other fields."""
        asked = self.asked
        return " ".join((asked.tool, *asked.languages, *asked.shapes))

    @property
    def shapes(self) -> tuple[str, ...]:
        """The shapes to choose from."""
        return SHAPES

    @property
    def languages(self) -> list[tuple[str, str]]:
        """The languages to choose from, and their names."""
        return [(code, language_name(code)) for code in self.seen.languages]

    @property
    def takes_tool(self) -> bool:
        """Whether a tool may write the scripts: the sheet has none, and asks for no clips."""
        return not self.seen.has_column("script", "operation")

    @property
    def is_bare(self) -> bool:
        """Whether its rows have nothing to show as long as no tool is chosen."""
        return self.takes_tool and not self.seen.has_column("tool")

    @property
    def speaks_one_text(self) -> bool:
        """Whether the languages that are chosen would all speak one text."""
        plain = any(one.column in ("script", "narration") for one in self.seen.columns)
        return plain and len(self.asked.languages) > 1

    @property
    def fields(self) -> list[ToolField]:
        """The fields of the tool that is chosen, those that it needs first."""
        tool = (self.tools or {}).get(self.typed.get("tool", "").strip())
        found = (tool.fields or {}).values() if tool else ()
        return sorted(found, key=lambda one: not one.required)

    def is_in_sheet(self, one: ToolField) -> bool:
        """Whether the sheet has a column for a field of the tool."""
        columns = {column.column for column in self.seen.columns}
        return any(f"{FIELDS}.{name}" in columns for name in (one.name, *one.others))

    def needs(self, one: ToolField) -> bool:
        """Whether a field of the tool has to be filled in: no cell of the sheet does."""
        return one.required and not self.is_in_sheet(one)

    @property
    def own(self) -> list[str]:
        """What a text may name of each row's own cells."""
        columns = (one.column for one in self.seen.columns)
        return [f"{{{one}}}" for one in columns if one and is_kept_only(one)]

    @property
    def faults(self) -> dict[str, str]:
        """What is wrong with it, in sentences, by field; of the form as a whole without a name."""
        return dict(self._faults()) if self.sent else {}

    def _faults(self) -> Iterator[tuple[str, str]]:
        asked = self.asked
        if self._others[1]:
            yield "others", self._others[1]
        elif not asked.columns:
            yield "", "choose a language, a shape or a tool first"
        if asked.tool and self.tools and asked.tool not in self.tools:
            yield "tool", f"the service lists no tool {asked.tool[:40]}"
        for one in self.fields:
            text = asked.inputs.get(one.name, "")
            if fault := text_fault(text):
                yield f"input {one.name}", fault
            # A field that was not shown yet is not missed.
            elif not text and f"input {one.name}" in self.typed and self.needs(one):
                yield f"input {one.name}", f"{asked.tool} needs this field"
            elif text and "{" not in text and (fault := one.fault(text)):
                yield f"input {one.name}", f"this {fault}"


async def read_form(
    board: Board, seen: SheetView, typed: Mapping[str, str], *, sent: bool = False
) -> ForAllRowsForm | None:
    """Return the form of a sheet as it is filled in; None where no copy of it can be made."""
    if not has_copy(seen.kept.name) or seen.unmapped or not seen.rows:
        return None
    form = ForAllRowsForm(seen=seen, typed=typed, sent=sent)
    return replace(form, tools=await _tools(board)) if form.takes_tool else form


async def _tools(board: Board) -> Mapping[str, Tool] | None:
    """Return what the service lists, asked where the ledger does not know it; None for nothing."""
    known = await known_catalogue(board.ledger, board.settings.base_url)
    try:
        if known is None or known.tools is None:
            async with asyncio.timeout(LONGEST):
                known = await find_catalogue(board.ledger, board.settings)
    except (CallsheetError, TimeoutError):
        return None
    return known.tools
