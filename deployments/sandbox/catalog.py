"""Owns what a request can choose from: templates, characters, voices, and tools, each of which
writes a script from a brief given as named fields.

A template is a ready body for `POST /videos`. Characters and voices are suggestions: the
specification names no list of them, so the sandbox takes any id.
"""

from __future__ import annotations

from typing import Any

TEMPLATES: list[dict[str, Any]] = [
    {
        "id": "launch-vertical",
        "name": "Product launch, upright",
        "description": "Thirty seconds for a phone, from a product's name and benefits.",
        "request": {
            "tool": "product-launch",
            "mode": "hybrid",
            "aspect_ratio": "9:16",
            "duration_seconds": 30,
        },
    },
    {
        "id": "explainer-wide",
        "name": "Explainer, wide",
        "description": "A minute for a website, from a question and its answer.",
        "request": {
            "tool": "explainer",
            "mode": "stock-narrated",
            "aspect_ratio": "16:9",
            "duration_seconds": 60,
        },
    },
    {
        "id": "testimonial-square",
        "name": "Testimonial, square",
        "description": "Fifteen seconds of a customer's words for a feed.",
        "request": {
            "tool": "testimonial",
            "mode": "talking-head",
            "aspect_ratio": "1:1",
            "duration_seconds": 15,
        },
    },
]
CHARACTERS: list[dict[str, Any]] = [
    {"id": 1, "name": "Ada"},
    {"id": 2, "name": "Bruno"},
    {"id": 3, "name": "Chioma"},
]
VOICES: list[dict[str, Any]] = [
    {"id": "voice-amber", "name": "Amber", "language": "en"},
    {"id": "voice-birch", "name": "Birch", "language": "en"},
    {"id": "voice-coral", "name": "Coral", "language": "de"},
    {"id": "voice-dune", "name": "Dune", "language": "es"},
]


#: By its id: what a tool is called, what it makes, and what each of its fields is for.
TOOLS: dict[str, tuple[str, str, dict[str, str]]] = {
    "product-launch": (
        "Product launch",
        "What is new, for whom, and what to do next",
        {
            "product": "What is launched",
            "audience": "Who it is for",
            "benefits": "Why they will want it",
            "offer": "What they get now",
            "call_to_action": "What they should do next",
        },
    ),
    "explainer": (
        "Explainer",
        "A question and its answer",
        {
            "subject": "What is explained",
            "product": "The product it is about",
            "question": "The question it answers",
            "key_points": "What to remember",
            "audience": "Who is listening",
        },
    ),
    "testimonial": (
        "Testimonial",
        "What a customer says",
        {
            "customer": "Who speaks",
            "product": "What they use",
            "audience": "Who should hear it",
            "quote": "What they say",
            "result": "What changed for them",
        },
    ),
    "listicle": (
        "Listicle",
        "A list, one scene each",
        {
            "subject": "What the list is about",
            "product": "What is shown in it",
            "items": "The items",
            "audience": "Who is reading",
            "offer": "What they get now",
        },
    ),
    "announcement": (
        "Announcement",
        "News, with when and where",
        {
            "headline": "The news",
            "product": "What it is about",
            "audience": "Whom it concerns",
            "offer": "What they get now",
            "details": "What to know",
            "date": "When",
            "place": "Where",
            "call_to_action": "What to do next",
        },
    ),
}


def listed_tools() -> list[dict[str, object]]:
    """Describe every tool as `GET /tools` answers it."""
    return [
        {
            "id": tool,
            "name": name,
            "description": made,
            "fields": [
                {"name": field, "description": text, "required": False}
                for field, text in fields.items()
            ],
        }
        for tool, (name, made, fields) in TOOLS.items()
    ]
