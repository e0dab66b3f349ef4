"""What is kept beside a video: its pictures. They can be made again, so none is waited for long."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from callsheet.tasks.store.inspection import Inspection
from callsheet.tasks.store.naming import picture_name
from callsheet.tasks.store.pictures import Jpeg
from callsheet.tasks.store.store import Store

#: How a picture's name ends where its video's ends in .mp4.
ENDINGS: Mapping[Literal["poster", "strip"], str] = {"poster": ".jpg", "strip": ".strip.jpg"}
#: Seconds that a delivery waits for its pictures at most.
LONGEST = 10.0


@dataclass(frozen=True, kw_only=True)
class PictureBeside:
    """A picture in the store: its address, bytes, and pixels; `shown` different ones are in it."""

    uri: str
    bytes: int
    width: int
    height: int
    shown: int = 1


async def keep_pictures(
    store: Store, video: str, inspection: Inspection
) -> dict[Literal["poster", "strip"], PictureBeside]:
    """Keep the pictures of a video beside it, by its name; return those that are there."""
    made: dict[Literal["poster", "strip"], Jpeg | None] = {
        "poster": inspection.poster,
        "strip": inspection.strip,
    }
    wanted = {kind: jpeg for kind, jpeg in made.items() if jpeg is not None}
    try:
        async with asyncio.timeout(LONGEST):
            addresses = await asyncio.gather(
                *(
                    store.keep(
                        picture_name(video, ENDINGS[kind]), jpeg.data, content_type="image/jpeg"
                    )
                    for kind, jpeg in wanted.items()
                )
            )
    except TimeoutError:
        return {}
    return {
        kind: PictureBeside(
            uri=uri,
            bytes=len(jpeg.data),
            width=jpeg.width,
            height=jpeg.height,
            shown=inspection.shown if kind == "strip" else 1,
        )
        for (kind, jpeg), uri in zip(wanted.items(), addresses, strict=True)
        if uri is not None
    }
