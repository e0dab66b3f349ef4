"""Owns the list of tools: each writes a script from a brief given as named fields."""

from __future__ import annotations

TOOLS: dict[str, tuple[str, dict[str, str]]] = {
    "product-launch": (
        "Product launch",
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
        {
            "subject": "What is explained",
            "question": "The question it answers",
            "key_points": "What to remember",
            "audience": "Who is listening",
        },
    ),
    "testimonial": (
        "Testimonial",
        {
            "customer": "Who speaks",
            "product": "What they use",
            "quote": "What they say",
            "result": "What changed for them",
        },
    ),
    "listicle": (
        "Listicle",
        {"subject": "What the list is about", "items": "The items", "audience": "Who is reading"},
    ),
    "announcement": (
        "Announcement",
        {
            "headline": "The news",
            "details": "What to know",
            "date": "When",
            "place": "Where",
            "call_to_action": "What to do next",
        },
    ),
}


def listed() -> list[dict[str, object]]:
    """Describe every tool as `GET /tools` answers it."""
    return [
        {
            "id": tool,
            "name": name,
            "fields": [
                {"name": field, "description": text, "required": False}
                for field, text in fields.items()
            ],
        }
        for tool, (name, fields) in TOOLS.items()
    ]
