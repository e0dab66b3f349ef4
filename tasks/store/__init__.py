"""Where videos go: fetched to a spool, looked at, named, and written to a folder or a bucket.

Knows no service, no ledger and no Prefect. boto3, PyAV, httpx and pysubs2 are imported by the
functions that need them, because commands that only read the ledger must not pay for them.
"""

from callsheet.tasks.store.addresses import open_store
from callsheet.tasks.store.captions import check_captions
from callsheet.tasks.store.fetch import Fetcher
from callsheet.tasks.store.inspection import Inspection, inspect_video
from callsheet.tasks.store.inspector import Inspector
from callsheet.tasks.store.store import File, FileKind, Store, StoredFile
