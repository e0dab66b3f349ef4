"""The Dockerfile: what it copies and starts is there, and what it must not have is not."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.containers.dockerfile import (
    DOCKERFILE,
    Stage,
    environ,
    ignore_rules,
    ignored,
    last,
    read_dockerfile,
)
from tests.containers.extra import lines_of
from tests.containers.named import check_command, unknown_variables
from tests.programs import ROOT
from tests.repository import files_in, tracked

pytestmark = pytest.mark.merge

ARGUMENTS, STAGES = read_dockerfile()
IMAGES = [stage for stage in STAGES if stage.name in ("callsheet", "demo")]
#: Addresses that are this machine's, a container's, an example's or filled in.
HERE = re.compile(
    r"localhost|127\.0\.0\.1|s3\.localhost|sandbox:|prefect:|[\w.-]+\.example|[{$%]|\.\.\.|json-schema\.org"
)
LOCKED = (
    "constraints.txt",
    *(f"constraints-{one}.txt" for one in ("build", "mcp", "otel", "parquet", "sandbox", "demo")),
)


@pytest.mark.parametrize("stage", IMAGES, ids=lambda stage: stage.name)
def test_an_image_is_nobody_of_name_and_starts_commands_that_there_are(stage: Stage) -> None:
    user, entry, command, check = (
        last(stage, word, STAGES) for word in ("USER", "ENTRYPOINT", "CMD", "HEALTHCHECK")
    )

    assert user.text == "10001:10001"
    for start in (entry, command):
        check_command(start.words)
    check_command(json.loads(check.text.partition("CMD ")[2]))
    assert unknown_variables(environ(stage, STAGES)) == set()
    # What is made without a target is the image without the demo.
    assert (STAGES[-1].name, STAGES[-1].base) == ("callsheet", "role")


def test_what_is_copied_is_sent_and_is_there() -> None:
    rules = ignore_rules()
    copied = [step.words for stage in STAGES for step in stage.steps if step.word == "COPY"]
    sources = [word for words in copied if "--from" not in words[0] for word in words[:-1]]

    assert len(sources) > 8
    for source in sources:
        assert (ROOT / source).exists(), source
        assert not ignored(source, rules), source


def test_nothing_is_sent_but_what_is_needed() -> None:
    sent = {name for name in tracked() if not ignored(name, ignore_rules())}
    secret = ("deployments/secrets/api-key", "deployments/demo-secrets/ledger", ".env",
              ".callsheet/x", "flows/__pycache__/x.pyc", "tests/x.py", ".git/config")  # fmt: skip

    assert {name.partition("/")[0] for name in sent} == {
        "deployments", "flows", "src", "tasks",
        "pyproject.toml", "README.md", "LICENSE", "prefect.toml",
        *LOCKED,
    }  # fmt: skip
    assert [name for name in secret if not ignored(name, ignore_rules())] == []


def test_all_that_is_installed_is_pinned_with_hashes() -> None:
    installs = [
        found[0]
        for stage in STAGES
        for step in stage.steps
        if step.word == "RUN"
        for found in re.finditer(r"pip --python \S+ (?:install|wheel)[^&]*", step.text)
    ]

    assert len(installs) == 5
    for words in installs:
        locked = "--require-hashes" in words and "--no-deps" in words
        assert locked or ("--no-deps" in words and ("--no-index" in words or " ." in words)), words
    for name in LOCKED:
        for pin in re.split(r"\n(?=\S)", (ROOT / name).read_text().strip()):
            assert "--hash=sha256:" in pin, pin


def test_extras_are_pinned_and_not_in_what_every_image_has() -> None:
    pins = {name: _names(name) for name in (*LOCKED, "constraints-dev.txt")}
    for extra in ("parquet", "sandbox", "demo"):
        wanted = {Requirement(line).name for line in lines_of(extra)}
        assert wanted <= pins[f"constraints-{extra}.txt"]
        assert not wanted & pins["constraints.txt"]
        assert wanted <= pins["constraints-dev.txt"]
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert (ROOT / "constraints-build.txt").read_text().startswith(f"{built[0]} ")


_FOLDER = DOCKERFILE.parent
FILES = [DOCKERFILE, ROOT / ".dockerignore", _FOLDER / "compose.yaml", _FOLDER / "demo.env"]
FILES += files_in(f"{_FOLDER.relative_to(ROOT)}/helm", of="**/*")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_file_for_containers_has_a_download_address(file: Path) -> None:
    addresses = re.findall(r"(?:https?|oci)://([^\s\"')]+)", file.read_text())
    elsewhere = [one for one in addresses if not HERE.match(one)]
    assert elsewhere == []


def _names(file: str) -> set[str]:
    return set(re.findall(r"^([\w.-]+)==", (ROOT / file).read_text(), re.M))
