"""compose.yaml: right by the Compose specification's schema, its commands and settings there."""

from __future__ import annotations

import json
from importlib.resources import files

import jsonschema
import pytest

from callsheet.deployments.container.alive import ROLES
from callsheet.deployments.container.make_secrets import wanted
from callsheet.tasks.runtime.settings import load_settings
from tests.containers.compose import (
    DEMO,
    environ_of,
    read_compose,
    read_environ,
    started,
    variables,
)
from tests.containers.named import check_command, unknown_variables
from tests.programs import ROOT

pytestmark = pytest.mark.merge

MINE = {
    "CALLSHEET_BASE_URL": "https://service.example/api/v1",
    "CALLSHEET_STORE": "s3://videos/launch",
}
ENVIRONMENTS = {"mine": MINE, "demo": read_environ(DEMO)}
SERVICES = read_compose(MINE)["services"]
OURS = {name: service for name, service in SERVICES.items() if name != "postgres"}


@pytest.fixture(params=ENVIRONMENTS)
def environ(request: pytest.FixtureRequest) -> dict[str, str]:
    return dict(ENVIRONMENTS[request.param])


def test_it_is_right_by_the_specification(environ: dict[str, str]) -> None:
    vendor = files("check_jsonschema") / "builtin_schemas" / "vendor" / "compose-spec.json"
    jsonschema.validate(read_compose(environ), json.loads(vendor.read_text()))


@pytest.mark.parametrize("name", OURS)
def test_every_command_and_variable_exists(name: str) -> None:
    check_command(OURS[name]["command"])
    assert unknown_variables(OURS[name].get("environment") or {}) == set()


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_may_do_nothing_that_it_need_not_and_fills_no_disk(name: str) -> None:
    service = SERVICES[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["user"] not in ("root", "0", "0:0")
    assert not service.get("privileged")
    assert service["stop_grace_period"] in ("30s", "60s")
    assert any(one.startswith("/tmp") for one in service["tmpfs"])
    assert service["logging"]["options"] == {"max-size": "10m", "max-file": "5"}
    assert set(service["deploy"]["resources"]["limits"]) == {"memory", "pids"}


def test_no_secret_is_in_the_environment(environ: dict[str, str]) -> None:
    for name, service in read_compose(environ)["services"].items():
        for variable, value in environ_of(service, environ).items():
            if any(word in variable for word in ("KEY", "PASSWORD", "AUTH_STRING", "LEDGER")):
                assert variable.endswith("_FILE"), (name, variable)
                assert value.removeprefix("/run/secrets/") in service["secrets"], (name, variable)
    used = {one for service in SERVICES.values() for one in service.get("secrets", [])}
    assert set(read_compose(MINE)["secrets"]) == used == set(wanted(ROOT, "key"))


def test_the_settings_are_taken(environ: dict[str, str]) -> None:
    compose = read_compose(environ)
    for name in ("worker", "board", "receiver"):
        given = environ_of(compose["services"][name], environ)
        # Where no container is there are no files of secrets.
        given = {n: v for n, v in given.items() if not n.endswith("_FILE")}
        settings = load_settings(environ=given, folder=ROOT)
        assert (settings.remarks, settings.store) == ((), environ["CALLSHEET_STORE"]), name


def test_the_order_is_database_schema_server_rest(environ: dict[str, str]) -> None:
    profiles = set(environ.get("COMPOSE_PROFILES", "").split(","))
    order = [name for name, _ in started(read_compose(environ), profiles)]

    for pair in ("postgres migrate", "migrate board", "migrate receiver", "prefect deploy",
                 "deploy worker", "migrate worker"):  # fmt: skip
        first, then = pair.split()
        assert order.index(first) < order.index(then)
    assert ("sandbox" in order) == ("s3" in order) == ("invite" in order) == bool(profiles - {""})
    for name in ("worker", "board", "receiver"):
        waits = OURS[name]["depends_on"]["migrate"]
        assert waits["condition"] == "service_completed_successfully"


@pytest.mark.parametrize("name", sorted({"prefect", "worker", "board", "receiver", "sandbox"}))
def test_a_role_is_asked_for_itself(name: str) -> None:
    *_, module, asked = OURS[name]["healthcheck"]["test"]
    assert (module, asked) == ("callsheet.deployments.container.alive", name)
    assert name in ROLES


def test_ports_are_for_this_machine_alone_unless_somebody_says_so() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_what_has_to_be_said_is_asked_for_and_what_can_be_said_is_documented() -> None:
    with pytest.raises(KeyError, match="CALLSHEET_BASE_URL"):
        read_compose({})
    page = (ROOT / "docs" / "containers.md").read_text()
    assert [name for name in sorted(variables()) if f"`{name}`" not in page] == []


def test_whatever_ends_is_waited_for_by_something_that_stays() -> None:
    # Else `docker compose up --wait` takes its end for a failure.
    once = {name for name, one in SERVICES.items() if one["restart"] != "unless-stopped"}
    stay = [one for name, one in SERVICES.items() if name not in once]
    waited = {
        name
        for one in stay
        for name, how in one.get("depends_on", {}).items()
        if how["condition"] == "service_completed_successfully"
    }
    assert once == waited == {"migrate", "deploy", "invite"}
