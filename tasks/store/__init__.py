"""Where films go: fetched to a spool, looked at, named, and written to a folder or a bucket.

Knows no service, no ledger and no Prefect. boto3, PyAV, httpx and pysubs2 are imported by the
functions that need them, because commands that only read the ledger must not pay for them.
"""

from tasks.store.captions import check_captions
from tasks.store.fetch import Fetcher
from tasks.store.film import Film, inspect_apart, inspect_film
from tasks.store.naming import FileKind, object_name
from tasks.store.open import open_store
from tasks.store.second_process import SecondProcess
from tasks.store.store import File, Store, StoredFile
