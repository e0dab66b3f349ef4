"""Sheets from paths, standard input, the web and buckets: from real servers on this machine."""

import hashlib
import io

import boto3
import pytest
from moto.server import ThreadedMotoServer

from callsheet.tasks.runtime.errors import SheetError
from callsheet.tasks.sheet import SheetOptions, read_sheet
from callsheet.tasks.sheet.text import MAX_BYTES
from tests.web import Quiet, serving

CSV = b"id,tool\nr1,explainer\n"
SCRIPTED = b"id,script\nr1,@intro.txt\n"
TOO_MUCH = b"x" * (MAX_BYTES + 1)


async def refused(address, **kwargs):
    with pytest.raises(SheetError) as caught:
        await read_sheet(address, **kwargs)
    (problem,) = caught.value.problems
    return str(problem)


async def test_it_reads_a_path_and_the_scripts_beside_it(tmp_path):
    path = tmp_path / "Spring Launch.csv"
    path.write_bytes(SCRIPTED)
    (tmp_path / "intro.txt").write_text("Hello")
    sheet = await read_sheet(str(path))
    assert (sheet.campaign, sheet.name) == ("spring-launch", "Spring Launch.csv")
    assert (sheet.address, sheet.digest) == (str(path), hashlib.sha256(SCRIPTED).hexdigest())
    assert sheet.briefs[0].request["script"] == {"scenes": [{"narration": "Hello"}]}


async def test_it_reads_standard_input_which_cannot_point_to_files():
    spring = SheetOptions(campaign="spring")
    sheet = await read_sheet("-", spring, stdin=io.BytesIO(CSV))
    assert (sheet.campaign, sheet.name, sheet.address) == ("spring", "stdin", "-")
    told = await refused("-", options=spring, stdin=io.BytesIO(SCRIPTED))
    assert "only a sheet in a local folder can" in told


async def test_it_says_what_is_wrong_with_a_path(tmp_path):
    missing = f"{tmp_path}/no.csv"
    assert await refused(missing) == f"{missing} is not there: check its path"
    assert (await refused(str(tmp_path))).startswith(f"{tmp_path} is a folder, not a sheet")
    assert "cannot be read" in await refused("a\0b.csv")
    assert "File name too long" in await refused("x" * 5000)
    for address in ("ftp://host/c.csv", "file:///c.csv", "gs://b/c.csv"):
        told = await refused(address)
        assert told == f"{address} is not a path, - (standard input), https:// or s3://"


async def test_it_refuses_a_large_file_and_an_endless_one(tmp_path):
    large = tmp_path / "large.csv"
    with large.open("wb") as out:
        out.truncate(MAX_BYTES + 1)
    assert "is larger than 20 MiB" in await refused(str(large))
    assert "is larger than 20 MiB" in await refused("/dev/zero")
    assert "is larger than 20 MiB" in await refused("-", stdin=io.BytesIO(TOO_MUCH))


NAMED = "attachment; filename=\"Fr_hling.csv\"; filename*=UTF-8''Fr%C3%BChling.csv"
JSON = b'[{"id": "r1", "tool": "explainer"}]'
ANSWERS = {
    "/spring.csv": (200, {"content-type": "text/plain"}, CSV),
    "/pub": (200, {"content-type": "text/csv; charset=utf-8"}, CSV),
    "/export": (200, {"content-disposition": NAMED}, CSV),
    "/rows": (200, {"content-type": "application/json"}, JSON),
    "/moved": (302, {"location": "/spring.csv?key=secret"}, b""),
    "/away": (302, {"location": "http://example.com/spring.csv"}, b""),
    "/loop": (302, {"location": "/loop"}, b""),
    "/login": (200, {"content-type": "text/html"}, b"<!doctype html><title>Sign in</title>"),
    "/private.csv": (403, {}, b""),
    "/broken.csv": (503, {}, b""),
    "/large.csv": (200, {"content-type": "text/csv"}, TOO_MUCH),
    "/script.csv": (200, {}, b"id,script\nr1,@/etc/hostname\n"),
}


class Published(Quiet):
    def do_GET(self):
        status, headers, body = ANSWERS.get(self.path.partition("?")[0], (404, {}, b""))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture(scope="module")
def site():
    with serving(Published) as url:
        yield url


@pytest.mark.parametrize(
    ("path", "campaign", "name"),
    [
        ("/spring.csv?output=csv", "spring", "spring.csv"),
        ("/pub?gid=0", "pub", "pub.csv"),
        ("/export", "fruhling", "Frühling.csv"),
        ("/rows", "rows", "rows.json"),
        ("/moved", "spring", "spring.csv"),
    ],
)
async def test_it_reads_a_published_sheet(site, path, campaign, name):
    sheet = await read_sheet(site + path)
    assert (sheet.campaign, sheet.name, sheet.address) == (campaign, name, site + path)
    assert sheet.briefs[0].row == "r1"


async def test_localhost_is_this_machine_too_and_the_campaign_may_be_said(site):
    address = site.replace("127.0.0.1", "localhost") + "/pub"
    assert (await read_sheet(address, SheetOptions(campaign="mine"))).campaign == "mine"


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("{site}/none.csv?token=secret", "is not there (404)"),
        ("{site}/private.csv", "may not be read without a login"),
        ("{site}/broken.csv", "answered 503; try again later"),
        ("{site}/large.csv", "is larger than 20 MiB"),
        ("{site}/loop", "redirects more than 5 times"),
        ("{site}/away", "is not https://"),
        ("{site}/login", "is a web page, not a sheet"),
        ("{site}/script.csv", "only a sheet in a local folder can"),
        ("http://127.0.0.1:9/c.csv?token=secret", "cannot be reached"),
        ("http://example.com/c.csv", "is not https://, and only this machine may do without"),
        ("https://ada:secret@example.com/c.csv", "example.com has a password in its address"),
        ("https://[::1/c.csv", "is not an address"),
    ],
)
async def test_it_says_why_it_cannot_have_a_sheet_and_tells_no_secret(site, address, words):
    told = await refused(address.format(site=site))
    assert words in told
    assert "secret" not in told


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


async def test_it_reads_a_sheet_from_a_bucket_and_says_why_it_cannot(bucket, monkeypatch):
    bucket.put_object(Bucket="inbox", Key="2026/spring.csv", Body=CSV)
    bucket.put_object(Bucket="inbox", Key="large.csv", Body=TOO_MUCH)
    sheet = await read_sheet("s3://inbox/2026/spring.csv")
    assert (sheet.campaign, sheet.name, sheet.briefs[0].row) == ("spring", "spring.csv", "r1")
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
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    assert "cannot be reached" in await refused("s3://inbox/c.csv")
