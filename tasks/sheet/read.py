"""Reads a sheet from an address or from bytes, and describes the columns that were found."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, BinaryIO

from callsheet.tasks.runtime.errors import Problem, SheetError, shorten
from callsheet.tasks.runtime.process import no_search
from callsheet.tasks.runtime.redact import unsigned
from callsheet.tasks.sheet.formats import SUFFIXES, read_table
from callsheet.tasks.sheet.synonyms import Names, header_form
from callsheet.tasks.sheet.table import Cell, Findings, Sheet, SheetOptions, Table
from callsheet.tasks.sheet.text import MAX_BYTES, campaign_fault, slugify
from callsheet.tasks.values.amounts import say_bytes
from callsheet.tasks.values.briefs import Brief, origin_of
from callsheet.tasks.values.names import DEFAULT_NAMES

if TYPE_CHECKING:
    from callsheet.tasks.sheet.rows import Cells

STDIN = "stdin"
#: The parts of a YAML or JSON sheet that say how its campaign is made.
_OPTIONS = ("canary", "waves", "edits", "keep_at_service", "retry_failed")
_PLAIN = SheetOptions()


async def read_sheet(
    address: str, options: SheetOptions = _PLAIN, *, stdin: BinaryIO | None = None
) -> Sheet:
    """Return the sheet at a path, `-`, `https://` or `s3://`; raise SheetError with every problem.

    An `http://` address is accepted on this machine alone.
    """
    from callsheet.tasks.sheet.fetch import fetch

    found = await fetch(address, stdin=stdin)
    with no_search():
        return parse_sheet(
            found.content, name=found.name, options=options, folder=found.folder, address=address
        )


async def find_sheet(
    address: str, options: SheetOptions = _PLAIN, *, stdin: BinaryIO | None = None
) -> FoundSheet:
    """Return what is in the sheet at an address (`read_sheet`), also where it has problems.

    Its problems include those that it has once its unknown headers are read as proposed.
    """
    from callsheet.tasks.sheet.fetch import fetch
    from callsheet.tasks.sheet.first_row import first_rows

    found = await fetch(address, stdin=stdin)
    read = partial(
        find_sheet_in, found.content, name=found.name, folder=found.folder, address=address
    )
    with no_search():
        seen = read(options=options)
        if not seen.proposals:
            return seen
        headers = [one for one in seen.problems if one.row is None and one.value in seen.proposals]
        mapped = read(options=replace(options, columns={**options.columns, **seen.proposals}))
        problems = (*headers, *mapped.problems)
        first = next(iter(first_rows(mapped.sheet, 1)), ())
        return replace(seen, problems=problems, first=first)


def parse_sheet(
    content: bytes,
    *,
    name: str,
    options: SheetOptions = _PLAIN,
    folder: Path | None = None,
    address: str | None = None,
) -> Sheet:
    """Return the sheet in `content`; raise SheetError with every problem it has.

    The suffix of `name` tells the format, else the content does. `folder` is where `@file`
    scripts are looked for; without one they are refused.
    """
    findings = Findings(name, _names(options, folder, name))
    if len(content) > MAX_BYTES:
        limit = say_bytes(MAX_BYTES)
        findings.give_up(f"has {say_bytes(len(content))}; a sheet may have {limit}: split it")
    table = read_table(content, options, findings)
    sheet = sheet_of(table, findings, content, options=options, folder=folder, address=address)
    findings.raise_if_any()
    return sheet


def _names(options: SheetOptions, folder: Path | None, file: str) -> Names:
    """Return the mapping of headers: the options first, then the file next to the sheet."""
    from callsheet.tasks.sheet.column_names import read_known

    known = read_known(folder)
    return Names(known.columns, typed=options.columns, answers=known.answers, file=file)


def sheet_of(
    table: Table,
    findings: Findings,
    content: bytes,
    *,
    options: SheetOptions,
    folder: Path | None,
    address: str | None,
) -> Sheet:
    """Return the sheet that the table of `content` is; with problems, it is not to be used.

    Raises SheetError where a problem makes reading on pointless.
    """
    from callsheet.tasks.sheet.hidden_rows import hidden_among

    name = findings.file
    table, skipped = _whole_table(table, findings, options, folder)
    briefs, cells = _briefs_of(table, findings, options, folder)
    campaign = _campaign(table, options, findings)
    budget = _budget(table, options, findings)
    parts = {name: _part(name, table, findings) for name in _OPTIONS}
    said = {name: value for name, value in parts.items() if value is not None}
    briefs = _with_places(briefs, cells, table, findings, options, campaign, folder)
    return Sheet(
        campaign=campaign,
        # What signs an address is a secret, and ledger, plans and manifests are read by many.
        address=name if address is None else unsigned(address),
        name=name,
        digest=hashlib.sha256(content).hexdigest(),
        budget=budget,
        **said,
        says_names="names" in table.parts,
        says_copies="copies" in table.parts,
        read_at=options.now,
        briefs=briefs,
        columns=tuple(table.columns.values()),
        advice=findings.advice,
        notes=findings.notes,
        origin=origin_of(address, table.worksheet),
        named_after_file=options.campaign is None and "campaign" not in table.parts,
        cells=cells,
        hidden=frozenset() if options.hidden_rows else hidden_among(briefs, table),
        skipped=skipped - {brief.row for brief in briefs},
    )


def _whole_table(
    table: Table, findings: Findings, options: SheetOptions, folder: Path | None
) -> tuple[Table, frozenset[str]]:
    """Return the rows that the videos are made of, and the ids of hidden ones that are left out."""
    from callsheet.tasks.sheet.hidden_rows import note_hidden, without_hidden, without_refused
    from callsheet.tasks.sheet.matrix import expanded
    from callsheet.tasks.sheet.reuse import completed

    if not table.complete:
        table = without_refused(table)
    note_hidden(table, options.hidden_rows, findings)
    table = expanded(completed(table, findings), findings, many=options.yes_many, few=options.few)
    if options.hidden_rows == "skip":
        return without_hidden(table, findings, folder)
    return table, frozenset()


def _briefs_of(
    table: Table, findings: Findings, options: SheetOptions, folder: Path | None
) -> tuple[tuple[Brief, ...], Mapping[str, Cells]]:
    """Return a brief for every row, and its cells by its id (`to_briefs`)."""
    from callsheet.tasks.sheet.rows import budgeted, dated, to_briefs

    column = options.cost_center_column
    if column and column not in table.columns:
        findings.advise(f"has no column {column}, so a row that names no cost center has none")
    briefs, cells = to_briefs(table, findings, folder=folder, cost_center=column)
    if options.cost_centers:
        briefs = budgeted(briefs, options.cost_centers)
    if options.now is not None:
        briefs = dated(briefs, findings, now=options.now)
    if not table.rows and not findings.problems:
        findings.refuse("has no rows")
    if not findings.problems:
        _advise_of_repeats(briefs, findings)
    return briefs, cells


def _with_places(
    briefs: tuple[Brief, ...],
    cells: Mapping[str, Cells],
    table: Table,
    findings: Findings,
    options: SheetOptions,
    campaign: str,
    folder: Path | None,
) -> tuple[Brief, ...]:
    """Return the briefs with the names of their files, and the places that these are copied to."""
    from callsheet.tasks.sheet.placeholders import Naming

    naming = Naming(findings, campaign=campaign, columns=table.columns, cells=cells)
    names = table.parts.get("names") or Cell("names", options.names, None, "the setting names")
    if names.value != DEFAULT_NAMES:
        briefs = naming.named(briefs, names)
    copies = table.parts.get("copies") or Cell("copies", options.copies, None, "the setting copies")
    if copies.value:
        local = "copies" not in table.parts or folder is not None
        briefs = naming.copied(briefs, copies, local=local)
    return briefs


def _advise_of_repeats(briefs: Iterable[Brief], findings: Findings) -> None:
    """Advise of rows that ask for the very same video as a row above: each is paid for."""
    first: dict[str, Brief] = {}
    for brief in briefs:
        if not brief.enabled or brief.video_id:
            continue
        before = first.setdefault(brief.digest, brief)
        if before is not brief:
            words = f'asks for the same video as row "{before.row}": each of them is paid for'
            findings.advise(words, line=brief.line or None, row=brief.row)


def _campaign(table: Table, options: SheetOptions, findings: Findings) -> str:
    if options.campaign is not None:
        given, place, line = options.campaign.strip(), "--campaign", None
    elif (cell := table.parts.get("campaign")) is not None:
        given, place, line = str(cell.value), "campaign", cell.line
    else:
        return _campaign_from_name(findings)
    if fault := campaign_fault(given):
        findings.refuse(fault, line=line, cell=place, value=given)
    return given


def _campaign_from_name(findings: Findings) -> str:
    path = PurePath(findings.file)
    stem = path.stem if path.suffix.lower() in SUFFIXES else path.name
    slug = "" if findings.file == STDIN else slugify(stem).lower()
    if not slug or campaign_fault(slug):
        findings.refuse(
            "gives the campaign no name: say --campaign NAME, or campaign: in the sheet"
        )
    return slug


def _budget(table: Table, options: SheetOptions, findings: Findings) -> Decimal | None:
    if options.budget is not None:
        return options.budget
    budget: Decimal | None = _part("budget", table, findings)
    if budget is not None:
        from callsheet.tasks.sheet.guesses import reading

        cell = table.parts["budget"]
        value = str(cell.value)
        if said := reading("budget", value, budget):
            findings.note(said, line=cell.line, cell="budget", value=value)
    return budget


def _part(name: str, table: Table, findings: Findings) -> Any:
    """Return what a part of a YAML or JSON sheet says, None where there is none or a problem."""
    from callsheet.tasks.sheet.columns import PARTS

    cell = table.parts.get(name)
    if cell is None:
        return None
    try:
        return PARTS[name].parse(cell.value)
    except ValueError as fault:
        value = ", ".join(map(str, cell.value if isinstance(cell.value, list) else [cell.value]))
        findings.refuse(str(fault), line=cell.line, cell=cell.column, value=value)
        return None


# What a sheet was found to be: its columns and how full each is, also where it has problems.


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundColumn:
    """A column as its header names it, and in how many rows it has a value.

    `column` is the column that it is (None: not one that is known), `proposed` what it may mean;
    `doubt` is why nothing is proposed that seems near, and `open` that a person has to choose.
    `samples` are some of its values.
    """

    name: str
    filled: int
    column: str | None = None
    proposed: str | None = None
    doubt: str | None = None
    open: bool = False
    samples: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        """Return it as `check --json` does."""
        says = {"header": self.name, "column": self.column, "proposed": self.proposed}
        return {**says, "filled": self.filled}


@dataclass(frozen=True, kw_only=True)
class FoundSheet:
    """Rows and columns of a sheet, nothing of what cannot be read at all; its problems, and it.

    With problems, the sheet is only what can be told of it. `first` is what would be made of the
    first row (what, text), with the headers that are unknown read as proposed.
    """

    rows: int = 0
    columns: tuple[FoundColumn, ...] = ()
    sheet: Sheet | None = None
    problems: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = field(default=())
    first: tuple[tuple[str, str], ...] = ()
    #: The headers as the sheet has them (`synonyms.sheet_headers`).
    written: frozenset[str] = frozenset()

    @property
    def headers(self) -> str:
        """The sha256 (hex) of the headers: those of a sheet in any order."""
        named = sorted({header_form(one.name) for one in self.columns})
        return hashlib.sha256("\n".join(named).encode()).hexdigest()

    @property
    def proposals(self) -> dict[str, str]:
        """The column that each unknown header may mean, where the sheet has any that is known.

        Of headers that could be one column, none is among them, nor is a misplaced matrix.
        """
        from callsheet.tasks.sheet.headers import canonical_header

        if not any(one.proposed or one.column for one in self.columns):
            return {}
        unknown = (one for one in self.columns if not (one.column or one.open))
        return {
            one.name: one.proposed or f"x_{canonical_header(one.name)}"
            for one in unknown
            if one.name != "matrix"
        }

    def good(self) -> Sheet:
        """Return the sheet; raise SheetError with every problem that it has."""
        if self.sheet is None or self.problems:
            raise SheetError(self.problems, notes=self.notes)
        return self.sheet


def _found(table: Table, names: Names) -> Iterator[FoundColumn]:
    """Yield the columns; each column is proposed once, and never where the sheet has it."""
    from callsheet.tasks.sheet.headers import canonical_header
    from callsheet.tasks.sheet.proposals import Likely, likely_columns

    texts: dict[str, list[str]] = {header: [] for header in table.columns.values()}
    below = {name: texts[header] for name, header in table.columns.items()}
    for row in table.rows:
        for name, cell in row.cells.items():
            if text := cell.text:
                below[name].append(text)
    unknown = likely_columns(texts, rows=len(table.rows))
    for header, filled in texts.items():
        likely = unknown.get(header, Likely())
        yield FoundColumn(
            name=names.written(header),
            filled=len(filled),
            column=None if header in unknown else canonical_header(header),
            proposed=likely.column,
            doubt=likely.doubt,
            open=likely.open,
            samples=tuple(shorten(text, 60) for text in dict.fromkeys(filled[:50]))[:3],
        )


def find_sheet_in(
    content: bytes,
    *,
    name: str,
    options: SheetOptions,
    folder: Path | None = None,
    address: str | None = None,
) -> FoundSheet:
    """Return what is in `content`, which is read once; the parameters are `parse_sheet`'s."""
    findings = Findings(name, _names(options, folder, name))
    rows, sheet = 0, None
    columns: tuple[FoundColumn, ...] = ()
    # What was raised is among the findings.
    with suppress(SheetError):
        table = read_table(content, options, findings)
        rows = len(table.rows)
        columns = tuple(_found(table, findings.names))
        sheet = sheet_of(table, findings, content, options=options, folder=folder, address=address)
    return FoundSheet(
        rows=rows,
        columns=columns,
        sheet=sheet,
        problems=findings.problems,
        notes=findings.notes,
        written=findings.names.headers,
    )
