"""How large a sheet may be: far above any real campaign, far below what hurts."""

MAX_BYTES = 20 * 1024 * 1024
MAX_YAML_BYTES = 1024 * 1024
MAX_UNZIPPED_BYTES = 200 * 1024 * 1024
MAX_UNZIP_RATIO = 200
MAX_ROWS = 100_000
MAX_LINES = 1_048_576
MAX_COLUMNS = 200
MAX_CELL_CHARACTERS = 100_000
MAX_DEPTH = 20


def say_bytes(count: int) -> str:
    """Return a number of bytes for people: `20 MiB`."""
    for unit, size in (("MiB", 1024 * 1024), ("KiB", 1024)):
        if count >= size:
            return f"{count / size:,.3g} {unit}"
    return f"{count} bytes"
