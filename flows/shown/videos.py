"""Where a click on a video in Prefect leads: to the board, or to the store itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from callsheet.flows.shown.artifacts import cell, link
from callsheet.tasks.settings import Settings
from callsheet.tasks.store.signed_addresses import SignedAddresses, disposition_of

#: How long a signed address in a table can be read at, in seconds: as long as S3 lets one.
SIGNED_FOR = 7 * 24 * 3600
#: What is clicked on.
VIDEO = "video"


@dataclass(frozen=True, kw_only=True)
class VideoLinks:
    """Where a campaign's rows and videos are seen: `store` is the address of its store."""

    campaign: str
    store: str
    settings: Settings

    def row(self, row: str) -> str:
        """Return what to show of a row's id: a link to its page on the board, if there is one."""
        board = self.settings.board_url
        return cell(row) if board is None else link(row, f"{self.board}/rows/{_part(row)}")

    @property
    def board(self) -> str | None:
        """The address of the campaign's page on the board."""
        board = self.settings.board_url
        return None if board is None else f"{board}/c/{_part(self.campaign)}"

    async def videos(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return what to show of the video of each row (its `row_document`): a link, or where it
        is.

        A signed address is shown only where the settings say so: whoever sees Prefect's page could
        watch the video by it.
        """
        found = [_video(row) for row in rows]
        if self.settings.video_links != "signed":
            return [self._cell(row, uri) for row, uri in zip(rows, found, strict=True)]
        async with aclosing(SignedAddresses()) as addresses:
            return [await _signed(addresses, uri) for uri in found]

    def _cell(self, row: Mapping[str, Any], uri: str | None) -> str:
        if uri is None:
            return self._page(row["row"])
        published = self.settings.video_links
        below = uri.removeprefix(self.store.rstrip("/") + "/")
        if published is not None and below != uri:
            return link(VIDEO, f"{published}/{quote(below)}")
        if self.board is not None:
            # Its player, and not the file: whoever is not logged in is asked to.
            return link(VIDEO, f"{self.board}/videos?open={_part(row['row'])}")
        return cell(below)

    def _page(self, row: str) -> str:
        return link("board", f"{self.board}/rows/{_part(row)}") if self.board else ""


def _video(row: Mapping[str, Any]) -> str | None:
    return next((file["uri"] for file in row["deliveries"] if file["kind"] == "mp4"), None)


async def _signed(addresses: SignedAddresses, uri: str | None) -> str:
    if uri is None or not uri.startswith("s3://"):
        return cell(uri or "")
    name = PurePosixPath(uri).name
    shown = disposition_of(name, download=False)
    sign = addresses.sign(uri, content_type="video/mp4", disposition=shown, lasting=SIGNED_FOR)
    return link(VIDEO, await sign)


def _part(name: str) -> str:
    return quote(name, safe="")
