"""The sample campaigns are what they say."""

from pathlib import Path

import pytest

from tasks.sheet import read_sheet

SAMPLES = Path(__file__).parents[3] / "configs" / "campaigns"


async def test_the_spring_launch_shows_every_kind_of_row():
    sheet = await read_sheet(str(SAMPLES / "spring-launch.csv"))
    requests = [brief.request for brief in sheet.briefs]
    assert sheet.campaign == "spring-launch"
    assert not sheet.advice
    assert sum("tool" in request for request in requests) == 8
    assert sum("script" in request for request in requests) == 6
    assert {request["aspect_ratio"] for request in requests} == {"9:16", "1:1", "16:9"}
    assert {request["language"] for request in requests} == {"en", "de"}
    assert {brief.captions for brief in sheet.briefs} == {
        ("srt", "vtt"),
        ("srt",),
        ("vtt",),
        (),
    }
    assert all(5 <= request["duration_seconds"] <= 12 for request in requests)
    assert len({brief.title for brief in sheet.briefs}) == 14
    assert all(len(request["script"]["scenes"]) >= 2 for request in requests if "script" in request)


async def test_the_yaml_sample_has_defaults_and_a_budget():
    sheet = await read_sheet(str(SAMPLES / "spring-launch.yaml"))
    assert (sheet.campaign, sheet.budget, len(sheet.briefs)) == ("spring-launch-shorts", 200, 4)


@pytest.mark.parametrize(
    "path",
    sorted(SAMPLES.glob("*.yaml")) + sorted(SAMPLES.glob("*.csv")),
    ids=lambda path: path.name,
)
async def test_every_sample_is_without_a_problem(path):
    sheet = await read_sheet(str(path))
    assert sheet.briefs
    assert not sheet.advice
