"""Owns what can be made of a finished film: one scene anew, another voice, another export.

Each begins with the plan of the last finished film and changes what was asked for alone. A later
generate begins with the script again.
"""

from __future__ import annotations

import sqlite3

from deployments.sandbox import credits, renders
from deployments.sandbox.call import Call
from deployments.sandbox.envelope import Refusal
from deployments.sandbox.film.plan import FilmPlan
from deployments.sandbox.rendering import refuse_if_generating, start
from deployments.sandbox.renders import Order
from deployments.sandbox.storyboard import exported, with_scene_anew, with_voice
from deployments.sandbox.video import Video, get
from deployments.sandbox.video_bodies import ChangeVoice, ExportAgain, RegenerateScene


def regenerate_scene(
    connection: sqlite3.Connection, video_id: str, number: int, asked: RegenerateScene, call: Call
) -> Video:
    """Make one scene again; 404 when there is no such scene, 409 when there is no film."""
    video, film = _finished(connection, video_id)
    plan = with_scene_anew(film, number, asked.narration)
    scene = plan.scenes[number - 1]
    seconds = scene.end - scene.start
    price = credits.scene_price(seconds)
    order = Order(kind="scene", plan=plan, credits=price, seconds=seconds, scene=number)
    call.count()
    return start(connection, video, order, call)


def change_voice(
    connection: sqlite3.Connection, video_id: str, asked: ChangeVoice, call: Call
) -> Video:
    """Say the same with another voice; 409 when nothing is said or there is no film."""
    video, film = _finished(connection, video_id)
    plan = with_voice(film, asked.voice_id)
    price = credits.voice_price(plan.duration)
    order = Order(kind="voice", plan=plan, credits=price, seconds=plan.duration / 2)
    call.count()
    return start(connection, video, order, call)


def export_again(
    connection: sqlite3.Connection, video_id: str, asked: ExportAgain, call: Call
) -> Video:
    """Make the file again, with the titles and caption settings as they are edited now."""
    video, film = _finished(connection, video_id)
    plan = exported(film, video.asked, asked.aspect_ratio)
    order = Order(kind="export", plan=plan, credits=credits.EXPORT, seconds=plan.duration / 3)
    call.count()
    return start(connection, video, order, call)


def _finished(connection: sqlite3.Connection, video_id: str) -> tuple[Video, FilmPlan]:
    """Give a video that is at rest and the plan of its last finished film."""
    video = get(connection, video_id)
    refuse_if_generating(video)
    last = renders.last_finished(connection, video_id)
    if last is None:
        message = f"This video is {video.status} and has no finished film; generate it first."
        raise Refusal(409, "not_finished", message)
    return video, FilmPlan.from_json(last.plan)
