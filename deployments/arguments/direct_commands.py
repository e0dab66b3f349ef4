"""What is typed after `callsheet video` and `callsheet webhooks`: verbs, arguments and options."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser

_SPEECH = "TEXT|@FILE"
_VIDEO = "the video's id, vid_..."
_WEBHOOK = "the webhook's id, wh_..."


def video(command: ArgumentParser) -> None:
    """Give `callsheet video` its verbs."""
    verbs = _Verbs(command, sandbox=True)
    _making(verbs)
    _looking(verbs)
    _changing(verbs)
    _remaking(verbs)
    _clips(verbs)


def _making(verbs: _Verbs) -> None:
    create = verbs.add("create", "make a video: quoted, asked, sent under a key", asks=True)
    estimate = verbs.add("estimate", "what a video would cost; free")
    for parser in (create, estimate):
        _takes_a_request(parser)
    create.add_argument("--draft", action="store_true", help="make it, but do not render it yet")
    create.add_argument(
        "--another", type=int, default=1, metavar="N", help="the Nth video of this very request"
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
    _takes_members(parser)


def _looking(verbs: _Verbs) -> None:
    found = verbs.add("list", "the videos of the organisation")
    found.add_argument("--limit", type=int, default=20, metavar="N", help="20 unless told")
    show = verbs.of(_VIDEO, "show", "what the service says of a video")
    _takes_wait(show)
    download = verbs.of(_VIDEO, "download", "fetch the video, checked before it is written")
    _takes_output(download, otherwise="default ID.mp4 here")
    _takes_wait(download)
    captions = verbs.of(_VIDEO, "captions", "fetch the captions")
    captions.add_argument("--format", choices=("srt", "vtt"), default="srt", help="default srt")
    _takes_output(captions, otherwise="without it they are printed")
    verbs.of(_VIDEO, "renders", "past exports, and how far the present one is")
    verbs.add("templates", "the template library")
    verbs.add("tools", "the tools that write a script from a brief")


def _changing(verbs: _Verbs) -> None:
    edit = verbs.of(_VIDEO, "edit", "change title, topic, script or caption settings")
    edit.add_argument("--title", metavar="TEXT")
    edit.add_argument("--topic", metavar="TEXT")
    edit.add_argument("--script", metavar="FILE|-", help="JSON, or text")
    edit.add_argument("--body", metavar="FILE|-", help="the changes as a JSON object")
    _takes_members(edit)
    verbs.of(_VIDEO, "delete", "delete a video and its files", asks=True)
    verbs.of(_VIDEO, "cancel", "stop a running render; its reserved credits are released")
    share = verbs.of(_VIDEO, "share", "make a public link to the video, which expires")
    _takes_members(share)
    report = verbs.of(_VIDEO, "report", "flag a video for review")
    report.add_argument("--reason", metavar="TEXT", required=True)
    _takes_members(report)


def _remaking(verbs: _Verbs) -> None:
    verbs.of(_VIDEO, "generate", "render a draft, or render again after edits", asks=True)
    _takes_members(verbs.of(_VIDEO, "render", "export again, after edits", asks=True))
    scene = verbs.of(_VIDEO, "scene", "regenerate one scene", asks=True)
    scene.add_argument("number", type=int, metavar="N", help="which scene, from 1")
    scene.add_argument("--narration", metavar=_SPEECH, help="new words for it")
    _takes_members(scene)
    voice = verbs.of(_VIDEO, "voice", "a new voiceover; without --voice-id its progress", asks=True)
    voice.add_argument("--voice-id", metavar="ID", help="the voice that is to speak")
    _takes_members(voice)


def _clips(verbs: _Verbs) -> None:
    animate = verbs.add("animate", "make a clip of one image", asks=True)
    animate.add_argument("image", metavar="IMAGE", help="where the image is")
    animate.add_argument("--seconds", type=int, metavar="5|10", help="how long it lasts")
    animate.add_argument("--narration", metavar=_SPEECH, help="what its subject says")
    avatar = verbs.add("avatar", "have your own recorded clip speak a new script", asks=True)
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
        _takes_members(parser)


def webhooks(command: ArgumentParser) -> None:
    """Give `callsheet webhooks` its verbs."""
    verbs = _Verbs(command)
    verbs.add("ensure", "make or mend the one that runs learn of videos by, and try it out")
    verbs.add("rotate", "replace that one by one with a new secret; no delivery is lost")
    verbs.add("status", "show what arrives, and what needs attention")
    verbs.add("list", "the subscriptions of the organisation")
    create = verbs.add("create", "subscribe; the secret is shown once and never again")
    create.add_argument("url", metavar="URL", help="a public https address")
    create.add_argument("--name", metavar="TEXT")
    create.add_argument(
        "--secret-file", metavar="PATH", help="write the secret there instead of showing it"
    )
    verbs.of(_WEBHOOK, "show", "one subscription")
    edit = verbs.of(_WEBHOOK, "edit", "change address, events or name, or switch it on or off")
    edit.add_argument("--url", metavar="URL")
    edit.add_argument("--name", metavar="TEXT")
    switch = edit.add_mutually_exclusive_group()
    switch.add_argument("--enable", action="store_true", help="also after it was disabled")
    switch.add_argument("--disable", action="store_true")
    for parser in (create, edit):
        parser.add_argument(
            "--event", action="append", default=[], metavar="KIND", help="such as video.ready"
        )
        _takes_members(parser)
    verbs.of(_WEBHOOK, "delete", "end a subscription", asks=True)
    verbs.of(_WEBHOOK, "test", "have a signed ping sent")
    verbs.of(_WEBHOOK, "deliveries", "the last 50 attempts at delivery")


class _Verbs:
    """The verbs of one command, such as `list` of `callsheet video`."""

    def __init__(self, command: ArgumentParser, *, sandbox: bool = False) -> None:
        self._sandbox = sandbox
        self._verbs = command.add_subparsers(dest="verb", metavar="VERB", required=True)

    def add(self, name: str, words: str, *, asks: bool = False) -> ArgumentParser:
        """Return the parser of a new verb; one that `asks` has an answer given beforehand."""
        made = self._verbs.add_parser(
            name, help=words, description=f"{words[0].upper()}{words[1:]}."
        )
        # Suppressed defaults: `callsheet video --json list` must not be unsaid by `list`.
        made.add_argument(
            "--json", action="store_true", default=SUPPRESS, help="one JSON document on stdout"
        )
        made.add_argument(
            "--profile", metavar="NAME", default=SUPPRESS, help="settings from a TOML profile"
        )
        made.add_argument("-v", "--verbose", action="store_true", default=SUPPRESS, help="say more")
        if self._sandbox:
            made.add_argument("--sandbox", action="store_true", help="against a service of our own")
        if asks:
            made.add_argument("--yes", action="store_true", help="go ahead without being asked")
        return made

    def of(self, id_words: str, name: str, words: str, *, asks: bool = False) -> ArgumentParser:
        """Return the parser of a new verb on one thing, named by its id."""
        made = self.add(name, words, asks=asks)
        made.add_argument("id", metavar="ID", help=id_words)
        return made


def _takes_members(parser: ArgumentParser) -> None:
    """Let any member be added to the body that is sent, or replaced in it."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=JSON",
        help="add or replace a member of the body: JSON, or text where it is none",
    )
    parser.add_argument(
        "--unset", action="append", default=[], metavar="NAME", help="leave a member out of it"
    )


def _takes_output(parser: ArgumentParser, *, otherwise: str) -> None:
    """Let a person say where a file goes."""
    parser.add_argument("-o", "--output", metavar="FILE", help=f"where it is written; {otherwise}")
    parser.add_argument("--force", action="store_true", help="replace a file that is there")


def _takes_wait(parser: ArgumentParser) -> None:
    """Let a person wait for a video."""
    parser.add_argument("--wait", action="store_true", help="wait until the video is there")
    parser.add_argument(
        "--max-wait", metavar="2h", help="wait so long at most; default CALLSHEET_DEADLINE"
    )
