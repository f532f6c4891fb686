"""Dates as pages write them, as `YYYY-MM-DD`: ISO 8601, in figures, and with the months of two dozen languages."""

import re
from datetime import UTC, date, datetime
from typing import Final
from urllib.parse import urlsplit

_YEAR: Final = r"(1[5-9]\d\d|20\d\d)(?!\d)"
# A month a line, January first: how its names begin in several languages.
_NAMES: Final = """
jan|janv|ene|gen|gennaio|enero|stycz|sty|led|ledna|янв|яну|јан|січ|oca|ocak|ian|tammi|ιαν|jaan|sau|siječ|ม.ค|ינואר|يناير|جنف|जन|มกรา
feb|fév|fev|lut|úno|únor|фев|феб|лют|şub|helmi|φεβ|febru|veebr|vas|velj|ก.พ|פברואר|فبراير|फर|กุมภา|شباط|فيفري
mar|mär|mrz|maa|mac|märz|maart|mars|marz|març|břez|březn|мар|бер|μαρ|márc|kov|ožuj|มี.ค|מרץ|مارس|मार्च|มีนา|آذار
apr|avr|abr|kwie|kwi|dub|апр|квіт|кві|nis|huhti|απρ|ápr|bal|trav|เม.ย|אפריל|أبريل|إبريل|अप्र|เมษา|نيسان|أفريل
may|mai|май|мај|maj|mei|mag|maggio|mayo|maio|květ|kvě|мая|трав|тра|toukok|μαΐ|μαι|máj|geg|svib|maí|พ.ค|מאי|مايو|मई|พฤษภา|أيار|ماي
jun|јун|юни|juin|giu|czerw|cze|červn|čer|июн|черв|чер|haz|iun|kesäk|ιουν|jún|jūn|juun|bir|lipnja|มิ.ย|יוני|يونيو|जून|มิถุนา|حزيران|جوان
jul|јул|юли|juil|lug|luglio|lip|červen|čvc|июл|лип|tem|iul|heinä|ιουλ|júl|jūl|juul|lie|srpnja|ก.ค|יולי|يوليو|जुल|กรกฎา|تموز|جويلية|يوليوز
aug|avg|ágú|ogo|aoû|ago|agu|agosto|sier|sie|srp|авг|серп|сер|ağu|elo|αυγ|rugp|kolov|ส.ค|אוגוסט|أغسطس|अग|สิงหา|آب|أوت|غشت
sep|set|wrz|zář|сен|сеп|вер|eyl|syys|σεπ|szept|rugs|ruj|ก.ย|ספטמבר|سبتمبر|सित|กันยา|أيلول|شتنبر
oct|okt|out|ott|ottobre|paźdz|paź|říj|окт|жовт|жов|eki|loka|οκτ|spal|ต.ค|אוקטובר|أكتوبر|अक्|ตุลา|تشرين الأول
nov|nóv|ное|нов|listopad|лист|ноя|kas|marras|νοε|lapkr|stud|พ.ย|נובמבר|نوفمبر|नव|พฤศจิก|تشرين الثاني|نونبر
dec|dez|дец|déc|dic|dicem|grud|gru|pros|дек|груд|гру|ara|joulu|δεκ|des|gruod|ธ.ค|דצמבר|ديسمبر|दिस|ธันวา|كانون الأول|دجنبر
"""
_MONTHS: Final = {
    **{name: at for at, line in enumerate(_NAMES.strip().splitlines(), start=1) for name in line.split("|")},
    "كانون الثاني": 1,
    "جانفي": 1,
    "lis": 11,
    "červenec": 7,
    "července": 7,
    "maalis": 3,
    "mart": 3,
    "mayıs": 5,
    "sept": 9,
}
_MONTH_NAMES: Final = "|".join(sorted(map(re.escape, _MONTHS), key=len, reverse=True))
_MONTH: Final = rf"(?<![^\W\d_])ב?({_MONTH_NAMES})(?:[^\W\d_]|[\u0900-\u0963\u0e31-\u0e4e]){{0,9}}\.?"
_LETTERS: Final = r"[^\W\d_]"
_PREPOSITION: Final = r"(?:\s*(?:of|de|del|di|da|d['’]|พ\.ศ\.)(?=\s))?[\s.\-/]*"
_ISO: Final = re.compile(rf"(?<![\d.]){_YEAR}[-/.]\s?(0?[1-9]|1[0-2])[-/.]\s?(0?[1-9]|[12]\d|3[01])(?!\d)")
_CJK: Final = re.compile(rf"{_YEAR}\s*[年년]\s*(\d{{1,2}})\s*[月월]\s*(\d{{1,2}})\s*[日일]?")
_DAY_MONTH: Final = re.compile(
    rf"(?<!\d)(\d{{1,2}})(?:st|nd|rd|th|er|º|ª|\.)?{_PREPOSITION}{_MONTH}(?:/{_LETTERS}{{2,10}})?,?{_PREPOSITION}(?:den\s)?(1[5-9]\d\d|20\d\d|25[3-9]\d)(?!\d)"
)
_MONTH_DAY: Final = re.compile(rf"{_MONTH}\s*(\d{{1,2}})(?:st|nd|rd|th)?[,.]?\s+(?:de\s+)?{_YEAR}")
_YEAR_MONTH: Final = re.compile(rf"(?<!\d){_YEAR}[\s,]\s*{_MONTH}\s*(\d{{1,2}})(?!\d|,?\s+{_YEAR})")
_WITH_DOTS: Final = re.compile(rf"(?<!\d){_YEAR}(?:\.|\s*m\.)\s+{_MONTH}\s*(\d{{1,2}})(?:\.|\s*d\b)")
_VIETNAMESE: Final = re.compile(rf"(?<!\d)(\d{{1,2}})\s+tháng\s+(\d{{1,2}})(?:,|,?\s+năm)?\s+{_YEAR}")
_FIGURES: Final = re.compile(r"(?<![\d./-])(\d{1,2})([./-])\s?(\d{1,2})\2\s?(1[5-9]\d\d|20\d\d|25[3-9]\d)(?!\d|\.\d)")
_SHORT_YEAR: Final = re.compile(r"(?<![\w./-])(\d{1,2})(\.)(\d{1,2})\.([0-4]\d)(?![\w./-])")
_PATTERNS: Final = (
    (_ISO, 1, 2, 3),
    (_CJK, 1, 2, 3),
    (_DAY_MONTH, 3, 2, 1),
    (_MONTH_DAY, 3, 1, 2),
    (_YEAR_MONTH, 1, 2, 3),
    (_WITH_DOTS, 1, 2, 3),
    (_VIETNAMESE, 3, 2, 1),
)
_ERA: Final = re.compile(r"(令和|平成|昭和|民[國国])\s?(\d{1,3}|元)(?=\s?年)")
_BEFORE_ERA: Final = {"令和": 2018, "平成": 1988, "昭和": 1925, "民國": 1911, "民国": 1911}
_DIGITS: Final = str.maketrans("٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹०१२३४५६७८९๐๑๒๓๔๕๖๗๘๙", "0123456789" * 4)
_CHANGE_WORDS: Final = re.compile(
    r"\b(?:updated?|modified|revised|reviewed|edited|changed|last (?:post|reply|activity)|latest|joined|registered"
    r"|member since|aktualisiert|stand"
    r"|geändert|mise? à jour|modifiée?|actualizado|modificado|aggiornato|atualizado|bijgewerkt|gewijzigd|opdateret"
    r"|oppdatert|uppdaterad|zaktualizowano|aktualizov|обновлено|изменено)\b",
    re.IGNORECASE,
)
_CHANGE_PREFIX: Final = re.compile(r"\W*(?:last |zuletzt |dernière )?", re.IGNORECASE)
_PUBLICATION_WORDS: Final = re.compile(
    r"\b(?:published|posted|created|veröffentlicht|publiée?|publicado|pubblicato|gepubliceerd|опубликовано)\b",
    re.IGNORECASE,
)
_DIGIT: Final = re.compile(r"\d")
_BUDDHIST: Final = 543  # years that Thailand counts more
_COMPACT_ISO: Final = re.compile(
    r"(1[5-9]\d\d|20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?:T?\d{4}(?:\d\d)?)?(?:Z|[+-]\d{4})?"
)
_UNIX_TIME: Final = re.compile(r"(1[0-9]{9})(?:\d{3})?")
_MONTH_FIRST_LANGUAGES: Final = ("en", "en-us", "en-ca", "en-ph")
_DAY_FIRST_DOMAINS: Final = (".uk", ".au", ".nz", ".ie", ".in", ".za", ".eu")


