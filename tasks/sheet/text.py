"""Text of a sheet: normalized, with safe names, known languages, and limits on size."""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from collections.abc import Mapping

from callsheet.tasks.runtime.spreadsheets import unguarded
from callsheet.tasks.values.briefs import CREATE, Json, canonical_json, canonical_text

_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
#: Zero width spaces and byte order marks: at the ends of a cell they are never meant.
_INVISIBLE_ENDS = "\u200b\u2060\ufeff"
#: What word processors and spreadsheets put around a value.
_QUOTES = "\"'`´‘’‚‛“”„‟«»‹›"
_AROUND = f"{_QUOTES} \t\n\r\v\f\xa0\u1680\u2028\u2029\u202f"
#: Say only how the sign before them is drawn.
_VARIANTS = "\ufe0e\ufe0f"


def tidy(text: str) -> str:
    """Return a cell's text trimmed, in canonical form and without a spreadsheet's escape.

    Raises ValueError with a sentence for text that cannot be meant.
    """
    if len(text) > MAX_CELL_CHARACTERS:
        raise ValueError(f"has {len(text):,} characters; {MAX_CELL_CHARACTERS:,} is the limit")
    if text.isascii() and text.isprintable():
        # Most cells: nothing in them has another form.
        return unguarded(text.strip())
    canonical = canonical_text(text)
    if strange := _UNPRINTABLE.search(canonical):
        raise ValueError(f"holds the invisible character U+{ord(strange.group()):04X}")
    return unguarded(canonical.strip().strip(_INVISIBLE_ENDS).strip())


