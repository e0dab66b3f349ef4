"""Flow runs as Jobs of Kubernetes: what Prefect's worker makes of the chart's work pool."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from prefect.utilities.templating import apply_values

from callsheet.deployments import prefect_worker
from callsheet.deployments.prefect_steps import find_python
from tests.containers.chart import LEAST, NAMESPACE, helm, of_kind, pods, render
from tests.containers.named import unknown_variables
from tests.containers.test_chart import JOBS, MOST

#: What a deployment of `prefect.yaml` says of its runs.
SAID = {"working_dir": "/srv/callsheet", "env": {"PYTHONSAFEPATH": "1"}, **find_python()}


def template(values: dict[str, Any]) -> dict[str, Any]:
    """Return the base job template that the chart renders."""
    data = of_kind(render(values), "ConfigMap")["work-pool"]["data"]
    return dict(json.loads(data["base-job-template.json"]))


def job(values: dict[str, Any]) -> dict[str, Any]:
    """Return the job of a flow run, as Prefect's worker makes it of the template."""
    made = template(values)
    variables = made["variables"]["properties"]
    assert set(SAID) <= set(variables)
    defaults = {name: one["default"] for name, one in variables.items() if "default" in one}
    own = {"name": "spring-12", "labels": {"prefect.io/flow-run-name": "spring-12"}}
    found = apply_values(made["job_configuration"], {**defaults, **SAID, **own})
    manifest = dict(found["job_manifest"])
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    container["args"] = shlex.split(container["args"])
    more = [{"name": name, "value": value} for name, value in found["env"].items()]
    container["env"] = [*more, *container["env"]]
    return manifest


@pytest.mark.merge
@pytest.mark.parametrize("version", ["1.27.0", "1.37.0"])
@pytest.mark.parametrize(
    "values", [{**LEAST, "jobs": {"enabled": True}}, JOBS], ids=["least", "most"]
)
def test_a_flow_runs_job_is_right_by_the_schemas(values: dict[str, Any], version: str) -> None:
    import kubernetes_validate

    made = job(values)
    # Prefect's worker refuses a template without them here; Kubernetes takes no notice.
    pod = made["spec"]["template"]["spec"]
    assert (pod.pop("parallelism"), pod.pop("completions")) == (1, 1)
    kubernetes_validate.validate(made, version, strict=True)
    assert made["metadata"]["namespace"] == NAMESPACE


def test_a_flow_runs_pod_ends_in_order_and_is_not_started_again() -> None:
    made = job(JOBS)
    pod = made["spec"]["template"]["spec"]
    (container,) = pod["containers"]

    assert made["spec"]["backoffLimit"] == 0
    assert pod["restartPolicy"] == "Never"
    assert "activeDeadlineSeconds" not in {**made["spec"], **pod}
    (_, before) = container["lifecycle"]["preStop"]["exec"]["command"]
    needed = int(before) + prefect_worker.LIMIT
    assert pod["terminationGracePeriodSeconds"] >= needed
    # The run's own process hears the signal: no program of Prefect's stands before it.
    assert container["args"][-3:] == ["-P", "-m", "prefect.engine"]
    assert {"requests", "limits"} <= set(container["resources"])


@pytest.mark.merge
def test_a_flow_runs_pod_is_like_a_workers() -> None:
    pod, worker = job(JOBS)["spec"]["template"]["spec"], pods(render(MOST))["worker"]
    (container,), (like,) = pod["containers"], worker["containers"]

    for name in ("securityContext", "volumes", "serviceAccountName", "shareProcessNamespace"):
        assert pod[name] == worker[name]
    for name in ("image", "securityContext", "volumeMounts", "resources"):
        assert container[name] == like[name]
    names = {one["name"] for one in container["env"]}
    assert {one["name"] for one in like["env"]} - names == {"PREFECT_WORKER_QUERY_SECONDS"}
    assert unknown_variables(names) == set()


def test_the_deployments_are_on_the_pool_of_jobs_and_the_chart_has_no_worker() -> None:
    found = pods(render({**LEAST, "jobs": {"enabled": True}}))

    (deploy,) = found["deploy"]["containers"]
    assert deploy["args"][-2:] == [
        "callsheet-videos-spring-jobs",
        "/srv/callsheet/work-pool/base-job-template.json",
    ]
    mounts = {one["name"]: one["mountPath"] for one in deploy["volumeMounts"]}
    assert deploy["args"][-1].startswith(mounts["work-pool"])
    assert "worker" not in found


def test_a_pod_without_the_time_to_end_is_refused() -> None:
    helm()
    short = {"enabled": True, "preStopSeconds": 40, "terminationGracePeriodSeconds": 60}
    with pytest.raises(Exception, match="25 s to end in order"):
        render({**LEAST, "jobs": short})
