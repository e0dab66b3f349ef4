"""What a store that speaks S3 really does, found out by trying.

Amazon checks digests and honors If-None-Match. Of the compatible stores some refuse these
headers, and some accept and ignore them, which is worse: a guard that silently passes. One of
them even repeats a wrong digest back as if it had checked it. So nothing is believed that was
not seen: a digest counts when a wrong one is refused, a condition when it stops a second write.
"""

from __future__ import annotations

import base64
import secrets
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from callsheet.tasks.runtime.crash_points import crashpoint
from callsheet.tasks.store.disk import Measure, measure
from callsheet.tasks.store.s3_client import S3Calls, S3Trouble

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Digest = Literal["sha256", "md5"]

_BODY = b"Callsheet was here to see what this store can do. This file can be removed.\n"
_OTHER = b"these are not the bytes that are sent"
#: An attempt and one more: anyone who waits for a check should know soon.
_ATTEMPTS = 2
DIGESTS: tuple[Digest, ...] = ("sha256", "md5")

#: Refusals that are about a header, not about the bucket or the keys.
_ABOUT_HEADERS = {
    "BadDigest", "BadRequest", "400", "501", "InvalidArgument", "InvalidDigest", "InvalidRequest",
    "MalformedHeader", "NotImplemented", "UnsupportedHeader", "XAmzContentChecksumMismatch",
    "XAmzContentSHA256Mismatch",
}  # fmt: skip

#: What a store may answer to a body that is not signed, if it wants it to be.
_ABOUT_SIGNING = {
    "400", "501", "AccessDenied", "InvalidArgument", "InvalidRequest", "NotImplemented",
    "SignatureDoesNotMatch", "XAmzContentSHA256Mismatch",
}  # fmt: skip


@dataclass(frozen=True)
class Abilities:
    """What a store was seen to do."""

    #: The digest it accepts with an upload.
    digest: Digest | None
    #: It refuses an upload that does not fit the digest. Otherwise uploads are read back.
    checks: bool
    #: It refuses to write over a name when asked to. Otherwise we look before writing.
    conditional: bool

    @property
    def vouches(self) -> bool:
        """Whether it keeps a sha256 that it has checked: any other is our words repeated back."""
        return self.checks and self.digest == "sha256"


async def probe(calls: S3Calls, prefix: str) -> Abilities:
    """Write, overwrite, read and remove one small object; raise S3Trouble if that fails.

    A store that seems to want signed bodies gets them, now and from `calls` for ever after.
    """
    try:
        return await _probe(calls, prefix)
    except S3Trouble as trouble:
        if calls.signs_bodies or trouble.code not in _ABOUT_SIGNING:
            raise
    calls.sign_bodies()
    return await _probe(calls, prefix)


async def _probe(calls: S3Calls, prefix: str) -> Abilities:
    key = f"{prefix}.callsheet-probe-{secrets.token_hex(8)}"
    trial = _Trial(calls, key)
    try:
        digest, checks = await trial.digest()
        crashpoint("bucket: the probe is written")
        conditional = await trial.guards(digest_header(digest, measure(_BODY)))
        await trial.read()
    finally:
        await trial.remove()
    return Abilities(digest, checks, conditional)


def digest_header(digest: Digest | None, of: Measure) -> dict[str, str]:
    """Return the argument of `put_object` that has the digest."""
    if digest == "sha256":
        return {"ChecksumSHA256": _base64(of.sha256)}
    return {"ContentMD5": _base64(of.md5)} if digest == "md5" else {}


def _base64(hexed: str) -> str:
    return base64.b64encode(bytes.fromhex(hexed)).decode()


class _Trial:
    def __init__(self, calls: S3Calls, key: str) -> None:
        self._calls = calls
        self._at: dict[str, Any] = {"Bucket": calls.bucket, "Key": key}

    async def digest(self) -> tuple[Digest | None, bool]:
        """Return the digest to send, and whether the store refuses a wrong one."""
        accepted: list[Digest] = []
        for digest in DIGESTS:
            if await self._accepts(digest_header(digest, measure(_BODY))):
                if not await self._accepts(digest_header(digest, measure(_OTHER))):
                    return digest, True
                accepted.append(digest)
        if not accepted:
            await self._put({}, attempts=_ATTEMPTS)
        return (accepted[0] if accepted else None), False

    async def guards(self, headers: dict[str, str]) -> bool:
        """Return whether If-None-Match stops a write over the object that is there now."""
        try:
            await self._put({**headers, "IfNoneMatch": "*"}, attempts=_ATTEMPTS)
        except S3Trouble as trouble:
            if trouble.code == "PreconditionFailed":
                return True
            # Anything else (too busy, say) proves nothing, and must not pass for "cannot".
            if trouble.code not in _ABOUT_HEADERS:
                raise
        return False

    async def read(self) -> None:
        """Make sure that what is written can be looked at."""
        await self._calls.call(lambda client: client.head_object(**self._at), attempts=_ATTEMPTS)

    async def remove(self) -> None:
        """Remove the object, if that is allowed."""
        # Some keys may write and not delete. The object is small and says what it is.
        with suppress(S3Trouble):
            await self._calls.call(lambda client: client.delete_object(**self._at), attempts=1)

    async def _accepts(self, headers: dict[str, str]) -> bool:
        try:
            await self._put(headers, attempts=1)
        except S3Trouble as trouble:
            if trouble.code in _ABOUT_HEADERS:
                return False
            if trouble.permanent:
                raise
            # Once more, for a store that was only busy.
            await self._put(headers, attempts=1)
        return True

    async def _put(self, headers: dict[str, str], *, attempts: int) -> None:
        def put(client: S3Client) -> object:
            return client.put_object(Body=_BODY, **self._at, **headers)  # type: ignore[arg-type]

        await self._calls.call(put, attempts=attempts)
