"""The words by which a page says that it is not there."""

import pytest

from comity_pages.signals.soft_404 import _ENGLISH, find_not_found


@pytest.mark.parametrize(
    "text",
    [
        "Error 404",
        "PAGE NOT FOUND",
        "The page you were looking for could not be found",
        "This product is no longer available",
        "We can't find that", "We can\u2019t find that", "we cant find it", "Cannot be found", "Couldn't locate it",
        "Unable to find the item",
        "It doesn't exist", "They don\u2019t exist", "It does not exist", "No longer exists",
        "Nothing was found", "nothing found", "Nothing was found at this location",
        "Looks like this page went missing", "This page has moved or been deleted", "The page may have been removed",
        "This page isn't available", "This page isn\u2019t available", "This content isn't available right now",
    ],
)  # fmt: skip
def test_words_that_say_that_a_page_is_not_there_are_found_without_a_search_for_each(text: str) -> None:
    assert _ENGLISH.search(text), "else this tests nothing"
    assert find_not_found(text)


@pytest.mark.parametrize(
    "text",
    [
        "Seite nicht vorhanden", "Die gesuchte Seite ist nicht verfügbar", "Cette page n'existe plus",
        "La page n'a pas été trouvée", "Nous n'avons pas trouvé cette page", "No podemos encontrar la página",
        "Esta página no está disponible", "No hemos podido encontrar la página", "Não conseguimos encontrar a página",
        "Deze pagina kan niet worden gevonden", "Sidan finns inte", "Strona, której szukasz, nie istnieje",
        "Stránka neexistuje", "Упс! Такой страницы нет", "Seite konnte nicht mehr gefunden werden",
        "Page introuvable", "Désolé, cette page n’existe pas", "Página no encontrada", "La página solicitada no existe",
        "Pagina non trovata", "Página não encontrada", "Seite nicht gefunden", "Die Seite existiert nicht",
        "Pagina niet gevonden", "Deze pagina bestaat niet", "Sidan hittades inte", "Siden blev ikke fundet",
        "Fant ikke siden: siden finnes ikke", "Strona nie znaleziona", "Nie znaleziono strony", "Stránka nenalezena",
        "Sayfa bulunamadı", "Sivua ei löytynyt", "Az oldal nem található", "Pagina nu a fost găsită",
        "Không tìm thấy trang", "Страница не найдена", "Сторінку не знайдено", "Η σελίδα δεν βρέθηκε",
        "页面未找到", "找不到頁面", "您访问的页面不存在", "ページが見つかりません",
        "お探しのページは見つかりませんでした",
        "페이지를 찾을 수 없습니다", "الصفحة غير موجودة", "لم يتم العثور على الصفحة", "הדף לא נמצא", "ไม่พบหน้า",
    ],
)  # fmt: skip
def test_a_page_says_that_it_is_not_there_in_its_own_language(text: str) -> None:
    assert find_not_found(text)
    assert find_not_found(text.upper()) or "ı" in text, "a capital I of Turkish has no dot"


@pytest.mark.parametrize(
    "text",
    [
        "La suerte no existe", "Noche en la isla", "Die Nacht ist nicht vorbei", "Не спать на острове", "存在と時間",
        "La página está disponible", "Boten finns inte", "Nous avons trouvé cette page", "Den nie istnieje",
        "Nicht alle Seiten sind verfügbar", "Den som hittar en lampa", "Trouver une page", "Nordlicht", "نص موجود",
    ],
)  # fmt: skip
def test_other_words_of_a_language_say_nothing_of_the_kind(text: str) -> None:
    assert find_not_found(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "Room 4041",
        "Missing persons",
        "Remove a page",
        "Deleted scenes",
        "A page about knots",
        "What we found",
        "",
        "Not far from here",
    ],
)
def test_other_words_say_nothing_of_the_kind(text: str) -> None:
    assert find_not_found(text) is None
