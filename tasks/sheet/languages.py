"""The names of languages, in English and in themselves, and what the service takes: `de`, `pt-BR`.

The specification says only that a language is a text; its codes are those of BCP 47.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

#: A code by its form alone: it is sent as it was written, but for its dashes.
CODE = r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*"
_CODE = re.compile(CODE)

_NAMES = {
    "af": "Afrikaans",
    "am": "Amharic|አማርኛ",
    "ar": "Arabic|العربية",
    "az": "Azerbaijani|azərbaycan",
    "be": "Belarusian|беларуская",
    "bg": "Bulgarian|български",
    "bn": "Bengali|Bangla|বাংলা",
    "bs": "Bosnian|bosanski",
    "ca": "Catalan|català",
    "cs": "Czech|čeština|česky",
    "cy": "Welsh|Cymraeg",
    "da": "Danish|dansk",
    "de": "German|Deutsch",
    "el": "Greek|ελληνικά",
    "en": "English",
    "es": "Spanish|español|castellano|Castilian",
    "et": "Estonian|eesti",
    "eu": "Basque|euskara",
    "fa": "Persian|Farsi|فارسی",
    "fi": "Finnish|suomi",
    "fil": "Filipino|Tagalog",
    "fr": "French|français",
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
    "it": "Italian|italiano",
    "ja": "Japanese|日本語",
    "jv": "Javanese",
    "ka": "Georgian|ქართული",
    "kk": "Kazakh|қазақша",
    "km": "Khmer|ខ្មែរ",
    "kn": "Kannada|ಕನ್ನಡ",
    "ko": "Korean|한국어",
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
    "nl": "Dutch|Nederlands|Flemish|Vlaams",
    "nn": "Nynorsk|Norwegian Nynorsk",
    "no": "Norwegian|norsk",
    "pa": "Punjabi|ਪੰਜਾਬੀ",
    "pl": "Polish|polski",
    "ps": "Pashto|پښتو",
    "pt": "Portuguese|português",
    "ro": "Romanian|română",
    "ru": "Russian|русский",
    "si": "Sinhala|සිංහල",
    "sk": "Slovak|slovenčina",
    "sl": "Slovenian|Slovene|slovenščina",
    "so": "Somali|Soomaali",
    "sq": "Albanian|shqip",
    "sr": "Serbian|српски|srpski",
    "su": "Sundanese",
    "sv": "Swedish|svenska",
    "sw": "Swahili|Kiswahili",
    "ta": "Tamil|தமிழ்",
    "te": "Telugu|తెలుగు",
    "th": "Thai|ไทย",
    "tr": "Turkish|Türkçe",
    "uk": "Ukrainian|українська",
    "ur": "Urdu|اردو",
    "uz": "Uzbek|oʻzbekcha",
    "vi": "Vietnamese|Tiếng Việt",
    "xh": "Xhosa|isiXhosa",
    "yo": "Yoruba|Yorùbá",
    "yue": "Cantonese|粵語|廣東話",
    "zh": "Chinese|Mandarin|中文|普通话",
    "zh-Hans": "Simplified Chinese|Chinese simplified|简体中文",
    "zh-Hant": "Traditional Chinese|Chinese traditional|繁體中文",
    "zu": "Zulu|isiZulu",
}
#: Countries as people put them beside a language: `Brazilian Portuguese`, `English (UK)`.
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
REGIONS = _by_name(_REGIONS)
_LANGUAGES, _REGION_CODES = _folded(LANGUAGES), _folded(REGIONS)


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


def _in_region(language: str, region: str) -> str:
    # European Portuguese is that of Portugal, European Spanish that of Spain.
    return f"{language}-{'PT' if (language, region) == ('pt', 'ES') else region}"
