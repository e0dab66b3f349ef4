"""Uploading a sheet and checking it: its columns, its problems, what it would mean.

Nothing is written of a campaign and no one is asked for a price.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.services.corrections import Corrections
from callsheet.deployments.board.services.sheet_view import SheetView, Trial
from callsheet.deployments.board.uploads import (
    InboxFile,
    drop_old_uploads,
    fetch_address,
    list_inbox,
)
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.stored_plans import plan_unpriced
from callsheet.tasks.campaign.uploads import fit_name, keep_bytes, read_kept
from callsheet.tasks.ledger.audit_log import note_act
from callsheet.tasks.ledger.people import Person
from callsheet.tasks.ledger.plans import (
    KeptSheet,
    columns_of,
    find_sheet,
    keep_columns,
    keep_sheet,
)
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.redact import unsigned
from callsheet.tasks.sheet import Sheet
from callsheet.tasks.sheet.column_names import parse_map
from callsheet.tasks.sheet.correct import correct, name_of_copy, with_columns
from callsheet.tasks.sheet.fetch import fetch
from callsheet.tasks.sheet.first_row import first_rows
from callsheet.tasks.sheet.headers import canonical_header
from callsheet.tasks.sheet.read import FoundSheet
from callsheet.tasks.sheet.synonyms import Names, header_form
from callsheet.tasks.sheet.table import Fetched
from callsheet.tasks.sheet.text import MAX_BYTES
from callsheet.tasks.values.amounts import say_bytes

_PLAIN = RunOptions()
#: Rows of a sheet that are shown as they would be made.
FIRST = 3


async def hand_in(
    board: Board,
    *,
    name: str,
    content: bytes,
    place: str | None = None,
    options: RunOptions = _PLAIN,
) -> SheetView:
    """Keep a sheet and look at it; `place` is the address it was fetched from, if it was.

    `options` say how it is read, as for all that looks at a sheet.

    Raises ProblemDetails (413) for one that is too large.
    """
    return await _view(board, await _store(board, name, content, place), options)


async def _store(board: Board, name: str, content: bytes, place: str | None = None) -> KeptSheet:
    if len(content) > MAX_BYTES:
        raise ProblemDetails(413, f"a sheet may have {say_bytes(MAX_BYTES)}: split it")
    name = fit_name(name)
    async with board.uploads:
        await drop_old_uploads(board)
        kept = await _keep(board, name, content, place)
    words = f"{name}, {say_bytes(len(content))}"
    await board.write(note_act, act="sheet", by=board.by, at=kept.added_at, words=words)
    return kept


async def map_columns(
    board: Board,
    sheet_id: str,
    words: Sequence[str],
    options: RunOptions = _PLAIN,
) -> SheetView:
    """Remember which columns the headers of a sheet mean (`Headline=title`), and look at it again.

    It holds for every sheet with the same headers from then on. Raises BadInput for a header that
    the sheet does not have or two of one column, ProblemDetails (404) for no such sheet.
    """
    kept = await kept_sheet(board, sheet_id)
    mapped, found = await read_mapped(board, kept, options)
    columns = _chosen(found, words, mapped)
    at = board.clock()
    keep = partial(keep_columns, headers=found.headers, columns=columns)
    await board.write(keep, by=board.by, at=at)
    told = ", ".join(f"{header} = {column}" for header, column in columns.items())
    await board.write(note_act, act="columns", by=board.by, at=at, words=f"{kept.name}: {told}")
    return await _view(board, kept, options)


async def try_columns(
    board: Board,
    sheet_id: str,
    words: Sequence[str],
    options: RunOptions = _PLAIN,
) -> SheetView:
    """Look at a sheet with columns for its headers that nobody has confirmed yet (`trial`).

    Nothing is remembered. Raises as `map_columns` does.
    """
    kept = await kept_sheet(board, sheet_id)
    seen = await _view(board, kept, options)
    mapped, found = await read_mapped(board, kept, options)
    columns = _chosen(found, words, mapped)
    return replace(seen, trial=await _tried(board, kept, mapped, columns))


def _chosen(found: FoundSheet, words: Sequence[str], options: RunOptions) -> dict[str, str]:
    """Return header -> column as a person chose them, without what is so anyway."""
    said, known = parse_map(words), parse_map(options.map or ())
    # Spelled as in the sheet, so that of two spellings of a header none stays behind.
    headers = {header_form(one.name): one.name for one in found.columns}
    if wrong := [header for header in said if header_form(header) not in headers]:
        raise BadInput(
            f'the sheet has no header "{wrong[0]}"; no column was stored',
            remedy=f"it has {', '.join(headers.values())}",
        )
    columns = {headers[header_form(header)]: column for header, column in said.items()}
    first: dict[str, str] = {}
    for one in found.columns:
        column = columns.get(one.name, one.column)
        if column is not None and (twin := first.setdefault(column, one.name)) != one.name:
            raise BadInput(
                f'"{twin}" and "{one.name}" cannot both be {column}; no column was stored',
                remedy="choose another column for one of them, or leave it out",
            )
    return {h: c for h, c in columns.items() if canonical_header(h) != c or h in known}


def _proposed(found: FoundSheet) -> Mapping[str, str]:
    """Return header -> column as the page proposes it; of headers with a doubt, none."""
    unknown = (one for one in found.columns if not (one.column or one.open))
    return found.proposals or {one.name: f"x_{canonical_header(one.name)}" for one in unknown}


async def _tried(
    board: Board,
    kept: KeptSheet,
    options: RunOptions,
    columns: Mapping[str, str],
) -> Trial:
    """Return what would be made of the first row with these columns."""
    all_columns = {**parse_map(options.map or ()), **columns}
    options = options.but(map=tuple(f"{header}={one}" for header, one in all_columns.items()))
    found = await board.reader.find(
        board.settings, kept, options.reading(board.settings), person=board.person
    )
    cells = [one for one in found.problems if one.row or one.column]
    first = first_rows(found.sheet, FIRST, found.problems)
    return Trial(columns=columns, first=first, cells=len(cells))


async def _keep(board: Board, name: str, content: bytes, place: str | None) -> KeptSheet:
    file, digest = await asyncio.to_thread(keep_bytes, board.settings, name, content)
    # What signs an address is a secret, and the ledger is read by many.
    whole = place is not None and unsigned(place) == place
    kept = KeptSheet(
        id=board.token(),
        name=name,
        place=place if place is not None and whole else str(file.resolve()),
        digest=digest,
        added_by=board.by,
        added_at=board.clock(),
    )
    await board.write(keep_sheet, sheet=kept)
    return kept


async def hand_in_fetched(
    board: Board, *, fetched: Fetched, place: str, options: RunOptions = _PLAIN
) -> SheetView:
    """Keep a sheet that was fetched from an address or lies in the inbox, and look at it."""
    keep = partial(hand_in, board, name=fetched.name, content=fetched.content)
    return await keep(place=place, options=options)


async def hand_in_address(board: Board, address: str, options: RunOptions = _PLAIN) -> SheetView:
    """Fetch a published sheet; raises SheetError where it cannot be had, or must not be."""
    fetched = await fetch_address(board, address)
    return await hand_in_fetched(board, fetched=fetched, place=address, options=options)


async def inbox_sheets(board: Board) -> list[InboxFile]:
    """Return the sheets that lie in the inbox, the newest first."""
    return await asyncio.to_thread(list_inbox, board.settings)


async def hand_in_from_inbox(board: Board, name: str, options: RunOptions = _PLAIN) -> SheetView:
    """Take a sheet of the inbox; raises ProblemDetails (404) for one that does not lie there."""
    found = next((one for one in await inbox_sheets(board) if one.name == name), None)
    if found is None:
        raise ProblemDetails(404, f"there is no sheet {name[:100]} in the inbox")
    fetched = await fetch(str(found.path))
    keep = partial(hand_in_fetched, board, fetched=fetched, place=str(found.path))
    return await keep(options=options)


async def correct_cells(
    board: Board, sheet_id: str, said: Corrections, options: RunOptions = _PLAIN
) -> SheetView:
    """Upload a copy of a sheet with new texts for the cells of its problems.

    Raises BadInput where nothing is new, CellRefused where a cell cannot be corrected, and
    ProblemDetails (404) for no such sheet.
    """
    seen = await see_sheet(board, sheet_id, options)
    texts = {n: text for kind in seen.kinds for n, text in kind.corrected(said).items()}
    if not texts:
        raise BadInput("no cell was changed", remedy="type the new text of a cell first")
    corrections = [(seen.problems[number], text) for number, text in texts.items()]
    left = [one for number, one in enumerate(seen.problems) if number not in texts]
    making = partial(correct, corrections=corrections, mapped=seen.mapped, left=left)
    return await _corrected(board, seen, options, making)


async def set_columns(
    board: Board, seen: SheetView, columns: Mapping[str, str], options: RunOptions = _PLAIN
) -> SheetView:
    """Upload a copy of a sheet with these texts in all of its rows, by column.

    Raises CellRefused for a problem that has to be fixed first.
    """

    making = partial(with_columns, columns=columns, mapped=seen.mapped, left=seen.problems)
    return await _corrected(board, seen, options, partial(making, worksheet=options.worksheet))


async def _corrected(
    board: Board, seen: SheetView, options: RunOptions, making: Callable[[bytes], bytes]
) -> SheetView:
    """Upload the copy that is made of a sheet; its headers mean what they mean in the sheet."""
    content = await asyncio.to_thread(read_kept, board.settings, seen.kept)
    made = await asyncio.to_thread(making, content)
    kept = await _store(board, name_of_copy(seen.kept.name), made)
    options = options.but(worksheet=None)
    _, found = await read_mapped(board, kept, options)
    there = {header_form(one.name) for one in found.columns}
    columns = {h: column for h, column in seen.mapped.items() if header_form(h) in there}
    if columns:
        keep = partial(keep_columns, headers=found.headers, columns=columns)
        await board.write(keep, by=board.by, at=board.clock())
    return await _view(board, kept, options)


async def sheet_file(board: Board, sheet_id: str) -> tuple[str, bytes]:
    """Return the name and the bytes of an uploaded sheet; raises ProblemDetails (404) for none."""
    kept = await kept_sheet(board, sheet_id)
    return kept.name, await asyncio.to_thread(read_kept, board.settings, kept)


async def see_sheet(board: Board, sheet_id: str, options: RunOptions = _PLAIN) -> SheetView:
    """Look at a sheet that was uploaded; raises ProblemDetails (404) for none."""
    return await _view(board, await kept_sheet(board, sheet_id), options)


async def kept_sheet(board: Board, sheet_id: str) -> KeptSheet:
    """Return what was uploaded; raises ProblemDetails (404) for nothing."""
    kept = await board.read(find_sheet, sheet_id=sheet_id)
    if kept is None:
        raise ProblemDetails(404, "there is no such sheet", remedy="upload it again")
    return kept


async def parsed(
    board: Board, kept: KeptSheet, options: RunOptions, person: Person | None = None
) -> Sheet:
    """Return a sheet as it is read with these options; raises SheetError with all its problems."""
    reading = options.reading(board.settings)
    return (await board.reader.find(board.settings, kept, reading, person=board.person)).good()


async def read_mapped(
    board: Board, kept: KeptSheet, options: RunOptions
) -> tuple[RunOptions, FoundSheet]:
    """Return what is in a sheet, read with the columns that were confirmed for its headers.

    The options that are returned name these columns (`map`), so that a run reads it the same way.
    """
    find = partial(board.reader.find, board.settings, kept, person=board.person)
    found = await find(options.reading(board.settings))
    if options.map is not None:
        return options, found
    known = await board.read(columns_of, headers=found.headers)
    if not known:
        return options, found
    options = options.but(map=tuple(f"{header}={column}" for header, column in known.items()))
    named = Names(known).named
    columns = tuple(
        one if named(one.name) == one.name else replace(one, column=named(one.name), proposed=None)
        for one in found.columns
    )
    # All headers of the sheet, also those of columns that are left out.
    return options, replace(await find(options.reading(board.settings)), columns=columns)


async def _view(board: Board, kept: KeptSheet, options: RunOptions) -> SheetView:
    options, read = await read_mapped(board, kept, options.but(sandbox=board.sandbox))
    mapped = parse_map(options.map or ())
    trial = Trial(columns=mapped, first=first_rows(read.sheet, FIRST, read.problems))
    if any(one.column is None for one in read.columns):
        trial = await _tried(board, kept, options, _proposed(read))
    seen = partial(
        SheetView,
        kept=kept,
        rows=read.rows,
        columns=read.columns,
        mapped=mapped,
        trial=trial,
        sheet=read.sheet,
    )
    if read.sheet is None or read.problems:
        return seen(problems=read.problems, notes=read.notes)
    found = await plan_unpriced(
        board.ledger, read.sheet, options.of_sheet(kept.place), board.settings
    )
    return seen(
        campaign=found.sheet.campaign,
        advice=found.sheet.advice,
        notes=found.sheet.notes,
        actions=Counter(line.action for line in found.plan.lines),
        refusal=found.match.refusal,
        hidden=tuple(sorted(found.sheet.hidden)),
    )
