"""The words of `callsheet video`: its verbs, their arguments and options."""

from __future__ import annotations

from argparse import ArgumentParser

from deployments.direct.words import Verbs, takes_members, takes_output, takes_wait

_SPEECH = "TEXT|@FILE"


def add_video_verbs(command: ArgumentParser) -> None:
    """Give `callsheet video` its verbs."""
    verbs = Verbs(command)
    _making(verbs)
    _looking(verbs)
    _changing(verbs)
    _remaking(verbs)
    _clips(verbs)


def _making(verbs: Verbs) -> None:
    create = verbs.add("create", "make a video: quoted, asked, sent under a key", asks=True)
    estimate = verbs.add("estimate", "what a video would cost; free")
    for parser in (create, estimate):
        _takes_a_request(parser)
    create.add_argument("--draft", action="store_true", help="make it, but do not render it yet")
    create.add_argument(
        "--another", type=int, default=1, metavar="N", help="the Nth film of this very request"
    )
    create.add_argument("--max-credits", metavar="N", help="refuse at a higher price, or none")


def _takes_a_request(parser: ArgumentParser) -> None:
    parser.add_argument("--body", metavar="FILE|-", help="the request as a JSON object")
    parser.add_argument("--tool", metavar="ID", help="the service writes the script")
    parser.add_argument(
        "--field", action="append", default=[], metavar="NAME=TEXT", help="an input of the tool"
    )
    parser.add_argument("--script", metavar="FILE|-", help="your script: JSON, or text")
    parser.add_argument("--duration", type=int, metavar="SECONDS", help="target length")
    parser.add_argument("--character", type=int, metavar="N", help="id of a character")
    for name in ("title", "topic", "mode", "style", "aspect-ratio", "language"):
        parser.add_argument(f"--{name}", metavar="TEXT")
    for name in ("voice-id", "music-id", "caption-style", "video-model"):
        parser.add_argument(f"--{name}", metavar="TEXT")
    takes_members(parser)


def _looking(verbs: Verbs) -> None:
    found = verbs.add("list", "the videos of the organisation")
    found.add_argument("--limit", type=int, default=20, metavar="N", help="20 unless told")
    show = _of_a_video(verbs, "show", "what the service says of a video")
    takes_wait(show)
    download = _of_a_video(verbs, "download", "fetch the film, checked before it is written")
    takes_output(download, otherwise="default ID.mp4 here")
    takes_wait(download)
    captions = _of_a_video(verbs, "captions", "fetch the captions")
    captions.add_argument("--format", choices=("srt", "vtt"), default="srt", help="default srt")
    takes_output(captions, otherwise="without it they are printed")
    _of_a_video(verbs, "renders", "past exports, and how far the present one is")
    verbs.add("templates", "the template library")
    verbs.add("tools", "the tools that write a script from a brief")


def _changing(verbs: Verbs) -> None:
    edit = _of_a_video(verbs, "edit", "change title, topic, script or caption settings")
    edit.add_argument("--title", metavar="TEXT")
    edit.add_argument("--topic", metavar="TEXT")
    edit.add_argument("--script", metavar="FILE|-", help="JSON, or text")
    edit.add_argument("--body", metavar="FILE|-", help="the changes as a JSON object")
    takes_members(edit)
    _of_a_video(verbs, "delete", "delete a video and its files", asks=True)
    _of_a_video(verbs, "cancel", "stop a running render; its reserved credits are released")
    share = _of_a_video(verbs, "share", "make a public link to the film, which expires")
    takes_members(share)
    report = _of_a_video(verbs, "report", "flag a video for review")
    report.add_argument("--reason", metavar="TEXT", required=True)
    takes_members(report)


def _remaking(verbs: Verbs) -> None:
    _of_a_video(verbs, "generate", "render a draft, or render again after edits", asks=True)
    takes_members(_of_a_video(verbs, "render", "export again, after edits", asks=True))
    scene = _of_a_video(verbs, "scene", "regenerate one scene", asks=True)
    scene.add_argument("number", type=int, metavar="N", help="which scene, from 1")
    scene.add_argument("--narration", metavar=_SPEECH, help="new words for it")
    takes_members(scene)
    voice = _of_a_video(
        verbs, "voice", "a new voiceover; without --voice-id its progress", asks=True
    )
    voice.add_argument("--voice-id", metavar="ID", help="the voice that is to speak")
    takes_members(voice)


def _clips(verbs: Verbs) -> None:
    animate = verbs.add("animate", "make a clip of one image", asks=True)
    animate.add_argument("image", metavar="IMAGE", help="where the image is")
    animate.add_argument("--seconds", type=int, metavar="5|10", help="how long it lasts")
    animate.add_argument("--narration", metavar=_SPEECH, help="what its subject says")
    avatar = verbs.add("avatar", "have your own filmed clip speak a new script", asks=True)
    avatar.add_argument("clip", metavar="CLIP", help="where the clip is")
    avatar.add_argument("--script", metavar=_SPEECH, required=True, help="what it says")
    swap = verbs.add("swap", "put a character, or who is in photos, into a clip", asks=True)
    swap.add_argument("clip", metavar="CLIP", help="where the clip is")
    swap.add_argument("--photo", action="append", default=[], metavar="URL", dest="photos")
    swap.add_argument("--character", type=int, metavar="N", help="id of a character")
    swap.add_argument("--seconds", type=int, metavar="N", help="how long it lasts, 3 to 60")
    for parser in (animate, avatar, swap):
        for name in ("title", "topic", "aspect-ratio", "language", "voice-id"):
            parser.add_argument(f"--{name}", metavar="TEXT")
        takes_members(parser)


def _of_a_video(verbs: Verbs, name: str, words: str, *, asks: bool = False) -> ArgumentParser:
    made = verbs.add(name, words, asks=asks)
    made.add_argument("id", metavar="ID", help="the video's id, vid_...")
    return made
