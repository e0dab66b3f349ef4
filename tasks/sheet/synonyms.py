"""What people call the columns of a campaign sheet, in English, German, French and Spanish.

Callsheet proposes synonyms and never applies them alone: a title read as a script costs money. A
person confirms them, with `--map` or in `columns.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from callsheet.tasks.sheet.text import plain

#: Column -> what it is called, a space for any of space, hyphen and underscore.
_CALLED: Mapping[str, str] = {
    "id": "video id, row, row id, clip id, spot id, ad id, asset id, kennung",
    "video_id": "service video id, existing video, existing video id, adopt, bestehendes video, "
    "vorhandenes video, vidéo existante, video existente",
    "was": "moved, old id, previous id, former id, alte id, frühere id, ancien id, id anterior",
    "title": "name, headline, heading, video title, video name, titel, überschrift, schlagzeile, "
    "titre, título, titular, encabezado",
    "topic": "video topic, subject, theme, brief, idea, thema, idee, sujet, thème, tema, "
    "idea del video",
    "script": "voiceover, voice over, voiceover text, voice over text, voiceover script, voice "
    "over script, voiceover copy, voice over copy, vo, vo script, vo text, vo copy, "
    "copy (vo), script (vo), script vo, spoken text, spoken script, spoken copy, "
    "narration text, narration script, final script, video script, skript, "
    "sprechertext, sprecher text, drehbuch, scénario, texte voix off, voix off, guion, "
    "guión, texto locución, locución",
    "narration": "narrator, erzählung, narración",
    "tool": "template, vorlage, werkzeug, modèle, outil, plantilla, herramienta",
    "duration_seconds": "duration, length, video duration, seconds, secs, video length, runtime, "
    "dauer, länge, laenge, sekunden, laufzeit, durée, longueur, secondes, duración, longitud, "
    "segundos",
    "aspect_ratio": "ratio, format, aspect, size, orientation, ratios, formats, sizes, "
    "aspect ratios, formate, formatos, seitenverhältnis, bildformat, "
    "ausrichtung, proportions, orientación, formato, relación de aspecto",
    "language": "lang, locale, sprache, langue, idioma, lengua, languages, langs, locales, "
    "sprachen, langues, idiomas, lenguas",
    "captions": "subtitles, caption, untertitel, sous titres, subtítulos",
    "voice_id": "voice, speaker, stimme, sprecher, voix, voz, locutor",
    "music_id": "music, musik, musique, música",
    "character_id": "character, avatar, figur, charakter, personnage, personaje",
    "video_model": "model, modell, modelo",
    "max_credits": "budget, max cost, max credits, maximum cost, cost limit, limit, price limit, "
    "höchstpreis, maximalkosten, kostenlimit, coût maximal, prix maximum, coste máximo, "
    "presupuesto",
    "deliver_after": "not before, embargo, frühestens, nicht vor, pas avant, no antes de",
    "deliver_by": "deadline, due, due date, fällig, fällig am, liefertermin, abgabetermin, "
    "date limite, échéance, fecha límite, fecha de entrega",
    "priority": "prio, priorität, priorité, prioridad, wichtigkeit",
    "tags": "tag, labels, label, keywords, schlagwörter, étiquettes, etiquetas, campaign tag",
    "cost_center": "cost centre, costcenter, kostenstelle, centre de coûts, centro de costes",
    "enabled": "active, include, make, aktiv, machen, actif, activo, produce",
    "notes": "note, comment, comments, remarks, notiz, notizen, bemerkung, kommentar, "
    "commentaire, remarque, nota, notas, comentario, comentarios",
    "image": "picture, bild, imagen",
    "photos": "photo, fotos, foto, pictures, images, bilder",
    "clip": "video, clip url, video url",
    "operation": "kind, type, mode, art, typ, tipo",
}


#: What may be a column and often is something else: another header that means it comes first, and
#: a number is an id only where no two rows share it.
_LOOSE: Mapping[str, str] = {
    "id": "key, no, nr, #, nummer, number, referenz, ref, reference, référence, referencia, "
    "numéro, número, job #, job#, job no, job nr, job number, job id, job code, asset #, asset no, "
    "item #, item no, item id, jobnummer, auftragsnummer",
    "script": "copy, copy text, text, texte, texto",
}


#: What people write for a priority, and the number that it means; a row without one has 0.
PRIORITIES: Mapping[str, int] = {
    word.strip(): number
    for number, words in {
        20: "urgent, critical, highest, dringend, kritisch, höchste, urgente, critique, crítico, "
        "crítica, máxima",
        10: "high, hoch, hohe, haute, élevée, élevé, alta, alto",
        0: "medium, mid, normal, mittel, mittlere, moyen, moyenne, normale, media, medio, default",
        -10: "low, niedrig, gering, tief, bas, basse, faible, baja, bajo",
        -20: "lowest, niedrigste, minimal, minimale, mínima",
    }.items()
    for word in words.split(",")
}


def header_form(header: str) -> str:
    """Return a header as it is compared: ` Video-ID: ` is `video id`."""
    return re.sub(r"[\s\-_\u2010-\u2015]+", " ", plain(header)).strip(" :*?.").casefold()


def sheet_headers(cells: Iterable[str]) -> frozenset[str]:
    """Return headers as an answer is found by them, without those that Callsheet wrote."""
    forms = map(header_form, cells)
    return frozenset(form for form in forms if form and not form.startswith("cs "))


def _by_name(called: Mapping[str, str]) -> dict[str, str]:
    said = ((name, column) for column, names in called.items() for name in names.split(","))
    return {header_form(name): column for name, column in said}


_LOOSELY = _by_name(_LOOSE)
_MEANT = _by_name(_CALLED) | _LOOSELY


def meant_exactly(header: str) -> str | None:
    """Return the column that people call by the whole header; None where that is not known."""
    return _MEANT.get(header_form(header))


def is_loose(header: str) -> bool:
    """Say whether a header is a loose word for its column: `Copy` may not be what is spoken."""
    return not _LOOSELY.keys().isdisjoint((header_form(header), _without_comment(header)))


def proposed(header: str) -> str | None:
    """Return the column that people mean by a header; None where that is not known.

    What stands in brackets at its end is a unit or a comment: `Length (seconds)`.
    """
    return meant_exactly(header) or _MEANT.get(_without_comment(header))


def _without_comment(header: str) -> str:
    return re.sub(r" ?[(\[].*[)\]]$", "", header_form(header))


class Answer(NamedTuple):
    """What a person said of the headers of a sheet: for all sheets with just these headers."""

    sheet: str
    #: As they are compared (`header_form`).
    headers: frozenset[str]
    columns: Mapping[str, str]


class Names:
    """The columns of headers, as a person confirmed them.

    `said` holds for any sheet, an answer for sheets with its headers: the one of the sheet itself
    (`file`), else the first. `typed` wins over both.
    """

    def __init__(
        self,
        said: Mapping[str, str],
        *,
        typed: Mapping[str, str] | None = None,
        answers: Sequence[Answer] = (),
        file: str = "",
        headers: frozenset[str] = frozenset(),
    ) -> None:
        self._folder, self._typed, self._answers, self._file = said, typed or {}, answers, file
        said = {**said, **self._typed}
        self._said = {header_form(header): column for header, column in said.items()}
        self._written = {column: header for header, column in said.items()}
        #: The headers of the sheet, once they are known (`of_headers`).
        self.headers = headers

    def of_headers(self, cells: Iterable[str]) -> Names:
        """Return the names for a sheet with these headers."""
        headers = sheet_headers(cells)
        fits = [one for one in self._answers if one.headers == headers]
        answer = next((one for one in fits if one.sheet == self._file), fits[0] if fits else None)
        said = {**self._folder, **answer.columns} if answer else self._folder
        return Names(said, typed=self._typed, headers=headers)

    def named(self, header: str) -> str:
        """Return the column that a header means, or the header."""
        return self._said.get(header_form(header), header) if self._said else header

    def of_line(self, cells: Iterable[str]) -> tuple[str, ...]:
        """Return the cells of a line, with the columns that they mean if it is a header."""
        line = tuple(cells)
        return tuple(map((self.of_headers(line) if self._answers else self).named, line))

    def written(self, column: str) -> str:
        """Return the header that means a column, or the column."""
        return self._written.get(column, column)
