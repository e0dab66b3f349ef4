"""Small pictures of the night's videos for a mail: all of one size, so that they stand in a grid.

A video that is higher than wide, among others, stands before itself, enlarged and out of focus.
"""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from callsheet.tasks.aftercare.verify import Places
from callsheet.tasks.aftercare.video_pictures import Pictures
from callsheet.tasks.known_settings import Settings
from callsheet.tasks.ledger import Ledger, find_take_video
from callsheet.tasks.notices.values import NewVideo

log = logging.getLogger("callsheet.notices")
#: Pixels of a picture, twice those that it is shown at: wide ones, and ones for videos of phones.
WIDE, TALL = (352, 198), (352, 440)
#: How long, in seconds, the pictures of a mail may take together.
PATIENCE = 30.0


async def with_pictures(
    ledger: Ledger, settings: Settings, videos: Sequence[NewVideo]
) -> tuple[NewVideo, ...]:
    """Return the videos with their pictures; those without one are left as they are."""
    try:
        return await asyncio.wait_for(_with_pictures(ledger, settings, videos), PATIENCE)
    except Exception as error:  # a store that is away is no reason to say nothing
        log.warning("a digest goes without pictures: %s", error or type(error).__name__)
        return tuple(videos)


async def _with_pictures(
    ledger: Ledger, settings: Settings, videos: Sequence[NewVideo]
) -> tuple[NewVideo, ...]:
    async with Places() as places:
        folder = settings.home / "board" / "pictures"
        pictures = Pictures(places, spool=settings.spool, folder=folder)
        posters = []
        for video in videos:
            query = partial(
                find_take_video, campaign=video.campaign, row=video.row, take=video.take
            )
            found = await ledger.read(query)
            posters.append(await pictures.find(found, "poster") if found else None)
    stills = await asyncio.to_thread(in_one_size, posters)
    return tuple(replace(video, jpeg=still) for video, still in zip(videos, stills, strict=True))


def in_one_size(posters: Sequence[bytes | None]) -> list[bytes | None]:
    """Return pictures cut for a mail: wide ones, or high ones where most of them are high."""
    from PIL import Image

    sizes = []
    for poster in posters:
        if poster:
            with Image.open(io.BytesIO(poster)) as image:
                sizes.append(image.size)
    tall = sum(height > width for width, height in sizes) * 2 > len(sizes)
    return [poster and still_of(poster, TALL if tall else WIDE) for poster in posters]


def still_of(poster: bytes, size: tuple[int, int]) -> bytes:
    """Return a picture of just this size: as it is where it nearly fits, else before itself."""
    from PIL import Image, ImageEnhance, ImageFilter, ImageOps

    with Image.open(io.BytesIO(poster)) as image:
        whole = image.convert("RGB")
    filled = ImageOps.fit(whole, size)
    shape, wanted = whole.width / whole.height, size[0] / size[1]
    if not 0.8 < shape / wanted < 1.25:
        behind = filled.resize((size[0] // 8, size[1] // 8)).filter(ImageFilter.GaussianBlur(3))
        filled = ImageEnhance.Brightness(behind.resize(size)).enhance(0.6)
        inside = ImageOps.contain(whole, size)
        filled.paste(inside, ((size[0] - inside.width) // 2, (size[1] - inside.height) // 2))
    out = io.BytesIO()
    filled.save(out, "JPEG", quality=78, optimize=True)
    return out.getvalue()
