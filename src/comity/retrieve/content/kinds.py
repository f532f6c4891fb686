"""What an answer is when it is no page: a login or cookie wall, a challenge, a shell that scripts would fill, an error
page that was sent with status 200. Named, with what it was told by; only where there is next to nothing else to read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from comity.retrieve.content.blocks import SURROUNDINGS, Block
from comity.retrieve.page.tree import Tree
from comity.signals.soft_404 import gone

PageKind = Literal["page", "login_wall", "consent_wall", "javascript_shell", "challenge", "not_found", "empty"]

MOST_WORDS: Final = 250
"""Words of a page from which it is taken for one, whatever they say."""
_FEW_WORDS: Final = 120
_FEWER_WORDS: Final = 40
_SHELL_TEXT: Final = 200
_SHELL_WORDS: Final = 45
_WAITING_WORDS: Final = 5
"""Words outside of header and footer that say no more than that the page is being loaded."""

_CHALLENGE_TITLE: Final = re.compile(
    r"just a moment|attention required|checking your browser|are you (?:a )?(?:human|robot)|access (?:to this page )?"
    r"(?:has been |is )?(?:denied|blocked)|pardon our interruption|security check|verify(?:ing)? (?:that )?you|"
    r"bot (?:verification|detection|manager)|robot check|captcha|ddos"
    r"|request (?:was )?(?:blocked|rejected|unsuccessful)|one more step|human verification"
    r"|client challenge|403 forbidden|unusual traffic",
    re.IGNORECASE,
)
_CHALLENGE_TEXT: Final = re.compile(
    r"checking (?:if the site connection is secure|your browser)|verify(?:ing)? (?:that )?you(?:'re| are) (?:a )?"
    r"(?:not a )?(?:human|robot)|complete the (?:captcha|security check|challenge)|press (?:and"
    r"|&) hold|unusual (?:traffic|"
    r"activity) from your|needs to review the security of your connection|enable cookies and (?:reload|refresh)|you"
    r" (?:have been|were|are) (?:temporarily )?blocked|automated (?:access|requests|queries|traffic)"
    r"|confirm (?:that )?you(?:'re| are) (?:human|not a robot)|ray id"
    r"|you don['’]t have permission to access|i['’]m not a robot",
    re.IGNORECASE,
)
_CHALLENGE_MARK: Final = re.compile(
    r"_cf_chl|/cdn-cgi/challenge-platform/h/|captcha-delivery\.com|px-captcha|_Incapsula_Resource"
)
_LOGIN: Final = re.compile(
    r"\b(?:log|sign)[ -]?(?:in|on)\b|\bauthenticat|\bplease (?:log|sign)\b|(?:members?|subscribers?) only",
    re.IGNORECASE,
)
_CONSENT: Final = re.compile(
    r"\bcookies?\b|\bconsent\b|\bgdpr\b|\bpersonal data\b|privacy (?:choices|settings|policy)|\bour partners\b"
    r"|before you continue",
    re.IGNORECASE,
)
_AGREE: Final = re.compile(r"\b(?:accept|agree|reject|allow|manage|consent)\b", re.IGNORECASE)
_ROOTS: Final = frozenset(
    ("root", "app", "__next", "__nuxt", "main", "application", "app-root", "react-root", "svelte")
)
_WAITS: Final = re.compile(
    r"(?:loading|please wait|one moment|bitte warten|wird geladen|chargement|veuillez patienter|cargando|caricamento"
    r"|carregando|aguarde|laden|ładowanie|načítání|загрузка|yükleniyor|読み込み中|加载中|載入中|로딩|[\s.…!,])+",
    re.IGNORECASE,
)
_SCRIPTS: Final = re.compile(
    r"(?:enable|turn on|activate|requires?|without|need)\W+(?:\w+\W+){0,4}java ?script|java ?script\W+(?:\w+\W+){0,5}"
    r"(?:enabled?|disabled|required|turned off|needed)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What an answer is, and why it was taken for that; the reason of a page is empty."""

    kind: PageKind
    reason: str = ""


PAGE: Final = Judgement("page")


def judge(tree: Tree, blocks: Sequence[Block], html: str) -> Judgement:
    """What a page is, by its title, its text and its forms."""
    words = sum(block.words for block in blocks)
    if words > MOST_WORDS:
        return PAGE
    text = "\n".join(block.text for block in blocks)
    title = tree.first("title")
    name = " ".join(title.text().split())[:200] if title is not None else ""
    heading = next((block.text for block in blocks if block.node.name in ("h1", "h2")), "")[:200]
    content = sum(block.words for block in blocks if not block.landmarks & SURROUNDINGS)
    if match := _CHALLENGE_TITLE.search(name) or (_CHALLENGE_TEXT.search(text) if words < _FEW_WORDS else None):
        return Judgement("challenge", f"It says {_quoted(match[0])} instead of the page.")
    scripts = bool(tree.named.get("script"))
    if words < _FEW_WORDS and scripts and (match := _CHALLENGE_MARK.search(html)):
        return Judgement("challenge", f"It runs a check of the visitor ({match[0]}) and shows next to nothing.")
    if content < _FEW_WORDS and (match := gone(name) or gone(heading)):
        return Judgement("not_found", f"It says {_quoted(match[0])}, though its status says that it was found.")
    password = any(node.attributes.get("type", "").lower() == "password" for node in tree.named.get("input", ()))
    match = _LOGIN.search(name) or (_LOGIN.search(heading) if password else None)
    if match is not None and content < (_FEW_WORDS if password else _FEWER_WORDS):
        return Judgement("login_wall", f"It asks to log in ({_quoted(match[0])}) and shows next to nothing else.")
    about = sum(block.words for block in blocks if _CONSENT.search(block.text))
    if words >= 15 and about > 0.6 * words and _AGREE.search(text):
        return Judgement("consent_wall", "It asks for consent to cookies and shows next to nothing else.")
    if scripts and (len(text) < _SHELL_TEXT or content < _SHELL_WORDS):
        said = " ".join(node.text() for node in tree.named.get("noscript", ()))[:20_000]
        if match := _SCRIPTS.search(text) or _SCRIPTS.search(said):
            return Judgement(
                "javascript_shell", f"It says {_quoted(match[0])} and shows next to nothing without scripts."
            )
        if not words or ((len(text) < _SHELL_TEXT or content <= _WAITING_WORDS) and _has_empty_root(tree)):
            return Judgement("javascript_shell", "It shows next to nothing without running its scripts.")
    if not words and not any(tree.named.get(name) for name in ("img", "video", "audio", "picture", "svg", "canvas")):
        return Judgement("empty", "There is no text on it.")
    return PAGE


def _has_empty_root(tree: Tree) -> bool:
    """Whether an element that programs build their page in stands empty, or says that they are at it."""
    roots = (node for node in tree.all("div") if node.attributes.get("id", "").lower() in _ROOTS)
    texts = (node.text().strip()[:_SHELL_TEXT] for node in (*roots, *tree.all("app-root", "main")))
    return any(not text or _WAITS.fullmatch(text) for text in texts)


def _quoted(text: str) -> str:
    return f"«{' '.join(text.split())[:80]}»"
