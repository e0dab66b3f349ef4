"""The chart, rendered by Helm's own library and held against Kubernetes' schemas."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from callsheet.deployments.container.alive import ROLES
from callsheet.tasks.runtime.known_settings import KNOWN, SECRETS
from tests.containers.chart import (
    CHART,
    LEAST,
    all_of,
    containers,
    helm,
    of_kind,
    pods,
    render,
    with_prefects_chart,
)
from tests.containers.named import check_command, unknown_variables
from tests.programs import ROOT

pytestmark = pytest.mark.merge

INGRESS = {"enabled": True, "className": "nginx", "host": "videos.example", "tlsSecret": "tls"}
#: Every switch the other way, and something in every list.
MOST: dict[str, Any] = {
    **LEAST,
    "image": {"digest": "sha256:" + "0" * 64, "pullSecrets": [{"name": "registry"}]},
    "settings": {**LEAST["settings"], "webhook_url": "https://hooks.example", "at_once": 12},
    "env": {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector.example:4318"},
    "secrets": {"name": "callsheet", "keys": {
        "webhook_secret": "hooks", "aws_credentials": "aws", "prefect_auth_string": "login",
        "prefect_api_key": "cloud",
    }},
    "board": {"url": "https://board.example", "behindProxy": False, "ingress": INGRESS},
    "receiver": {"replicas": 2, "ingress": INGRESS},
    "worker": {"limit": 0, "podDisruptionBudget": False},
    "state": {"existingClaim": "shared"},
    "log": "text",
    "metrics": {"enabled": True, "serviceMonitor": True, "from": [{"podSelector": {}}],
                "labels": {"release": "prometheus"}},
    "networkPolicy": {
        "from": [{"namespaceSelector": {"matchLabels": {"name": "ingress"}}}],
        "egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}],
    },
    "serviceAccount": {"annotations": {"eks.example/role": "videos"}},
    "podAnnotations": {"team": "videos"},
    "podLabels": {"team": "videos"},
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "videos", "operator": "Exists"}],
    "priorityClassName": "low",
    "backup": {"enabled": True, "timeZone": "Europe/Berlin", "keep": 3, "storageClass": "slow"},
    "nightly": {"runs": [
        {"name": "spring", "inbox": "sheets/spring", "schedule": "0 2 * * *",
         "timeZone": "Europe/Berlin", "options": ["--approve-up-to", 200]},
        {"name": "all", "inbox": "sheets/nights.toml", "schedule": "0 4 * * 1-5"},
    ]},
    "spread": {"keys": ["kubernetes.io/hostname"], "whenUnsatisfiable": "DoNotSchedule"},
}  # fmt: skip
WITHOUT_RECEIVER: dict[str, Any] = {
    **LEAST,
    "receiver": {"enabled": False},
    "metrics": {"enabled": True, "serviceMonitor": True, "token": {"name": "viewer"}},
    "backup": {"enabled": True, "existingClaim": "backups"},
    "spread": {"keys": []},
}
JOBS: dict[str, Any] = {**MOST, "jobs": {"enabled": True}}
OPEN = {**LEAST["settings"], "metrics_open": "yes"}
CASES: dict[str, tuple[dict[str, Any], bool]] = {
    "the least that has to be said": (LEAST, False),
    "its upgrade": (LEAST, True),
    "figures by annotations": ({**LEAST, "metrics": {"enabled": True}}, False),
    "metrics without the receiver": (WITHOUT_RECEIVER, False),
    "open metrics without the receiver": (
        {**LEAST, "settings": OPEN, "receiver": {"enabled": False}, "metrics": {"enabled": True}},
        False,
    ),
    "everything": (MOST, False),
    "its own upgrade": (MOST, True),
    "flow runs as jobs": (JOBS, False),
}
COMPONENTS = {"board", "receiver", "worker"}


@pytest.fixture(params=CASES, scope="module")
def documents(request: pytest.FixtureRequest) -> dict[str, list[dict[str, Any]]]:
    values, upgrade = CASES[request.param]
    return render(values, upgrade=upgrade)


@pytest.mark.parametrize("version", ["1.27.0", "1.37.0"])
def test_it_is_right_by_kubernetes_schemas(documents: dict[str, Any], version: str) -> None:
    import kubernetes_validate

    found = all_of(documents)
    assert len(found) > 10
    for one in found:
        # Of Prometheus' operator, which Kubernetes knows nothing of.
        if one["kind"] != "ServiceMonitor":
            kubernetes_validate.validate(one, version, strict=True)


def test_every_command_and_variable_exists(documents: dict[str, Any]) -> None:
    for pod in pods(documents).values():
        for container in containers(pod):
            check_command(container["args"])
            names = [one["name"] for one in container["env"]]
            assert len(names) == len(set(names))
            assert unknown_variables(names) == set()


def test_a_pod_may_do_nothing_that_it_need_not(documents: dict[str, Any]) -> None:
    for pod in pods(documents).values():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        for container in containers(pod):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "runAsNonRoot": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert {"requests", "limits"} <= set(container["resources"])


def test_secrets_are_files_that_others_cannot_read(documents: dict[str, Any]) -> None:
    for pod in pods(documents).values():
        (volume,) = [one for one in pod["volumes"] if one["name"] == "secrets"]
        assert volume["secret"] == {"secretName": "callsheet", "defaultMode": 0o440}
        for container in containers(pod):
            for one in container["env"]:
                assert "valueFrom" not in one
                if re.search("KEY|AUTH_STRING|LEDGER|SECRET|CREDENTIALS", one["name"]):
                    assert one["name"].endswith("_FILE")
                    assert one["value"].startswith("/run/secrets/callsheet/")


def test_a_role_is_asked_at_its_own_address_and_has_time_to_stop(documents: dict[str, Any]) -> None:
    for name, pod in pods(documents).items():
        if name in COMPONENTS or name.startswith("nightly"):
            assert pod["terminationGracePeriodSeconds"] >= 30, name
        if name in COMPONENTS:
            (container,) = pod["containers"]
            port = container["ports"][0]
            for probe in ("startupProbe", "livenessProbe"):
                asked = container[probe]["httpGet"]
                assert asked["port"] == port["name"]
                assert (port["containerPort"], asked["path"]) == ROLES[name]


def test_selectors_find_their_pods(documents: dict[str, Any]) -> None:
    found = of_kind(documents, "Deployment")
    labels = {name: one["spec"]["template"]["metadata"]["labels"] for name, one in found.items()}
    for name, one in found.items():
        assert one["spec"]["selector"]["matchLabels"].items() <= labels[name].items()
    for kind in ("Service", "PodDisruptionBudget", "ServiceMonitor", "NetworkPolicy"):
        for name, one in of_kind(documents, kind).items():
            spec = one["spec"]
            selector = spec.get("selector") or spec["podSelector"]
            wanted = selector.get("matchLabels", selector)
            if kind == "ServiceMonitor":
                # It finds the service of the same name, and that the receiver's pods.
                own = of_kind(documents, "Service")[name]["metadata"]["labels"]
                assert wanted.items() <= own.items()
                continue
            met = {n for n, own in labels.items() if wanted.items() <= own.items()}
            told = {"receiver"} & labels.keys() or {"board"}
            expected = told if name == "metrics" else {name} if name else labels.keys()
            assert met == expected, (kind, name)


def test_the_schema_is_brought_by_a_hook_of_upgrades_and_in_pods_of_an_install() -> None:
    installed, upgraded = render(LEAST), render(LEAST, upgrade=True)

    for made in (installed, upgraded):
        annotations = of_kind(made, "Job")["migrate"]["metadata"]["annotations"]
        assert annotations["helm.sh/hook"] == "pre-upgrade"
    for name in COMPONENTS:
        (init,) = pods(installed)[name]["initContainers"]
        assert init["args"] == pods(installed)["migrate"]["containers"][0]["args"]
        assert "initContainers" not in pods(upgraded)[name]
    # What the release makes may not be there yet.
    migrate = pods(upgraded)["migrate"]
    assert "serviceAccountName" not in migrate
    assert not [one for one in migrate["volumes"] if "persistentVolumeClaim" in one]


def test_nobody_gets_in_but_by_the_ports_that_serve(documents: dict[str, Any]) -> None:
    rules = of_kind(documents, "NetworkPolicy")

    assert rules[""]["spec"]["ingress"] == []
    for name in {"board", "receiver"} & rules.keys():
        into = [port["port"] for rule in rules[name]["spec"]["ingress"] for port in rule["ports"]]
        assert into in ([ROLES[name][0]], [8790, 9790], [8788, 8788])


def test_figures_are_at_a_port_that_no_ingress_leads_to() -> None:
    made, annotated = render(MOST), render({**LEAST, "metrics": {"enabled": True}})
    environ = {
        one["name"]: one.get("value") for one in pods(made)["receiver"]["containers"][0]["env"]
    }
    ports = {
        name: [port["name"] for port in of_kind(made, "Service")[name]["spec"]["ports"]]
        for name in ("metrics", "receiver")
    }

    assert annotations_of(annotated, "receiver")["prometheus.io/port"] == "9790"
    assert environ["CALLSHEET_METRICS"] == "0.0.0.0:9790"
    assert ports == {"metrics": ["metrics"], "receiver": ["http"]}
    assert "CALLSHEET_METRICS" not in str(all_of(render(LEAST)))


def annotations_of(documents: dict[str, Any], name: str) -> dict[str, str]:
    metadata = of_kind(documents, "Deployment")[name]["spec"]["template"]["metadata"]
    return dict(metadata.get("annotations", {}))


def test_nightly_runs_are_cron_jobs_with_their_own_terms() -> None:
    jobs = of_kind(render(MOST), "CronJob")
    spring = jobs["nightly-spring"]["spec"]

    assert set(jobs) == {"nightly-spring", "nightly-all", "backup"}
    assert (spring["schedule"], spring["timeZone"]) == ("0 2 * * *", "Europe/Berlin")
    assert {one["spec"]["concurrencyPolicy"] for one in jobs.values()} == {"Forbid"}
    (container,) = spring["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["callsheet", "nightly", "sheets/spring", "--approve-up-to", "200"]
    assert of_kind(render(LEAST), "CronJob") == {}


def test_backups_are_made_and_the_oldest_removed(tmp_path: Path) -> None:
    (backup,) = pods(render(MOST))["backup"]["containers"]
    assert {"name": "backups", "mountPath": "/backups"} in backup["volumeMounts"]
    folder = tmp_path / "backups"
    folder.mkdir()
    old = [folder / f"ledger-2026-01-0{day}T00-00-00Z.db" for day in range(1, 6)]
    other = folder / "other.db"
    for file in (*old, other):
        file.touch()
    words = [word.replace("/backups/", f"{folder}/") for word in backup["args"]]
    environ = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "CALLSHEET_LEDGER": f"sqlite:///{tmp_path}/ledger.db",
    }

    def call(*called: str) -> int:
        return subprocess.run(called, env=environ, cwd=tmp_path, capture_output=True).returncode

    # Without a ledger there is no backup, and nothing is removed.
    assert call(*words) != 0
    assert all(file.exists() for file in old)
    assert call("callsheet", "ledger", "upgrade", "--make") == 0
    assert call(*words) == 0
    left = sorted(file.name for file in folder.glob("ledger-*.db"))
    assert len(left) == 3
    assert left[:2] == [file.name for file in old[-2:]]
    assert other.exists()


def test_prefects_own_chart_comes_along_where_it_is_wanted(tmp_path: Path) -> None:
    chart = with_prefects_chart(tmp_path)
    values = {**LEAST, "prefectApiUrl": "", "prefect": {"enabled": True}}

    made, without = render(values, chart=chart), render(LEAST, chart=chart)

    (server,) = [one for one in made["service.yaml"] if one["kind"] == "Service"]
    assert server["metadata"]["name"] == "prefect-server"
    assert "service.yaml" not in without
    environ = {one["name"]: one["value"] for one in pods(made)["worker"]["containers"][0]["env"]}
    assert environ["PREFECT_API_URL"] == "http://prefect-server.videos.svc:4200/api"


def test_helm_finds_nothing_wrong(tmp_path: Path) -> None:
    for values in (LEAST, MOST):
        found = helm().lint(
            str(with_prefects_chart(tmp_path / str(len(values)))), values, strict=True
        )
        assert [one for one in found["messages"] if one["severity"] > 1] == []


REFUSED = {
    "a setting that there is not": ({"settings": {"budgt": "1"}}, "budgt"),
    "a secret among the settings": ({"settings": {"api_key": "mav_x"}}, "api_key"),
    "a setting of ours among others'": ({"env": {"CALLSHEET_API_KEY": "x"}}, "CALLSHEET_API_KEY"),
    "a folder that no other pod has": ({"settings": {"store": "deliveries/"}}, "store"),
    "no secret": ({"secrets": {"name": ""}}, "name"),
    "a slip": ({"workers": {"replicas": 3}}, "workers"),
    "no time to stop": ({"worker": {"terminationGracePeriodSeconds": 5}}, "terminationGrace"),
    "no service": ({"settings": {"base_url": ""}}, "base_url"),
    "no board": ({"board": {"url": ""}}, "board.url"),
    "metrics that nothing serves": (
        {"metrics": {"enabled": True}, "receiver": {"enabled": False}}, "metrics.token.name",
    ),
    "a schedule that is none": ({"backup": {"schedule": "daily"}}, "schedule"),
    "no backup to keep": ({"backup": {"keep": 0}}, "keep"),
    "a nightly run of nothing": ({"nightly": {"runs": [{"name": "spring"}]}}, "inbox"),
    "no Prefect": ({"prefectApiUrl": ""}, "prefectApiUrl"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_refused_by_name(case: str) -> None:
    change, name = REFUSED[case]
    values = deepcopy(LEAST)
    for key, value in change.items():
        values[key] = {**values.get(key, {}), **value} if isinstance(value, dict) else value

    with pytest.raises(helm().HelmError, match=name.replace(".", r"\.")):
        render(values)


def test_settings_are_those_that_there_are() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    # The receiver's are the chart's own.
    wanted = (
        set(KNOWN) - set(SECRETS) - {"receiver", "prefect_events", "prefect_pool", "metrics", "log"}
    )
    assert schema["properties"]["settings"]["propertyNames"]["enum"] == sorted(wanted)


def test_every_value_is_in_the_schema_and_explained() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    text = (CHART / "values.yaml").read_text()
    values = YAML(typ="safe").load(text)

    assert set(values) <= set(schema["properties"])
    pieces = re.findall(r"(?:^#.*\n)+(?=^(\w+):)", text, re.M)
    # What the cluster knows better than we do needs no words.
    assert set(values) - set(pieces) <= {
        "image", "podAnnotations", "podLabels", "nodeSelector", "tolerations", "affinity",
        "priorityClassName", "workPool",
    }  # fmt: skip


def test_prefects_server_records_as_prefect_toml_says() -> None:
    said = tomllib.loads((ROOT / "prefect.toml").read_text())["server"]
    values = YAML(typ="safe").load(CHART / "values.yaml")
    given = {one["name"]: one["value"] for one in values["prefect"]["server"]["env"]}
    recorder = said["services"]["task_run_recorder"]

    start = "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_"
    assert given == {
        "PREFECT_SERVER_ANALYTICS_ENABLED": str(said["analytics_enabled"]).lower(),
        **{start + name.upper(): str(value) for name, value in recorder.items()},
    }
