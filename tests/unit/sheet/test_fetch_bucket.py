"""Sheets in S3, over real HTTP."""

import boto3
import pytest
from moto.server import ThreadedMotoServer

from callsheet.tasks.runtime.errors import SheetError
from callsheet.tasks.sheet import read_sheet
from callsheet.tasks.sheet.text import MAX_BYTES


@pytest.fixture
def bucket(monkeypatch):
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    client = boto3.client("s3")
    client.create_bucket(Bucket="inbox")
    yield client
    server.stop()


async def refused(address):
    with pytest.raises(SheetError) as caught:
        await read_sheet(address)
    (problem,) = caught.value.problems
    return str(problem)


async def test_it_reads_a_sheet_from_a_bucket(bucket):
    bucket.put_object(Bucket="inbox", Key="2026/spring.csv", Body=b"id,tool\nr1,explainer\n")
    sheet = await read_sheet("s3://inbox/2026/spring.csv")
    assert (sheet.campaign, sheet.name) == ("spring", "spring.csv")
    assert sheet.briefs[0].row == "r1"


@pytest.mark.merge
async def test_it_says_why_it_cannot_have_a_sheet(bucket):
    bucket.put_object(Bucket="inbox", Key="large.csv", Body=b"x" * (MAX_BYTES + 1))
    for address, words in (
        ("s3://inbox/none.csv", "is not there; is the key right?"),
        ("s3://nowhere/c.csv", "is in a bucket that is not there"),
        ("s3://inbox/large.csv", "is larger than 20 MiB"),
        ("s3://inbox/folder/", "is not a sheet; write s3://bucket/path/to/sheet.csv"),
        ("s3://inbox", "is not a sheet"),
        ("s3://In_Box!/c.csv", "cannot be reached"),
    ):
        told = await refused(address)
        assert told.startswith(address)
        assert words in told


async def test_it_says_that_a_bucket_cannot_be_reached(bucket, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    assert "cannot be reached" in await refused("s3://inbox/c.csv")
