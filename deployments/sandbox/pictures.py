"""Owns pictures that come inside a request: decoded with care, and kept beside the films."""

from __future__ import annotations

import base64
import binascii
import io
import warnings
from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError

from deployments.sandbox.envelope import Refusal

FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
MOST_PIXELS = 50_000_000
LARGEST_SIDE = 1280
#: Everything that decoding something made up is known to raise.
TROUBLES = (
    *(binascii.Error, UnidentifiedImageError, Image.DecompressionBombError),
    *(OSError, ValueError, SyntaxError),
)


def keep_picture(address: str, path: Path) -> bool:
    """Decode a `data:image/` address into a JPEG file; False when it is another address.

    Raises a Refusal with 400 when there is no picture in it, or one that is too large.
    """
    if not address.startswith("data:"):
        return False
    try:
        raw = base64.b64decode(address.partition(",")[2], validate=True)
        picture = _decoded(raw)
    except TROUBLES as error:
        message = f"image: holds no {', '.join(FORMATS[:-1])} or {FORMATS[-1]} picture"
        raise Refusal(400, "invalid_request", message) from error
    picture.save(path, "JPEG", quality=90)
    return True


def _decoded(raw: bytes) -> Image.Image:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        with Image.open(io.BytesIO(raw), formats=FORMATS) as opened:
            # Before a pixel of it is decoded: a small file can hold an enormous picture.
            if opened.width * opened.height > MOST_PIXELS:
                message = f"image: has more than {MOST_PIXELS} pixels"
                raise Refusal(400, "invalid_request", message)
            opened.draft("RGB", (LARGEST_SIDE, LARGEST_SIDE))
            upright = ImageOps.exif_transpose(opened).convert("RGB")
    upright.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    return upright
