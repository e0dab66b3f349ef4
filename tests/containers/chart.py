"""Renders the chart as Helm does, by Helm's own library, and reads what comes of it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.programs import ROOT

CHART = ROOT / "deployments" / "helm"
#: What has to be said.
LEAST: dict[str, Any] = {
    "settings": {"base_url": "https://service.example/api/v1", "store": "s3://videos/launch"},
    "secrets": {"name": "callsheet"},
    "board": {"url": "https://board.example"},
    "prefectApiUrl": "http://prefect.example/api",
}
RELEASE, NAMESPACE = "spring", "videos"

Document = dict[str, Any]


def helm() -> Any:
    """Return Helm's library; skip where there is none for this machine."""
    return pytest.importorskip("helm_python", reason="Helm's library is for Linux on x86-64")


def render(
    values: Mapping[str, Any], *, chart: Path = CHART, upgrade: bool = False
) -> dict[str, list[Document]]:
    """Return the documents of each template, by its name; Helm's own errors where it refuses."""
    return _rendered(json.dumps(values), chart, upgrade)


@cache
def _rendered(said: str, chart: Path, upgrade: bool) -> dict[str, list[Document]]:
    values = json.loads(said)
    with helm().Chart.load(str(CHART)) as own:
        # To render alone would take values that the schema refuses.
        own.validate_schema(own.merge_values(values))
    with helm().Chart.load(str(chart)) as loaded:
        made = loaded.render(values, name=RELEASE, namespace=NAMESPACE,
                             is_install=not upgrade, is_upgrade=upgrade)  # fmt: skip
    return {Path(name).name: _documents(text) for name, text in made.items() if ".yaml" in name}


def all_of(documents: Mapping[str, list[Document]]) -> list[Document]:
    """Return every document there is."""
    return [one for found in documents.values() for one in found]


def of_kind(documents: Mapping[str, list[Document]], kind: str) -> dict[str, Document]:
    """Return the documents of a kind by the end of their name."""
    start = f"{RELEASE}-callsheet"
    return {
        one["metadata"]["name"].removeprefix(start).removeprefix("-"): one
        for one in all_of(documents)
        if one["kind"] == kind
    }


def pods(documents: Mapping[str, list[Document]]) -> dict[str, Document]:
    """Return what every pod is, by the name of its component."""
    found = of_kind(documents, "Deployment") | of_kind(documents, "Job")
    jobs = {name: one["spec"]["jobTemplate"] for name, one in of_kind(documents, "CronJob").items()}
    return {name: one["spec"]["template"]["spec"] for name, one in (found | jobs).items()}


def containers(pod: Document) -> list[Document]:
    """Return the containers of a pod, those that come before the others among them."""
    return [*pod.get("initContainers", []), *pod["containers"]]


def with_prefects_chart(place: Path) -> Path:
    """Return the chart as `helm dependency build` leaves it; Prefect's own is a stand-in."""
    chart = place / "callsheet"
    shutil.copytree(CHART, chart)
    beside = chart / "charts" / "prefect-server"
    (beside / "templates").mkdir(parents=True)
    (beside / "Chart.yaml").write_text(
        "apiVersion: v2\nname: prefect-server\nversion: 2026.8.1\ndescription: A stand-in.\n"
        "icon: file://icon\n"
    )
    (beside / "values.yaml").write_text('fullnameOverride: "prefect-server"\nserver: {env: []}\n')
    (beside / "templates" / "service.yaml").write_text(
        "apiVersion: v1\nkind: Service\n"
        "metadata:\n  name: {{ .Values.fullnameOverride }}\n"
        "spec:\n  ports: [{port: 4200}]\n"
    )
    return chart


def _documents(text: str) -> list[Document]:
    # As Kubernetes reads it: 0440 is octal, in every document.
    return [dict(one) for part in re.split(r"^---$", text, flags=re.M) if (one := _read(part))]


def _read(text: str) -> Any:
    yaml = YAML(typ="safe", pure=True)
    yaml.version = (1, 1)
    return yaml.load(text)
