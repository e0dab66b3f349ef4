"""`python3 deployments/container/make_secrets.py FOLDER`: the secrets that compose.yaml asks for.

Passwords are made up, and addresses with the same passwords in them; what already exists stays.
The key for the service is asked for, or made up for the sandbox by --demo. Imports nothing but
Python's own, so that nothing has to be installed where containers are all there is.
"""

from __future__ import annotations

import argparse
import secrets
import sys
from getpass import getpass
from pathlib import Path


def main() -> int:
    """Make what is missing; say what is there."""
    parser = argparse.ArgumentParser(description="The secrets that compose.yaml asks for.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--demo", action="store_true", help="a key for the sandbox, made up")
    args = parser.parse_args()
    args.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = f"mav_{secrets.token_urlsafe(32)}" if args.demo else None
    for name, text in wanted(args.folder, key).items():
        keep(args.folder / name, text)
    if not (args.folder / "api-key").exists():
        if not (key := ask_key()):
            print("no key was typed: start this again, there is no api-key yet", file=sys.stderr)
            return 2
        keep(args.folder / "api-key", key)
    print(f"{args.folder}: {', '.join(sorted(one.name for one in args.folder.iterdir()))}")
    return 0


def ask_key() -> str:
    """Return the key that is typed; empty where nothing is."""
    try:
        return getpass("the organization's key for the service: ").strip()
    except (EOFError, KeyboardInterrupt):
        return ""


def wanted(folder: Path, key: str | None) -> dict[str, str]:
    """Return every secret that is not asked for, by the name of its file."""
    kept = folder / "postgres-password"
    password = kept.read_text("utf-8").strip() if kept.exists() else secrets.token_hex(24)
    at = f"callsheet:{password}@postgres:5432"
    found = {
        "postgres-password": password,
        "ledger": f"postgresql://{at}/callsheet",
        "prefect-database": f"postgresql+asyncpg://{at}/prefect",
        "prefect-login": f"callsheet:{secrets.token_hex(24)}",
        # Of a store of your own: its key, in the form of `~/.aws/credentials`.
        "aws-credentials": (
            "[default]\n"
            f"aws_access_key_id = {secrets.token_hex(10)}\n"
            f"aws_secret_access_key = {secrets.token_hex(20)}\n"
        ),
    }
    return found if key is None else {**found, "api-key": key}


def keep(path: Path, text: str) -> None:
    """Write a file that is not there yet.

    The user of the process in a container has to be able to read it; the folder is its owner's.
    """
    if not path.exists():
        path.write_text(text, "utf-8")
        path.chmod(0o444)


if __name__ == "__main__":
    sys.exit(main())
