"""The house: imports point one way, and heavy libraries are paid for only where they are needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Collection, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.repository import PROGRAM, ROOT, files_in

FILES = sorted(files_in(*PROGRAM))

#: The package that all of ours is in.
OURS = "callsheet."

#: What a folder may import of ours besides itself and the values at the top of `tasks/`.
BELOW_ENGINE = {"tasks/sheet", "tasks/service", "tasks/ledger", "tasks/store"}
MAY_IMPORT: dict[str, set[str]] = {
    "tasks/sheet": set(),
    "tasks/service": set(),
    "tasks/ledger": set(),
    "tasks/store": set(),
    "tasks/metrics": {"tasks/ledger"},
    "tasks/engine": {"tasks/metrics"} | BELOW_ENGINE,
    "tasks/webhooks": {"tasks/engine"} | BELOW_ENGINE,
    "tasks/campaign": {"tasks/webhooks", "tasks/engine", "tasks/metrics"} | BELOW_ENGINE,
    "tasks/aftercare": {"tasks/campaign", "tasks/webhooks", "tasks/engine"} | BELOW_ENGINE,
    "tasks/nights": {"tasks/aftercare", "tasks/campaign", "tasks/webhooks", "tasks/engine"}
    | BELOW_ENGINE,
    "tasks/notices": {"tasks/nights", "tasks/aftercare"} | BELOW_ENGINE,
    "flows": {"tasks"},
    "deployments": {"tasks", "flows", "deployments/sandbox"},
    "deployments/sandbox": set(),
}
#: Within the engine, too: the rules know nothing of what touches the world.
PURE = "tasks/engine/policy"
#: Libraries that belong to one place alone.
BELONGS = {
    "prefect": {"flows", "tasks"},
    "boto3": {"tasks/store", "tasks/sheet"},
    "botocore": {"tasks/store", "tasks/sheet"},
    "sqlalchemy": {
        "tasks/ledger",
        "tasks/metrics",
        "tasks/engine",
        "tasks/campaign",
        "tasks/aftercare",
        "tasks/nights",
        "tasks/notices",
    },
    "alembic": {"tasks/ledger"},
    "prometheus_client": {"tasks/metrics"},
    "opentelemetry": {"tasks/metrics", "tasks"},
    "fastapi": {"deployments"},
}
#: What the list of names of a package is loaded with, each name when it is asked for.
ON_DEMAND = "load_on_demand"
#: The values and Prefect tasks at the top of `tasks/`.
VERBS = {"prefect_tasks"}


def folder_of(path: Path) -> str:
    """Return the layer a file lives in, as `tasks/ledger` or `flows`."""
    parts = path.relative_to(ROOT).parts[:-1]
    return "/".join(parts[:2]) if "/".join(parts[:2]) in MAY_IMPORT else parts[0]


@cache
def names_imported(path: Path) -> frozenset[tuple[str, str | None]]:
    """Return what a file imports, anywhere in it: a module, or a module and a name from it.

    Modules of ours go without the package that they are all in.
    """
    found: set[tuple[str, str | None]] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {(alias.name.removeprefix(OURS), None) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {(node.module.removeprefix(OURS), alias.name) for alias in node.names}
    return frozenset(found)


def imports_of(path: Path) -> set[str]:
    """Return the modules a file imports, anywhere in it."""
    return {module for module, _ in names_imported(path)}


def imported_modules(path: Path, names: Collection[str]) -> set[str]:
    """Return the modules of ours that a file imports, also as names of their package."""
    full = {(module, f"{module}.{name}") for module, name in names_imported(path)}
    return {own if own in names else module for module, own in full} & set(names)


def circles_of(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return one circle, if there is any."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [error.args[1]]
    return []


def layer_of_module(module: str) -> str | None:
    """Return the layer of one of our modules; None for a value at the top of `tasks/`."""
    parts = module.split(".")
    two = "/".join(parts[:2])
    if two in MAY_IMPORT:
        return two
    if parts[0] == "tasks":
        return "tasks" if len(parts) > 1 and parts[1] in VERBS else None
    return parts[0]


def test_every_folder_and_library_of_the_rules_is_there() -> None:
    where = {(folder_of(path), module) for path in FILES for module in imports_of(path)}
    folders = {folder for folder, _ in where}
    used = {(folder, module.split(".")[0]) for folder, module in where}

    assert set(MAY_IMPORT) - folders == set()
    assert {(one, name) for name, owners in BELONGS.items() for one in owners} - used == set()
    assert {module.split(".")[0] for _, module in where} > set(PROGRAM)
    assert [verb for verb in VERBS if not (ROOT / "tasks" / f"{verb}.py").is_file()] == []


def test_imports_point_one_way() -> None:
    for path in FILES:
        here = folder_of(path)
        if here == "tasks":
            allowed = {"tasks", "tasks/campaign", "tasks/ledger"} if path.stem in VERBS else set()
        else:
            allowed = MAY_IMPORT[here]
        for module in imports_of(path):
            if module.split(".")[0] not in ("tasks", "flows", "deployments"):
                continue
            layer = layer_of_module(module)
            if layer is None:
                assert here != "deployments/sandbox", f"the sandbox imports {module}"
                continue
            reaches = layer == here or layer in allowed or layer.split("/")[0] in allowed
            assert reaches, f"{path} imports {module}"


def test_the_rules_import_values_alone() -> None:
    for path in files_in(PURE, of="*.py"):
        for module in imports_of(path):
            ours = module.split(".")[0] in ("tasks", "flows", "deployments")
            pure = module.startswith(("tasks.engine.policy", "tasks.ledger."))
            assert not ours or pure or layer_of_module(module) is None, f"{path}: {module}"


def test_libraries_stay_where_they_belong() -> None:
    for path in FILES:
        here = folder_of(path)
        for module in imports_of(path):
            owner = BELONGS.get(module.split(".")[0])
            assert owner is None or here in owner, f"{path} imports {module}"


def test_prefect_is_imported_by_flows_and_verbs_alone() -> None:
    importers = {
        str(path.relative_to(ROOT).with_suffix(""))
        for path in FILES
        if any(module.split(".")[0] == "prefect" for module in imports_of(path))
    }
    verbs = {f"tasks/{verb}" for verb in VERBS}
    assert verbs <= importers
    assert importers - verbs <= {
        str(path.relative_to(ROOT).with_suffix("")) for path in files_in("flows")
    }
    assert not any("prefect.server" in module for path in FILES for module in imports_of(path))


#: What nobody pays for who does not use it.
HEAVY = {"prefect", "pyarrow", "boto3", "av", "fastapi"}
#: Modules, and what else they do without.
NOT_PAID_FOR: dict[str, set[str]] = {
    "callsheet.deployments.cli": set(),
    "callsheet.deployments.commands.check": {"httpx", "tenacity", "alembic", "sqlalchemy"},
    "callsheet.deployments.commands.status": {
        "httpx",
        "tenacity",
        "alembic",
        "rich.console",
        "callsheet.tasks.ledger.row_pages",
        "callsheet.tasks.ledger.takes",
        "callsheet.tasks.sheet",
        "sqlalchemy.dialects.postgresql",
    },
    "callsheet.deployments.commands.rows": {
        "httpx",
        "tenacity",
        "alembic",
        "callsheet.tasks.sheet",
        "sqlalchemy.dialects.postgresql",
    },
    "callsheet.deployments.commands.plan": set(),
    "callsheet.deployments.terminal_run": set(),
    "callsheet.flows.executor": set(),
}


@pytest.mark.merge
@pytest.mark.parametrize("module", NOT_PAID_FOR)
def test_nobody_pays_for_what_they_do_not_use(module: str) -> None:
    program = f"import sys, {module}\nprint(*({HEAVY | NOT_PAID_FOR[module]} & set(sys.modules)))"
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_parser_of_one_command_is_made_without_the_others() -> None:
    program = (
        "import argparse\n"
        "made, add = [], argparse.ArgumentParser.__init__\n"
        "argparse.ArgumentParser.__init__ = lambda self, *a, **k: made.append(add(self, *a, **k))\n"
        "from callsheet.deployments.parser import parse\n"
        "parse(['status'])\n"
        "print(len(made))"
    )
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "2"


def test_there_is_no_circle_of_imports() -> None:
    names = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in FILES
    }
    graph: dict[str, set[str]] = {}
    for name, path in names.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        found = imported_modules(path, names)
        # Whoever names a package's parts inside it does not go through its list of public names.
        graph[name] = found - {name, *(() if path.name == "__init__.py" else (package,))}
    circles = circles_of(graph)
    assert not circles, "\n".join(" -> ".join(circle) for circle in circles)


def test_no_module_shadows_the_standard_library() -> None:
    for path in files_in("tasks", "flows", of="*.py"):
        assert path.stem not in sys.stdlib_module_names, path


def test_no_name_that_a_package_loads_on_demand_is_one_of_its_files() -> None:
    # Once such a file is loaded, the name would be the file's.
    files = [*files_in("src", of="*/__init__.py"), *FILES]
    loading = [path for path in files if ON_DEMAND in {name for _, name in names_imported(path)}]

    assert loading
    for first in loading:
        names = {name for _, name in names_imported(first)}
        assert not names & {path.stem for path in first.parent.iterdir()}, first
