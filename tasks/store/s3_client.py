"""boto3 behind one awaitable: its own threads, our retries, its errors reduced to sentences."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from tasks.store.retry_budget import RetryBudget
from tasks.store.s3_trouble import S3Trouble, trouble_of

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Result = TypeVar("Result")


class S3Calls:
    """Runs calls of one S3 client in threads of its own, so that nobody else waits for them."""

    def __init__(
        self,
        bucket: str,
        *,
        threads: int = 16,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.bucket = bucket
        self._connections = threads
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="callsheet-s3")
        self._sleep = sleep
        self._jitter = jitter
        self._making = Lock()
        self._client: S3Client | None = None

    async def call(self, do: Callable[[S3Client], Result], *, attempts: int = 5) -> Result:
        """Return what `do` returns for the client; raise S3Trouble after that many attempts."""
        budget = RetryBudget(attempts, jitter=self._jitter, first=0.25, most=20.0)
        while True:
            outcome = await self.run(lambda: self._attempt(do))
            if not isinstance(outcome, S3Trouble):
                return outcome
            pause = None if outcome.permanent else budget.pause()
            if pause is None:
                raise outcome
            await self._sleep(pause)

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
            return trouble_of(error, self.bucket)

    def _connected(self) -> S3Client:
        with self._making:
            if self._client is None:
                self._client = _client(self._connections)
            return self._client


def _client(connections: int) -> S3Client:
    import boto3
    from botocore.config import Config

    config = Config(
        connect_timeout=10,
        read_timeout=60,
        max_pool_connections=connections,
        # The pauses between attempts are ours: they do not hold a thread.
        retries={"mode": "standard", "total_max_attempts": 1},
        # boto3 would add a CRC32 of its own, which many compatible stores refuse or ignore.
        # Every upload of ours brings the digest its store was seen to check.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    # Its own session: the default one is shared by every thread of the process.
    return boto3.session.Session().client("s3", config=config)
