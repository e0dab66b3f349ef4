"""boto3 behind one async client: retries, and errors as sentences.

Knows every code of S3 that is acted on.
"""

from __future__ import annotations

import asyncio
import random as chance
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

from callsheet.tasks.runtime.errors import StoreError
from callsheet.tasks.runtime.process import Random, Sleep
from callsheet.tasks.runtime.retry import RetryPolicy, retry

if TYPE_CHECKING:
    from botocore.loaders import Loader
    from mypy_boto3_s3 import S3Client

Result = TypeVar("Result")

#: How often a call is tried, unless fewer are asked for.
ATTEMPTS = 5
_THREADS = 16
_POLICY = RetryPolicy(first=0.25, longest=20.0, jitter=0.5)


class S3Trouble(StoreError):
    """One call to a bucket that did not succeed. Holds nothing that boto3 said but the code."""

    def __init__(self, code: str, sentence: str, remedy: str, *, permanent: bool) -> None:
        super().__init__(f"{sentence}; {remedy}", permanent=permanent)
        self.code = code
        self.sentence = sentence
        self.remedy = remedy


class S3Calls:
    """Runs calls of one S3 client in threads of its own, so that no one else waits for them.

    `signature` names a way to sign that boto3 would not choose.
    """

    def __init__(
        self,
        bucket: str,
        *,
        signature: object = None,
        sleep: Sleep = asyncio.sleep,
        random: Random = chance.random,
    ) -> None:
        self.bucket = bucket
        self._signature = signature
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="callsheet-s3")
        self._sleep = sleep
        self._random = random
        self._making = Lock()
        self._client: S3Client | None = None
        #: Whether the signature of a request stands for every byte of its body too.
        self.signs_bodies = False

    def sign_bodies(self) -> None:
        """From now on, sign every byte of a body: it is read once more for that."""
        self.signs_bodies = True
        with self._making:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    async def call(self, do: Callable[[S3Client], Result], *, attempts: int = ATTEMPTS) -> Result:
        """Return what `do` returns for the client; raise S3Trouble after that many attempts."""
        return _result(
            await retry(
                lambda: self.run(lambda: self._attempt(do)),
                replace(_POLICY, attempts=attempts),
                again=lambda outcome: isinstance(outcome, S3Trouble) and not outcome.permanent,
                sleep=self._sleep,
                random=self._random,
            )
        )

    def call_here(self, do: Callable[[S3Client], Result]) -> Result:
        """Do in this thread, once, what makes no request."""
        return _result(self._attempt(do))

    async def run(self, work: Callable[[], Result]) -> Result:
        """Do blocking work in one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def aclose(self) -> None:
        """Close the connections and let the threads end."""
        if self._client is not None:
            self._client.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _attempt(self, do: Callable[[S3Client], Result]) -> Result | S3Trouble:
        from boto3.exceptions import Boto3Error
        from botocore.exceptions import BotoCoreError, ClientError

        # Returned, not raised: a traceback of boto3 may hold what our sentences leave out.
        try:
            return do(self._connected())
        except (ClientError, BotoCoreError, Boto3Error, OSError, ValueError) as error:
            return _trouble_of(error, self.bucket)

    def _connected(self) -> S3Client:
        with self._making:
            if self._client is None:
                self._client = _make_client(self.signs_bodies, self._signature)
            return self._client


def _result(outcome: Result | S3Trouble) -> Result:
    if isinstance(outcome, S3Trouble):
        raise outcome
    return outcome


def _make_client(signs_bodies: bool, signature: object) -> S3Client:
    """Return a client of the store that the environment names; makes no requests."""
    import boto3
    import botocore.session
    from botocore.config import Config

    config = Config(
        signature_version=cast("str | None", signature),
        connect_timeout=10,
        read_timeout=60,
        max_pool_connections=_THREADS,
        # The pauses between attempts are ours: they do not hold a thread.
        retries={"mode": "standard", "total_max_attempts": 1},
        # boto3 would add a CRC32 of its own, which many compatible stores refuse or ignore.
        # Every upload of ours brings the digest its store was seen to check.
        # That digest is among what is signed; to sign the body too would be to hash it twice.
        s3={"payload_signing_enabled": signs_bodies},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    # Its own session: the default one is shared by every thread of the process.
    session = botocore.session.Session()
    session.register_component("data_loader", _descriptions())
    return boto3.session.Session(botocore_session=session).client("s3", config=config)


@cache
def _descriptions() -> Loader:
    """Return what describes S3 to boto3: files that a process reads once."""
    from botocore.loaders import create_loader

    return create_loader()


_KEYS = "see AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE or ~/.aws"
_REGION = "set AWS_REGION to the bucket's region"
_SIGN_IN = "sign in again or renew the keys, then run the same command again"
_RIGHTS = "allow s3:PutObject, s3:GetObject and s3:ListBucket there"
_AGAIN = "run the same command again later"

#: Codes of one meaning (of the store, or names of botocore's exceptions), the sentence for it, and
#: the remedy. All of it stays true however often it is tried.
_PERMANENT = (
    ("NoSuchBucket", "the bucket {bucket} does not exist", "make it, or name another one"),
    ("InvalidBucketName", "{bucket} is not a name a bucket can have", "name another one"),
    ("AccessDenied 403 Forbidden", "access to the bucket {bucket} is denied", _RIGHTS),
    ("AllAccessDisabled AccountProblem", "access to the bucket {bucket} is switched off",
     "name another one"),
    ("InvalidAccessKeyId", "the store does not know the access key", _KEYS),
    ("SignatureDoesNotMatch", "the store does not accept the secret key", _KEYS),
    ("ExpiredToken InvalidToken ExpiredTokenException RequestExpired TokenRefreshRequired "
     "CredentialRetrievalError TokenRetrievalError SSOTokenLoadError UnauthorizedSSOTokenError "
     "LoginRefreshRequired", "the store's credentials have expired", _SIGN_IN),
    ("PermanentRedirect 301 AuthorizationHeaderMalformed IllegalLocationConstraintException",
     "the bucket {bucket} is in another region", _REGION),
    ("RequestTimeTooSkewed", "this machine's clock is wrong", "set the clock"),
    ("EntityTooLarge", "the store does not take files this large", "use another store"),
    ("QuotaExceeded InsufficientStorage XMinioStorageFull", "the store is full or over its quota",
     "make room there"),
    ("NoCredentials NoCredentialsError PartialCredentialsError",
     "there are no credentials for the store", _KEYS),
    ("NoRegion NoRegionError InvalidRegionError", "no region is set for the store", _REGION),
    ("BadEndpoint ValueError", "the store's endpoint is not an address", "see AWS_ENDPOINT_URL_S3"),
    ("BadProfile ProfileNotFound", "the AWS profile does not exist",
     "see AWS_PROFILE and ~/.aws/config"),
    ("PreconditionFailed 412", "the name is taken in the bucket {bucket}", "use another name"),
    ("404 NotFound NoSuchKey", "the bucket {bucket} does not have it",
     "look at the bucket's contents"),
)  # fmt: skip
#: By each code: the first of its meaning, the sentence and the remedy.
_MEANINGS = {
    code: (codes.split()[0], sentence, remedy)
    for codes, sentence, remedy in _PERMANENT
    for code in codes.split()
}

#: Refusals that another attempt may turn into success, though their status says 4xx.
_PASSING = {
    "BadDigest", "ConditionalRequestConflict", "IncompleteBody", "OperationAborted",
    "RequestTimeout", "SlowDown", "Throttling", "ThrottlingException", "TooManyRequests",
    "XAmzContentChecksumMismatch", "XAmzContentSHA256Mismatch",
}  # fmt: skip


def _trouble_of(error: Exception, bucket: str) -> S3Trouble:
    """Return what an error of boto3 means for people, without its own words."""
    details: dict[str, Any] = getattr(error, "response", None) or {}
    status = int(details.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    name = str(details.get("Error", {}).get("Code", "")) or type(error).__name__
    if name in _MEANINGS:
        code, sentence, remedy = _MEANINGS[name]
        return S3Trouble(code, sentence.format(bucket=bucket), remedy, permanent=True)
    if not status:
        return _unanswered(error, name)
    passing = name in _PASSING or status in (409, 429) or (status >= 500 and status != 501)
    sentence = f"the store answered {status} ({name[:60]})"
    return S3Trouble(name, sentence, _AGAIN, permanent=not passing)


def _unanswered(error: Exception, code: str) -> S3Trouble:
    given = str((getattr(error, "kwargs", None) or {}).get("endpoint_url") or "")
    host = urlsplit(given).hostname
    where = f"the store at {host}" if host else "the store"
    final = code in ("ParamValidationError", "SSLError", "InvalidEndpointConfigurationError")
    sentence = f"{where} cannot be reached ({code})"
    return S3Trouble(code, sentence, "see AWS_ENDPOINT_URL_S3 and the network", permanent=final)
