"""Something to be put into a bucket, measured before it leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import quote

from tasks.errors import StoreError
from tasks.store.disk import disk_trouble, say_bytes
from tasks.store.measure import Measure, measure

#: The most that one PUT may carry. Films of minutes are far below it.
_LARGEST = 5 * 1024**3
#: All metadata of an object together may have 2 kB.
_METADATA_LIMIT = 250


@dataclass(frozen=True, kw_only=True)
class Upload:
    """Bytes, their digests, and what goes with them."""

    key: str
    source: Path | bytes
    measured: Measure
    content_type: str
    metadata: Mapping[str, str]

    @classmethod
    def of(
        cls, key: str, source: Path | bytes, *, content_type: str, metadata: Mapping[str, str]
    ) -> Self:
        """Measure `source`; raise StoreError when it cannot be read or sent."""
        with disk_trouble("the file to be stored", Path() if isinstance(source, bytes) else source):
            size = len(source) if isinstance(source, bytes) else source.stat().st_size
            if size > _LARGEST:
                message = f"the file is larger than the {say_bytes(_LARGEST)} one upload may have"
                raise StoreError(message, permanent=True)
            measured = measure(source)
        return cls(
            key=key,
            source=source,
            measured=measured,
            content_type=content_type,
            metadata=_ascii({**metadata, "callsheet-sha256": measured.sha256}),
        )


def _ascii(metadata: Mapping[str, str]) -> dict[str, str]:
    # Metadata travels in headers: ASCII, no line ends.
    safe = " !#$&'()*+,-./:;<=>?@[]_|~"
    return {key: quote(value, safe=safe)[:_METADATA_LIMIT] for key, value in metadata.items()}
