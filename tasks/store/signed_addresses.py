"""Addresses at which a browser reads a file of a bucket: signed, for a while, for one file."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlsplit

from callsheet.tasks.store.open import place_of
from callsheet.tasks.store.s3_client import S3Calls, make_client, said

#: How long an address can be read at, in seconds: a video that is watched is read piece by piece.
LASTING = 900


class SignedAddresses:
    """Signs addresses of files in buckets; asks nobody but whoever gives out the credentials."""

    def __init__(self) -> None:
        self._buckets: dict[str, S3Calls] = {}

    async def sign(
        self, uri: str, *, content_type: str, disposition: str, lasting: int = LASTING
    ) -> str:
        """Return the signed address of `s3://bucket/key`, to be read at for `lasting` seconds.

        Raises StoreError without credentials.
        """
        bucket, _, key = uri.removeprefix("s3://").partition("/")
        if bucket not in self._buckets:
            # The old way to sign says nothing of how the answer is to be given.
            self._buckets[bucket] = S3Calls(bucket, threads=2, signature="s3v4")
        wanted: dict[str, Any] = {
            "Bucket": bucket,
            "Key": key,
            "ResponseContentType": content_type,
            "ResponseContentDisposition": disposition,
        }
        return await said(
            self._buckets[bucket].call(
                lambda client: client.generate_presigned_url(
                    "get_object", Params=wanted, ExpiresIn=lasting
                )
            )
        )

    async def aclose(self) -> None:
        """Let go of threads."""
        for calls in self._buckets.values():
            await calls.aclose()


def origin_of_store(address: str) -> str | None:
    """Return the origin from which videos of a store are read (`https://host`); None of a folder.

    Contacts nobody. Where boto3 cannot say it, None too: then no page shows videos from there.
    """
    if not address.startswith("s3://"):
        return None
    from botocore import UNSIGNED
    from botocore.exceptions import BotoCoreError

    try:
        found = make_client(1, signature=UNSIGNED).generate_presigned_url(
            "get_object", Params={"Bucket": place_of(address)[len("s3://") :], "Key": "video.mp4"}
        )
    except (BotoCoreError, ValueError):
        return None
    parts = urlsplit(found)
    return f"{parts.scheme}://{parts.netloc}"


def disposition_of(name: str, *, download: bool) -> str:
    """Return how a browser is to take a file: shown, or saved under its name."""
    kind = "attachment" if download else "inline"
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in name)
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
