"""Callsheet's deployments on a real Prefect server, in a folder as teams have them.

The server is named in `prefect.toml`; key, ledger and store are blocks of Prefect's; and beside the
sheet there are packages called as Callsheet's own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.prefect_servers import PrefectServer
from tests.programs import ROOT, Sandbox, simple_sheet
from tests.stores import S3Server, rclone_s3

#: The server is one for all that ask for it.
pytestmark = pytest.mark.prefect

FILE = ROOT / "deployments" / "prefect.yaml"
TEMPLATE = ROOT / "deployments" / "work-pools" / "process-with-blocks.json"
POOL = "callsheet-with-blocks"

#: Makes the blocks that the work pool's template names. The bucket's is declared as prefect-aws
#: does, which need not be installed to read it.
BLOCKS = """
import json, sys
from prefect.blocks.core import Block
from prefect.blocks.system import Secret
from prefect.variables import Variable
from pydantic import BaseModel, SecretStr

class AwsClientParameters(BaseModel):
    endpoint_url: str | None = None

class AwsCredentials(Block):
    _block_type_slug = "aws-credentials"
    aws_access_key_id: str | None = None
    aws_secret_access_key: SecretStr | None = None
    region_name: str | None = None
    aws_client_parameters: AwsClientParameters = AwsClientParameters()

class S3Bucket(Block):
    _block_type_slug = "s3-bucket"
    bucket_name: str
    credentials: AwsCredentials
    bucket_folder: str = ""

said = json.load(sys.stdin)
Secret(value=said["key"]).save("callsheet-api-key")
Secret(value=said["ledger"]).save("callsheet-ledger")
Variable.set("callsheet_base_url", said["base_url"])
credentials = AwsCredentials(**said["credentials"])
credentials.save("callsheet-videos")
S3Bucket(bucket_name=said["bucket"], bucket_folder="spring", credentials=credentials).save(
    "callsheet-videos"
)
"""


@dataclass(frozen=True)
class Team:
    """A folder, and commands in it that know of nothing but what lies there."""

    folder: Path

    def call(self, *words: str, stdin: str | None = None) -> str:
        """Run a program of the environment's, and return what it said."""
        environ = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("CALLSHEET_", "PREFECT_", "AWS_", "PYTHONPATH"))
        }
        own = {"PREFECT_HOME": str(self.folder / "home"), "DO_NOT_TRACK": "1"}
        quiet = {"PWD": str(self.folder), "AWS_EC2_METADATA_DISABLED": "true"}
        done = subprocess.run(
            words,
            cwd=self.folder,
            env={**environ, **own, **quiet},
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def prefect(self, *words: str) -> str:
        """Run a command of Prefect's."""
        return self.call(sys.executable, "-P", "-m", "prefect", *words)


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with rclone_s3(tmp_path_factory.mktemp("bucket")) as store:
        yield store


@pytest.fixture
def team(tmp_path: Path, server: PrefectServer) -> Team:
    (tmp_path / "prefect.toml").write_text(f'[api]\nurl = "{server.url}"\n')
    for name in ("flows", "tasks"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text('raise RuntimeError("somebody else\'s")\n')
    return Team(tmp_path)


@pytest.mark.slow
def test_a_run_has_its_settings_from_blocks_and_its_packages_from_callsheet(
    team: Team, server: PrefectServer, service: Sandbox, bucket: S3Server, name: str
) -> None:
    said = _blocks(team.folder, service, bucket)
    team.call(sys.executable, "-P", "-c", BLOCKS, stdin=json.dumps(said))
    team.prefect("work-pool", "create", POOL, "--type", "process",
                 "--base-job-template", str(TEMPLATE))  # fmt: skip
    out = team.prefect("--no-prompt", "deploy", "--name", "campaign", "--pool", POOL,
                       "--prefect-file", str(FILE))  # fmt: skip
    assert "campaign/campaign" in out
    (team.folder / f"{name}.csv").write_text(simple_sheet(2))

    with httpx.Client(base_url=server.url, timeout=30) as client:
        deployment = client.get("/deployments/name/campaign/campaign").json()
        asked = {"parameters": {"sheet": f"{name}.csv", "approve": True}}
        made = client.post(f"/deployments/{deployment['id']}/create_flow_run", json=asked).json()
        out = team.prefect("worker", "start", "--pool", POOL, "--run-once", "--limit", "1")
        run = _ended(client, made["id"])
        kept = [_listed(client, path) for path in ("deployments", "flow_runs", "logs", "artifacts")]
        # The other tests of this server deploy it to a work pool of their own.
        client.delete(f"/deployments/{deployment['id']}")

    assert run["state_name"] == "Completed", f"{run['state']}\n{out}"
    objects = bucket.keys()
    assert [key for key in objects if key.endswith(".mp4")] == [
        f"spring/{name}/r00{n}/r00{n}-take1.mp4" for n in (1, 2)
    ]
    assert (team.folder / "named.db").exists()
    assert "-P -m prefect.engine" in deployment["job_variables"]["command"]
    assert deployment["job_variables"]["working_dir"] == str(team.folder)
    for secret in (said["key"], said["ledger"], bucket.secret_key):
        assert secret not in out
        assert not [text for text in kept if secret in text]


def _blocks(folder: Path, service: Sandbox, bucket: S3Server) -> dict[str, Any]:
    return {
        "key": service.ready["api_key"],
        "ledger": f"sqlite:///{folder}/named.db",
        "base_url": service.ready["base_url"],
        "bucket": bucket.bucket,
        "credentials": {
            "aws_access_key_id": bucket.access_key,
            "aws_secret_access_key": bucket.secret_key,
            "region_name": bucket.region,
            "aws_client_parameters": {"endpoint_url": bucket.endpoint},
        },
    }


def _listed(client: httpx.Client, what: str) -> str:
    return client.post(f"/{what}/filter", json={}).raise_for_status().text


def _ended(client: httpx.Client, run: str) -> dict[str, Any]:
    until = time.monotonic() + 60
    while True:
        found: dict[str, Any] = client.get(f"/flow_runs/{run}").json()
        if found["state_type"] in ("COMPLETED", "FAILED", "CRASHED", "CANCELLED"):
            return found
        assert time.monotonic() < until, found
        time.sleep(0.2)
