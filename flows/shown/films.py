"""Where a film is seen by whoever clicks on it in Prefect: on the board, or in the store itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from flows.shown.artifacts import cell, link
from tasks.campaign.run import Run
from tasks.store.signed_addresses import SignedAddresses, disposition_of

#: How long a signed address in a table can be read at, in seconds: as long as S3 lets one.
SIGNED_FOR = 7 * 24 * 3600


async def film_cells(run: Run, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what to show of the film of each row (its `row_document`): a link, else where it is.

    A signed address is shown only where the settings say so: whoever sees Prefect's page could
    watch the film by it.
    """
    found = [_film(row) for row in rows]
    links = run.at.settings.film_links
    if links != "signed":
        return [_cell(run, row, uri) for row, uri in zip(rows, found, strict=True)]
    async with aclosing(SignedAddresses()) as addresses:
        return [await _signed(addresses, uri) for uri in found]


def row_cell(run: Run, row: str) -> str:
    """Return what to show of a row's id: a link to its page on the board, where there is one."""
    board = run.at.settings.board_url
    if board is None or run.campaign is None:
        return cell(row)
    return link(row, f"{board}/c/{_part(run.campaign.name)}/rows/{_part(row)}")


def _film(row: Mapping[str, Any]) -> str | None:
    return next((file["uri"] for file in row["deliveries"] if file["kind"] == "mp4"), None)


def _cell(run: Run, row: Mapping[str, Any], uri: str | None) -> str:
    if uri is None:
        return ""
    settings, name = run.at.settings, PurePosixPath(uri).name
    if settings.film_links is not None and uri.startswith(run.at.store.address):
        below = uri.removeprefix(run.at.store.address).lstrip("/")
        return link(name, f"{settings.film_links}/{quote(below)}")
    if uri.startswith("https://"):
        return link(name, uri)
    if settings.board_url is not None and run.campaign is not None:
        film = f"{_part(run.campaign.name)}/{_part(row['row'])}/{row['film_take']}.mp4"
        return link(name, f"{settings.board_url}/api/v1/films/{film}")
    return cell(uri)


async def _signed(addresses: SignedAddresses, uri: str | None) -> str:
    if uri is None or not uri.startswith("s3://"):
        return cell(uri or "")
    name = PurePosixPath(uri).name
    shown = disposition_of(name, download=False)
    sign = addresses.sign(uri, content_type="video/mp4", disposition=shown, lasting=SIGNED_FOR)
    return link(name, await sign)


def _part(name: str) -> str:
    return quote(name, safe="")
