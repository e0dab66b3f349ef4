"""`callsheet schema`: the JSON Schema of YAML and JSON sheets, for editors and validators."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from pathlib import Path

from callsheet.deployments.terminal import console_for, plain, print_json
from callsheet.tasks.sheet.json_schema import sheet_schema


def main(args: Namespace) -> int:
    """Write the schema to a file, or to stdout."""
    text = json.dumps(sheet_schema(), ensure_ascii=False, indent=1) + "\n"
    if args.output in (None, "-"):
        sys.stdout.write(text)
        return 0
    from callsheet.tasks.aftercare.export import whole_file

    with whole_file(Path(args.output)) as file:
        file.write(text.encode())
    console_for(args).print(f"the schema of YAML and JSON sheets is in {plain(args.output)}")
    if args.json:
        print_json({"file": args.output, "exit": 0})
    return 0
