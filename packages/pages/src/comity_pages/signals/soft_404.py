"""The words by which a page says that it is not there, whatever its status says."""

import re
from typing import Final

_ENGLISH: Final = re.compile(
    r"\b404\b|(?:page|content|product|article|item|site|url|resource)(?: you\W+\w+ (?:requested|looking for"
    r"|were looking for))? (?:was |is |could |can ?|has |is(?=n))?(?:not|n['’]t|no longer)(?: be)? (?:found"
    r"|available|exist|located)"
    r"|\b(?:page|link|site)[^.]{0,30} (?:went|gone|is) missing"
    r"|\b(?:page|link) (?:has|may have|might have) (?:been )?(?:moved|removed|deleted)"
    r"|not found|(?:can['’]?t|cannot|couldn['’]t|could not|unable to) (?:be |seem to )?(?:find|found|locate)"
    r"|(?:doesn|don)['’]t exist|does not exist|no longer (?:exists|available)|nothing (?:was )?found",
    re.IGNORECASE,
)
_ROMANCE: Final = re.compile(
    r"\bno (?:hemos podido|podemos|se puede|se pudo) encontrar"
    r"|\bno (?:se (?:ha )?(?:encontrado|encuentra)|(?:fue |ha sido )?encontrad[oa])|\bnon (?:è stat[ao] )?trovat[oa]"
    r"|\bnão (?:conseguimos|foi possível) encontrar"
    r"|\bp[aá]gina[^.]{0,40} no(?:n|) (?:esiste|existe|está disponible|è disponibile)",
    re.IGNORECASE,
)
# What is searched for in nearly every page: pieces of the words, of which each match holds one and few texts do.
_COMMON: Final = (
    (("404", "found", "find", "exist", "availab", "locat", "missing", "moved", "delet"), _ENGLISH),
    (("encontra", "encuentra", "trovat", "esist", "exist", "disponib"), _ROMANCE),
)
# In other languages the same, where one piece will do.
_ASCII_WORDS: Final = {
    "niet ": r"\bniet (?:worden )?gevonden",
    "nicht": r"\bnicht (?:\w+ )?gefunden|\bexistiert nicht|\bseite[^.]{0,40} nicht (?:vorhanden|verfügbar)",
    "znalez": r"\bnie (?:została )?znalezion",
    "introuv": r"\bintrouvable",
    "hitta": r"\bhittades inte|\b(?:inte|ej) hitta",
    "ikke": r"\bikke (?:bli )?(?:fundet|funnet)|\bside[nr]?[^.]{0,40} (?:findes|finnes|eksisterer) ikke",
    "existe p": r"page[^.]{0,40} n['’]existe p(?:as|lus)",
    "finns inte": r"\bsida[^.]{0,40} finns inte",
    "nie istn": r"\bstron[ay][^.]{0,40} nie istnieje",
    "bestaat": r"\bpagina[^.]{0,40} bestaat niet",
}
_OTHER_WORDS: Final = _ASCII_WORDS | {
    "trouvé": r"\bpas (?:été )?trouvé",
    "neexist": r"\bstránka[^.]{0,40} neexistuje",
    "não": r"\bnão (?:foi )?encontrad[oa]|página[^.]{0,40} não existe",
    "nalezen": r"\b(?:nebyla )?(?:ne)?nalezena",
    "bulunamad": r"\bbulunamadı",
    "löy": r"\bei löy(?:tyny|dy)",
    "nem tal": r"\bnem található",
    "găsit": r"\bnu a fost găsit|\bnegăsit",
    "không t": r"không tìm thấy|không tồn tại",
    "страниц": r"такой страницы (?:нет|не существует)",
    "не ": r"\bне (?:найден|знайден|е намерен)|страница[^.]{0,40} не существует|сторінка[^.]{0,40} не існує",
    "δεν ": r"\bδεν βρέθηκε|σελίδα[^.]{0,40} δεν υπάρχει",
    "找": r"找不到|未找到|[没沒]有找到|[无無]法找到",
    "存在": r"(?:页面|頁面|网页|網頁)[^。]{0,20}不存在|ページ[^。]{0,20}存在しません",
    "見つか": r"見つかりません|見つからない",
    "찾을": r"찾을 수 없",
    "موجود": r"غير موجود",
    "العثور": r"(?:لم يتم|تعذر) العثور",
    "נמצא": r"לא נמצא",
    "ไม่พบ": r"ไม่พบ",
}


def find_not_found(text: str) -> re.Match[str] | None:
    """Where a title or heading says so; whether the page has other content is not looked at."""
    lower = text.lower()
    for pieces, said in _COMMON:
        if any(map(lower.__contains__, pieces)) and (match := said.search(text)):
            return match
    for word, pattern in (_ASCII_WORDS if text.isascii() else _OTHER_WORDS).items():
        if word in lower and (match := re.search(pattern, text, re.IGNORECASE)):  # compiled when it is first needed
            return match
    return None
