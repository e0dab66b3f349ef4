"""Values as people type them, by column: what each is read as, and what is refused."""

from __future__ import annotations

from decimal import Decimal

READ = {
    "enabled": [
        *((word, True) for word in (
            "true", "TRUE", "Yes", "y", "1", "on", "ja", "Ja ", "WAHR", "oui", "VRAI", "sí", "Si",
            "x", "X", "✓", "✔", "☑", "“yes”", "'yes", "yes\u200b",
        )),
        *((word, False) for word in (
            "false", "FALSE", "No", "n", "0", "off", "nein", "NEIN", "FALSCH", "non", "FAUX", "☐",
        )),
    ],
    "duration_seconds": [
        ("8", 8), (" 12 ", 12), ("8.0", 8), ("8.000", 8), ("+8", 8), ("6 s", 6), ("6s", 6),
        ("6 sec", 6), ("6 sec.", 6), ("6 Seconds", 6), ("6 Sekunden", 6), ("6.0 s", 6), ("6,0", 6),
        ("0:06", 6), ("00:06", 6), ("1:30", 90), ("00:01:30", 90), ("1m30s", 90), ("1m 30s", 90),
        ("1 min 30 sec", 90), ("2 min", 120), ("1.5 min", 90), ("1,200", 1200), ("1 200", 1200),
        ("1\u202f200", 1200), ("“6”", 6), ("'6", 6), ("6\u00a0s", 6),
    ],
    "max_credits": [
        ("40", "40"), ("12.50", "12.5"), ("0", "0"), ("7,5", "7.5"), ("0,125", "0.125"),
        ("1 200", "1200"), ("1\u00a0200", "1200"), ("1'200", "1200"), ("1.200,50", "1200.5"),
        ("1,200.50", "1200.5"), ("1,200,000", "1200000"), ("1.200.000", "1200000"),
        ("€25", "25"), ("25 €", "25"), ("25€", "25"), ("USD 25", "25"), ("25 credits", "25"),
        ("25 Credits", "25"), ("$1,200.00", "1200"), ("“25”", "25"),
    ],
    "priority": [
        ("5", 5), ("-5", -5), ("−5", -5), ("–5", -5), ("5.0", 5), ("1,200", 1200), ("1 200", 1200),
        ("-1,200", -1200), ("'5", 5), ("High", 10), ("hoch", 10), ("Élevée", 10), ("Alta", 10),
        ("medium", 0), ("Mittel", 0), ("moyenne", 0), ("media", 0), ("LOW", -10), ("niedrig", -10),
        ("basse", -10), ("baja", -10), ("Urgent", 20),
    ],
    "aspect_ratio": [
        ("9:16", "9:16"), ("9x16", "9:16"), ("9 X 16", "9:16"), ("16×9", "16:9"), ("1/1", "1:1"),
        ("9/16", "9:16"), ("9-16", "9:16"), ("9 by 16", "9:16"), ("Portrait", "9:16"),
        ("vertical", "9:16"), ("square", "1:1"), ("LANDSCAPE", "16:9"), ("horizontal", "16:9"),
        ("carré", "1:1"), ("Cuadrado", "1:1"), ("paysage", "16:9"),
        ("Hochformat", "9:16"), ("9:16 (vertical)", "9:16"), ("Vertical (9:16)", "9:16"),
        ("landscape 16:9", "16:9"), ("“9:16”", "9:16"), ("‘9:16’", "9:16"), ("'9:16", "9:16"),
        ("„16:9“", "16:9"), ("\u00a09:16 ", "9:16"), ("1080x1920", "9:16"),
        ("1920 × 1080", "16:9"), ("1080*1080", "1:1"),
    ],
    "mode": [
        ("talking-head", "talking-head"), ("Talking Head", "talking-head"),
        ("talking_head", "talking-head"), ("talkinghead", "talking-head"),
        ("talking–head", "talking-head"), ("“Hybrid”", "hybrid"),
        ("Stock narrated", "stock-narrated"),
    ],
    "captions": [
        ("both", ("srt", "vtt")), ("VTT", ("vtt",)), ("srt;vtt", ("srt", "vtt")),
        ("srt and vtt", ("srt", "vtt")), ("SRT & VTT", ("srt", "vtt")), ("srt/vtt", ("srt", "vtt")),
        ("srt|vtt", ("srt", "vtt")), ("“srt”", ("srt",)), ("none", ()),
    ],
    "tags": [
        ("a;b", ("a", "b")), ("a, b", ("a", "b")), ("a|b", ("a", "b")), ("a\nb", ("a", "b")),
        ("a; b,a |c\n\n", ("a", "b", "c")), ("“spring”, 'sale'", ("spring", "sale")),
    ],
    "language": [
        ("en", "en"), ("DE", "DE"), ("no", "no"), ("pt-BR", "pt-BR"), ("pt_BR", "pt-BR"),
        ("English", "en"), ("german", "de"), ("Deutsch", "de"), ("Allemand", "de"),
        ("alemán", "de"), ("français", "fr"),
        ("FRANÇAIS", "fr"), ("Español", "es"), ("Thai", "th"), ("日本語", "ja"),
        ("Brazilian Portuguese", "pt-BR"),
        ("Portuguese (Brazil)", "pt-BR"), ("português do Brasil", "pt-BR"),
        ("European Portuguese", "pt-PT"), ("English (UK)", "en-GB"), ("British English", "en-GB"),
        ("English - US", "en-US"), ("Spanish, Mexico", "es-MX"), ("Simplified Chinese", "zh-Hans"),
        ("Chinese (Traditional)", "zh-Hant"), ("“German”", "de"),
    ],
    "tool": [("explainer", "explainer"), ("“explainer”", "explainer"), ("'007", "007")],
    "id": [("“kettle”", "kettle"), ("'007", "007"), ("kettle–hero", "kettle-hero"),
           ("ket\u200btle", "kettle")],
}  # fmt: skip

