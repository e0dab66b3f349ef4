"""The proxy that makes trouble for an S3 server, in a thread of its own.

Whoever waits for a command in the test's thread does not keep it from answering.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.stores import S3Server
from tests.unit.store.s3_proxy import S3Proxy, Trouble, checking, s3_proxy


@contextmanager
def troubled(behind: S3Server, trouble: Trouble = checking) -> Iterator[S3Proxy]:
    """Run a proxy in front of `behind`, which checks digests unless it makes other trouble."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    proxy = s3_proxy(behind, trouble)
    try:
        yield asyncio.run_coroutine_threadsafe(proxy.__aenter__(), loop).result(30)
    finally:
        leaving = proxy.__aexit__(None, None, None)
        asyncio.run_coroutine_threadsafe(leaving, loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