def says_days_first(url: str, *languages: str | None) -> bool | None:
    """Whether 3/4/2024 is a day of April on a page: where English is not that of the United States, and in other
    languages; None where it states none. `en` alone gives way to the languages that follow, and to the host.
    """
    stated = [each.lower().replace("_", "-") for each in languages if each]
    told = next((each for each in stated if each != "en"), "")
    if told:
        return told not in _MONTH_FIRST_LANGUAGES
    return (urlsplit(url).hostname or "").endswith(_DAY_FIRST_DOMAINS) or (False if stated else None)


def day_of(text: str, *, day_first: bool | None = False) -> str:
    """The first date in a text as `YYYY-MM-DD`, after what says when it was changed the one of publication; empty where
    there is none.

    Args:
        day_first: whether 3/4/2024 is a day of April; None: it is no day, for nothing says of which month.
    """
    text = text[:2000].strip()
    if not _DIGIT.search(text):
        return ""
    if not text.isascii():
        text = _ERA.sub(_era_year, text.translate(_DIGITS))
    if says_changed(text) and (published := _PUBLICATION_WORDS.search(text)) is not None:
        later = day_of(text[published.start() :], day_first=day_first)
        if later:
            return later
    if (match := _ISO.match(text) or _COMPACT_ISO.fullmatch(text)) and (that := _as_day(match[1], match[2], match[3])):
        return that
    if match := _UNIX_TIME.fullmatch(text):
        return datetime.fromtimestamp(int(match[1]), UTC).date().isoformat()
    text = text.lower()
    found: list[tuple[int, str]] = []
    for pattern, year, month, number in _PATTERNS:
        if match := pattern.search(text):
            named = match[month] if match[month].isdigit() else str(_MONTHS[match[month]])
            if ". listopada" in match[0]:  # Croatian; without a full stop after the day, Polish and a month later
                named = "10"
            found.append((match.start(), _as_day(match[year], named, match[number])))
    if match := _FIGURES.search(text) or _SHORT_YEAR.search(text):
        first, second = match[1], match[3]
        either = match[2] != "." and int(first) <= 12
        if not (either and not day_first) and int(second) <= 12:
            first, second = second, first
        if day_first is not None or not either or int(second) > 12 or first == second:
            found.append((match.start(), _as_day(match[4] if len(match[4]) > 2 else f"20{match[4]}", first, second)))
    return next((each for _, each in sorted(found) if each), "")


def says_changed(text: str, *, anywhere: bool = False) -> bool:
    """Whether a text begins by saying that a page was changed, or the last that it says is that."""
    if not anywhere:
        begins = _CHANGE_PREFIX.match(text)
        return _CHANGE_WORDS.match(text, begins.end() if begins else 0) is not None
    later = max((each.start() for each in _CHANGE_WORDS.finditer(text)), default=-1)
    return later > max((each.start() for each in _PUBLICATION_WORDS.finditer(text)), default=-1)


def says_published(text: str) -> bool:
    """Whether a text says that something was published."""
    return _PUBLICATION_WORDS.search(text) is not None


def _as_day(year: str, month: str, number: str) -> str:
    """A day as `YYYY-MM-DD`; empty where there is none of that number."""
    year = str(int(year) - _BUDDHIST) if year >= "2500" else year
    try:
        return date(int(year), int(month), int(number)).isoformat()
    except ValueError:
        return ""


def _era_year(match: re.Match[str]) -> str:
    """The year by the era of a Japanese emperor or of the Republic of China as a year."""
    return str(_BEFORE_ERA[match[1]] + (1 if match[2] == "元" else int(match[2])))