NOT_A_LANGUAGE = "is not a language Callsheet knows; "
NOT_SECONDS = "is not a whole number of seconds above 0, like 12"
NOT_AN_AMOUNT = "is not an amount of credits; write it like 1200 or 12.5"
RATIOS = "is not one of 9:16, 1:1, 16:9"
REFUSED = {
    "enabled": [
        (word, "is neither yes nor no; write yes or no")
        for word in ("maybe", "2", "1.0", "☒", "ok")
    ] + [("yess", "is neither yes nor no; write yes or no; did you mean yes?")],
    "duration_seconds": [
        *((word, NOT_SECONDS) for word in (
            "0", "-3", "8.5", "eight", "1e3", "0:00", "6 m/s", "1:90",
        )),
        ("8,000", "could mean 8000 or 8: write 8000 or 8"),
        ("1.200", "could mean 1200 or 1.2: write 1200"),
        ("00:06:00", "could mean 6 minutes or 6 seconds: write 360 or 6"),
        ("01:30:00", "could mean 90 minutes or 90 seconds: write 5400 or 90"),
    ],
    "max_credits": [
        *((word, NOT_AN_AMOUNT) for word in ("-1", "1e3", "1_000", "inf", "1,20,300", "25 kg")),
        ("1,200", "could mean 1200 or 1.2: write 1200 or 1.2"),
        ("1.200", "could mean 1200 or 1.2: write 1200 or 1.2"),
        ("1.125", "could mean 1125 or 1.125: write 1125 or 1.1250"),
        ("€1,200", "could mean 1200 or 1.2: write 1200 or 1.2"),
    ],
    "aspect_ratio": [
        *((word, RATIOS) for word in ("4:5", "556", "16:9:30", "wide", "9:16:16", "19:16",
                                      "vertical (16:9)")),
        ("horisontal", f"{RATIOS}; did you mean horizontal?"),
        ("2026-09-16", "is a date that a spreadsheet made of it: make the cell text, and write one "
                       "of 9:16, 1:1, 16:9"),
    ],
    "mode": [
        ("loud", "is not one of talking-head, cinematic, hybrid, stock-narrated, smart-mix"),
        ("cinemtic", "is not one of talking-head, cinematic, hybrid, stock-narrated, smart-mix; "
                     "did you mean cinematic?"),
    ],
    "captions": [
        *((word, "is not one of srt, vtt, both, none")
          for word in ("yes", "ass", "srt, none", "srt,txt", "srtvtt", "both+srt", "+")),
        ("bothh", "is not one of srt, vtt, both, none; did you mean both?"),
    ],
    "language": [
        ("Germn", f"{NOT_A_LANGUAGE}did you mean German?"),
        ("Englsh", f"{NOT_A_LANGUAGE}did you mean English?"),
        ("Klingonese", f"{NOT_A_LANGUAGE}write its code, like en or pt-BR"),
    ],
}  # fmt: skip


def wanted(column: str, value: object) -> object:
    """Return a value as a brief has it."""
    return Decimal(str(value)) if column == "max_credits" else value
