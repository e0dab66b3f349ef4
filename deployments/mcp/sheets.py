"""Where an agent's sheets come from: a file below its folder, an address, or text."""

from __future__ import annotations

import re
from pathlib import Path

from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.services.sheet_view import SheetView
from callsheet.deployments.board.services.sheets import hand_in, hand_in_address, hand_in_fetched
from callsheet.deployments.mcp.caller import Caller
from callsheet.tasks.sheet.fetch import fetch
from callsheet.tasks.sheet.formats import SUFFIXES

#: The first line of a text that is a member of YAML and no header of a table.
_YAML = re.compile(r"---|- |[\w-]+:(\s|$)")


async def upload(caller: Caller, sheet: str, *, name: str | None = None) -> SheetView:
    """Store a sheet and look at it; `name` is what a text is called, and its campaign after it.

    Raises ProblemDetails for a file that the caller may not read, SheetError for one that cannot
    be read.
    """
    board, text = caller.board, sheet.strip()
    if "\n" in text or text.startswith(("{", "[")):
        called = f"{name or 'sheet'}.{_format(text)}"
        return await hand_in(board, name=called, content=sheet.encode())
    if "://" in text:
        return await hand_in_address(board, text)
    path = _checked(caller, text)
    return await hand_in_fetched(board, fetched=await fetch(str(path)), place=str(path))


def _format(text: str) -> str:
    if text.startswith(("{", "[")):
        return "json"
    return "yaml" if _YAML.match(text) else "csv"


def _checked(caller: Caller, sheet: str) -> Path:
    """Return the file of a sheet; raise ProblemDetails (403) outside of the agent's folders."""
    sheet = sheet.replace("\0", "?")
    folder = caller.desk.folder
    if folder is None:
        raise ProblemDetails(
            403,
            "this server reads no files; nothing was charged",
            remedy="send the text of the sheet, or its address",
        )
    inbox = caller.board.settings.inbox
    allowed = [folder.resolve(), *([Path(inbox).expanduser().resolve()] if inbox else [])]
    path = (folder / sheet).resolve()
    inside = next((path.relative_to(one) for one in allowed if path.is_relative_to(one)), None)
    hidden = inside is None or any(part.startswith(".") for part in inside.parts)
    if hidden or path.suffix.lower() not in SUFFIXES:
        raise ProblemDetails(
            403,
            f"{sheet[:200]} is not a sheet below the working folder; nothing was charged",
            remedy=f"name a file below the working folder ({', '.join(sorted(SUFFIXES))}), or "
            "send the text of the sheet",
        )
    return path