def tidy_value(value: Json, *, depth: int = 0) -> Json:
    """Return text, numbers, lists and objects with every text in them tidy."""
    if depth > MAX_DEPTH:
        raise ValueError(f"is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, str):
        return tidy(value)
    if isinstance(value, Mapping):
        return {tidy(str(name)): tidy_value(one, depth=depth + 1) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [tidy_value(one, depth=depth + 1) for one in value]
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        raise ValueError("is not a number that can be sent")
    return value


def plain(text: str) -> str:
    """Return text for comparing with known words.

    It has no invisible or look-alike characters, and no quotes or apostrophe of a word processor
    or a spreadsheet around it.
    """
    if text.isascii():
        return text.strip(_AROUND)
    return visible(unicodedata.normalize("NFKC", text)).strip(_AROUND)


def bare(text: str) -> str:
    """Return a name without quotes around it and without characters that no one sees."""
    seen = text if text.isascii() else visible(text)
    if len(seen) > 2 and seen[0] in _QUOTES and seen[-1] in _QUOTES:
        return seen[1:-1].strip()
    return seen.removeprefix("'") or text


def visible(text: str) -> str:
    """Return text without characters that no one sees."""
    return "".join(c for c in text if unicodedata.category(c) != "Cf" and c not in _VARIANTS)


def is_blank(value: Json) -> bool:
    """Say whether a cell counts as absent."""
    return value is None or (isinstance(value, str | list | tuple | Mapping) and not value)


def as_text(value: Json) -> str:
    """Return a number or a truth value as a sheet would show it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


# Names that are safe everywhere: of rows, of campaigns, and of every video.


_ROW = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_CAMPAIGN = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}")
#: Most ids: nothing that is said below can be wrong with them.
_PLAIN = re.compile("[A-Za-z][A-Za-z0-9_-]{0,79}")
_EXPONENT = re.compile(r"[0-9]+([.,][0-9]+)?[eE][+-]?[0-9]+")
_LONG_NUMBER = re.compile(r"[0-9]{16,}")
_DEVICES = frozenset(
    ("con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10)))
)


def row_id_fault(text: str) -> str | None:
    """Return what is wrong with a row's id, or None."""
    if _PLAIN.fullmatch(text) and text.lower() not in _DEVICES:
        return None
    if _EXPONENT.fullmatch(text):
        return "is a number a spreadsheet has rewritten; give the id a letter in front (row-1)"
    if _LONG_NUMBER.fullmatch(text):
        return "has more than 15 digits, which spreadsheets round; give it a letter in front"
    if fault := _path_fault(text):
        return f"{fault}{_proposal(text)}"
    if not _ROW.fullmatch(text):
        return (
            "is not an id: at most 80 letters, digits, dots, dashes and underscores, "
            f"a letter or digit first{_proposal(text)}"
        )
    return None


def campaign_fault(text: str) -> str | None:
    """Return what is wrong with a campaign's name, or None."""
    slug = slugify(text).lower()
    hint = f'; try "{slug}"' if slug and slug != text and not _path_fault(slug) else ""
    if fault := _path_fault(text):
        return f"{fault}{hint}"
    if not _CAMPAIGN.fullmatch(text):
        return (
            "is not a campaign's name: at most 80 small letters, digits, dots, dashes and "
            f"underscores, a letter or digit first{hint}"
        )
    return None


def slugify(text: str) -> str:
    """Return `text` in letters, digits, dots, dashes and underscores; maybe nothing is left."""
    decomposed = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    ascii_only = decomposed.encode("ascii", "ignore").decode()
    dashed = re.sub(r"[^A-Za-z0-9._-]+", "-", ascii_only)
    return re.sub(r"\.{2,}", ".", dashed)[:80].strip("._-")


def content_id(operation: str, request: Mapping[str, Json]) -> str:
    """Return the id of a row that has none: from what it asks for, never from its position."""
    asked = request if operation == CREATE else {"operation": operation, "request": request}
    digest = hashlib.sha256(canonical_json(asked)).digest()
    return f"r_{base64.b32encode(digest).decode().lower()[:12]}"


def _path_fault(text: str) -> str | None:
    if ".." in text:
        return "holds two dots in a row, which is a way out of a folder"
    if text.endswith("."):
        return "ends in a dot, which some systems drop"
    if text.split(".")[0].casefold() in _DEVICES:
        return "is the name of a device on Windows"
    return None


def _proposal(text: str) -> str:
    slug = slugify(text)
    if slug and slug.split(".")[0].casefold() in _DEVICES:
        slug = f"row-{slug}"
    return f'; try "{slug}"' if slug and row_id_fault(slug) is None else ""


# The names of languages, in English and in themselves, and what the service takes: `de`, `pt-BR`.
#
# The specification says only that a language is a text; its codes are those of BCP 47.


#: A code by its form alone: it is sent as it was written, but for its dashes.
_CODE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")

_NAMES = {
    "af": "Afrikaans",
    "am": "Amharic|አማርኛ",
    "ar": "Arabic|العربية|Arabisch|arabe|árabe",
    "az": "Azerbaijani|azərbaycan",
    "be": "Belarusian|беларуская",
    "bg": "Bulgarian|български",
    "bn": "Bengali|Bangla|বাংলা",
    "bs": "Bosnian|bosanski",
    "ca": "Catalan|català",
    "cs": "Czech|čeština|česky",
    "cy": "Welsh|Cymraeg",
    "da": "Danish|dansk",
    "de": "German|Deutsch|allemand|alemán",
    "el": "Greek|ελληνικά",
    "en": "English|Englisch|anglais|inglés",
    "es": "Spanish|español|castellano|Castilian|Spanisch|espagnol",
    "et": "Estonian|eesti",
    "eu": "Basque|euskara",
    "fa": "Persian|Farsi|فارسی",
    "fi": "Finnish|suomi",
    "fil": "Filipino|Tagalog",
    "fr": "French|français|Französisch|francés",
    "ga": "Irish|Gaeilge",
    "gl": "Galician|galego",
    "gu": "Gujarati|ગુજરાતી",
    "ha": "Hausa",
    "he": "Hebrew|עברית",
    "hi": "Hindi|हिन्दी|हिंदी",
    "hr": "Croatian|hrvatski",
    "hu": "Hungarian|magyar",
    "hy": "Armenian|հայերեն",
    "id": "Indonesian|Bahasa Indonesia",
    "ig": "Igbo",
    "is": "Icelandic|íslenska",
    "it": "Italian|italiano|Italienisch|italien",
    "ja": "Japanese|日本語|Japanisch|japonais|japonés",
    "jv": "Javanese",
    "ka": "Georgian|ქართული",
    "kk": "Kazakh|қазақша",
    "km": "Khmer|ខ្មែរ",
    "kn": "Kannada|ಕನ್ನಡ",
    "ko": "Korean|한국어|Koreanisch|coréen|coreano",
    "ky": "Kyrgyz",
    "lb": "Luxembourgish|Lëtzebuergesch",
    "lo": "Laotian|ລາວ",
    "lt": "Lithuanian|lietuvių",
    "lv": "Latvian|latviešu",
    "mk": "Macedonian|македонски",
    "ml": "Malayalam|മലയാളം",
    "mn": "Mongolian|монгол",
    "mr": "Marathi|मराठी",
    "ms": "Malay|Bahasa Melayu",
    "mt": "Maltese|Malti",
    "my": "Burmese",
    "nb": "Bokmål|Norwegian Bokmål",
    "ne": "Nepali|नेपाली",
    "nl": "Dutch|Nederlands|Flemish|Vlaams|Niederländisch|Holländisch|néerlandais|neerlandés",
    "nn": "Nynorsk|Norwegian Nynorsk",
    "no": "Norwegian|norsk",
    "pa": "Punjabi|ਪੰਜਾਬੀ",
    "pl": "Polish|polski|Polnisch|polonais|polaco",
    "ps": "Pashto|پښتو",
    "pt": "Portuguese|português|Portugiesisch|portugais|portugués",
    "ro": "Romanian|română",
    "ru": "Russian|русский|Russisch|russe|ruso",
    "si": "Sinhala|සිංහල",
    "sk": "Slovak|slovenčina",
    "sl": "Slovenian|Slovene|slovenščina",
    "so": "Somali|Soomaali",
    "sq": "Albanian|shqip",
    "sr": "Serbian|српски|srpski",
    "su": "Sundanese",
    "sv": "Swedish|svenska|Schwedisch|suédois|sueco",
    "sw": "Swahili|Kiswahili",
    "ta": "Tamil|தமிழ்",
    "te": "Telugu|తెలుగు",
    "th": "Thai|ไทย",
    "tr": "Turkish|Türkçe|Türkisch|turc|turco",
    "uk": "Ukrainian|українська",
    "ur": "Urdu|اردو",
    "uz": "Uzbek|oʻzbekcha",
    "vi": "Vietnamese|Tiếng Việt",
    "xh": "Xhosa|isiXhosa",
    "yo": "Yoruba|Yorùbá",
    "yue": "Cantonese|粵語|廣東話",
    "zh": "Chinese|Mandarin|中文|普通话|Chinesisch|chinois|chino",
    "zh-Hans": "Simplified Chinese|Chinese simplified|简体中文",
    "zh-Hant": "Traditional Chinese|Chinese traditional|繁體中文",
    "zu": "Zulu|isiZulu",
}
#: Countries as people put them next to a language: `Brazilian Portuguese`, `English (UK)`.
_REGIONS = {
    "AR": "Argentinian|Argentina",
    "AT": "Austrian|Austria|Österreich",
    "AU": "Australian|Australia",
    "BE": "Belgian|Belgium|Belgique",
    "BR": "Brazilian|Brazil|Brasil|do Brasil",
    "CA": "Canadian|Canada",
    "CH": "Swiss|Switzerland|Schweiz|Suisse",
    "CO": "Colombian|Colombia",
    "DE": "Germany|Deutschland",
    "ES": "Spain|España|European",
    "FR": "France",
    "GB": "British|UK|United Kingdom|GB",
    "IE": "Ireland",
    "IN": "Indian|India",
    "MX": "Mexican|Mexico|México",
    "NZ": "New Zealand",
    "PT": "Portugal",
    "US": "American|US|USA|United States",
    "ZA": "South African|South Africa",
    "419": "Latin American|Latin America|Latinoamérica",
}
#: Codes of countries that are no language's: sent as they are, and pointed out.
COUNTRIES = {
    "at": "de",
    "au": "en",
    "cn": "zh",
    "cz": "cs",
    "dk": "da",
    "gb": "en",
    "gr": "el",
    "jp": "ja",
    "mx": "es",
    "pk": "ur",
    "sp": "es",
    "ua": "uk",
    "us": "en",
    "vn": "vi",
}  # fmt: skip


def _by_name(table: Mapping[str, str]) -> dict[str, str]:
    return {name: code for code, names in table.items() for name in names.split("|")}


def _folded(table: Mapping[str, str]) -> dict[str, str]:
    return {name.casefold(): code for name, code in table.items()}


LANGUAGES = _by_name(_NAMES)
#: The codes of languages that have a name here.
LANGUAGE_CODES = frozenset(LANGUAGES.values())
_LANGUAGES, _REGION_CODES = _folded(LANGUAGES), _folded(_by_name(_REGIONS))


def language_code(said: str) -> str | None:
    """Return the code of a language that is named, or of a code in another spelling (`pt_BR`)."""
    if _CODE.fullmatch(said):
        return said.replace("_", "-")
    words = " ".join(re.sub(r"[(),/_-]", " ", said.casefold()).split())
    if words in _LANGUAGES:
        return _LANGUAGES[words]
    for region, code in _REGION_CODES.items():
        for rest in (words.removeprefix(f"{region} "), words.removesuffix(f" {region}")):
            if rest != words and rest in _LANGUAGES:
                return _in_region(_LANGUAGES[rest], code)
    return None


def language_name(code: str) -> str:
    """Return the English name of a language: `German` for `de`; a code without one as it is."""
    return _NAMES[code].partition("|")[0] if code in _NAMES else code


def _in_region(language: str, region: str) -> str:
    # European Portuguese is that of Portugal, European Spanish that of Spain.
    return f"{language}-{'PT' if (language, region) == ('pt', 'ES') else region}"


# How large a sheet may be: far above any real campaign, far below what hurts.


MAX_BYTES = 20 * 1024 * 1024
MAX_YAML_BYTES = 1024 * 1024
MAX_UNZIPPED_BYTES = 200 * 1024 * 1024
MAX_UNZIP_RATIO = 200
MAX_ROWS = 100_000
MAX_LINES = 1_048_576
MAX_COLUMNS = 200
MAX_CELLS = 5_000_000
MAX_CELL_CHARACTERS = 100_000
MAX_DEPTH = 20
