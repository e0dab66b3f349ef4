"""The sample campaigns are what they say."""

from pathlib import Path

import pytest

from callsheet.tasks.sheet import read_sheet
from callsheet.tasks.values.briefs import idempotency_key
from tests.repository import files_in

#: What a video of a sample has always been paid for under: another key is a second charge.
KEYS = [
    ("clips.yaml", "kettle-turns", "cs1_xmgcjlmluoy3quppaouuhhx33tbybu3jhnhy7f5t"),
    ("clips.yaml", "kettle-says", "cs1_wja3gmyfbptzyhwmd3tger4uggzk2xoesfhoyagt"),
    ("clips.yaml", "kettle-cook", "cs1_oeloog3irwldosheeigqrl22orveitju3dsqiwgj"),
    ("spring-launch.csv", "kettle-hero", "cs1_hj3zamp2b2epasiufa4u33fprrxghtcmazx2oqnt"),
    ("spring-launch.csv", "kettle-hero-de", "cs1_gyyvlcozsvhiya5enudrrt5s4n3d6kw7cnuwnyun"),
    ("spring-launch.csv", "kettle-explained", "cs1_auullzirzw3tbyfapm6sepwwbyeodzc3n2nozoul"),
    ("spring-launch.csv", "kettle-explained-de", "cs1_rsb7mqhz5um7xrkevege3fbethoyjja2qx6qnabf"),
    ("spring-launch.csv", "mug-testimonial", "cs1_itsahvpdybk6qqtwivpczabepfgm2xk4hosbe3co"),
    ("spring-launch.csv", "seven-teas", "cs1_tmqwputiy37zvojroncnrbdkubrwcv2hritpdruo"),
    ("spring-launch.csv", "seven-teas-de", "cs1_ndgcdekz7zfa3uwhwaaemjgz5t4iry3ct3mop3cr"),
    ("spring-launch.csv", "shop-opens", "cs1_knkte3p7jkysnp2pprzahbtq7qayc6sgvv56232u"),
    ("spring-launch.csv", "morning-ritual", "cs1_rlbkmyc5xz336o3glat2p5ug5g4kakshxcbf44w7"),
    ("spring-launch.csv", "morgenritual", "cs1_24i2374cuzjexex4wb6cximxov3efube43uufvqs"),
    ("spring-launch.csv", "repair-promise", "cs1_h5wh224l2pl63wmctijq4w4v5dxa5garup7tueqf"),
    ("spring-launch.csv", "reparatur-versprechen", "cs1_ijy4c2k6wf2jcw4vsobpm6e6xjwjooga7nh3lbdw"),
    ("spring-launch.csv", "mug-in-the-kiln", "cs1_t4uhpuzbgukuvmrn5oerxooz23foky6djlx34usx"),
    ("spring-launch.csv", "last-steam", "cs1_j7dobcnip5tn43cvskcoqgbplriyw7qoodvwugk6"),
    ("spring-launch.yaml", "first-cup", "cs1_jy6ua6ahn6r45xgfjxajbzhdks35czomjeij7xfz"),
    ("spring-launch.yaml", "erste-tasse", "cs1_73v2zfdx7khgr6kh7hzrdmnw7dbytrd7yvdmf3tq"),
    ("spring-launch.yaml", "rainy-window", "cs1_5kxrmdnngocp4ugqm67iyb3dzoksm2zmwxo6cvkj"),
    ("spring-launch.yaml", "lid-finder", "cs1_oo5offy57dj633qa4f3afzdax5g72jvpe5kyaubn"),
]

SAMPLES = Path(__file__).parents[3] / "configs" / "campaigns"


async def test_the_spring_launch_shows_every_kind_of_row():
    sheet = await read_sheet(str(SAMPLES / "spring-launch.csv"))
    requests = [brief.request for brief in sheet.briefs]
    assert sum("tool" in request for request in requests) == 8
    assert sum("script" in request for request in requests) == 6
    assert {request["aspect_ratio"] for request in requests} == {"9:16", "1:1", "16:9"}
    assert {request["language"] for request in requests} == {"en", "de"}
    assert {brief.captions for brief in sheet.briefs} == {("srt", "vtt"), ("srt",), ("vtt",), ()}
    yaml = await read_sheet(str(SAMPLES / "spring-launch.yaml"))
    assert (yaml.campaign, yaml.budget) == ("spring-launch-shorts", 200)


@pytest.mark.parametrize(
    "path",
    [path for of in ("*.yaml", "*.csv") for path in files_in("configs/campaigns", of=of)],
    ids=lambda path: path.name,
)
async def test_every_sample_is_without_a_problem(path):
    sheet = await read_sheet(str(path))
    assert sheet.briefs
    assert not sheet.advice


async def test_a_sheet_that_needs_no_repair_keeps_the_keys_of_its_rows():
    found = []
    for name in dict.fromkeys(name for name, _, _ in KEYS):
        sheet = await read_sheet(str(SAMPLES / name))
        for brief in sheet.briefs:
            identity = {"row": brief.row, "operation": brief.operation, "digest": brief.digest}
            key = idempotency_key(campaign=sheet.campaign, nth=1, **identity)
            found.append((name, brief.row, key))
    assert found == KEYS
