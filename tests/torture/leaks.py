"""Whether anything that a campaign left behind holds the key, or an address that opens a video."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.torture.stand import Place

_SIGNED = re.compile(rb"signature=[0-9a-f]{16}")


def leaks(place: Place, said: str) -> Iterator[str]:
    """Name every file of a trial that holds a secret, and what the commands said if that does."""
    key = place.desk.environ["CALLSHEET_API_KEY"].encode()
    texts = {"what the commands said": said.encode()}
    for path in place.desk.folder.rglob("*"):
        if path.is_file() and path.suffix != ".mp4":
            texts[str(path)] = path.read_bytes()
    for name, text in texts.items():
        if key in text:
            yield f"a secret: {name} holds the API key"
        if _SIGNED.search(text):
            yield f"a secret: {name} holds a signed address"
