"""What an answer is when it is no page: a login or cookie wall, a challenge, a shell that scripts would fill, an error
page that was sent with status 200. Named, with what it was told by; only where there is next to nothing else to read.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from comity_pages.content.blocks import SURROUNDINGS, Block
from comity_pages.html.tree import Tree
from comity_pages.signals.soft_404 import find_not_found

PageKind = Literal["page", "login_wall", "consent_wall", "javascript_shell", "challenge", "not_found", "empty"]

MAX_WALL_WORDS: Final = 250  # words of a page from which it is taken for one, whatever they say
_MAX_SIGNED_WALL_WORDS: Final = 60  # words of content beside which two signs of a wall are believed
_MAX_BARE_WALL_WORDS: Final = 40  # words of content that are so few that this is a sign itself
_MAX_NOTICE_WORDS: Final = 15
_MAX_SHELL_CHARS: Final = 200
_SHELL_WORDS: Final = 45
_WAITING_WORDS: Final = 5  # words outside of header and footer that say no more than that the page is being loaded

_TITLE_SEPARATOR: Final = re.compile(r"\s[-|·–—»]\s|[|·»]")  # what stands between the parts of a title
# What a part of a title or a heading says and nothing more; "What is a DDoS attack?" says more.
_CHALLENGE: Final = re.compile(
    r"\W*(?:just a moment|attention required|checking your browser(?: before accessing \S+)?|pardon our interruption"
    r"|making sure you(?:['’]re| are) not a (?:ro)?bot"
    r"|are you (?:a )?(?:human|robot)|access (?:to this page )?(?:has been |is |was )?(?:denied|blocked)|one more step"
    r"|security (?:check|verification)|ddos[- ](?:guard|protection)|bot (?:verification|detection|manager)|robot check"
    r"|verify(?:ing)? (?:that )?you(?:r browser|'re| are)?(?: (?:not )?(?:a )?(?:human|robot))?|human verification"
    r"|(?:[a-z]+ the )?\w{0,2}captcha (?:check|challenge|verification)|client challenge|(?:error )?403 forbidden"
    r"|request (?:was )?(?:blocked|rejected|unsuccessful)(?:\W+incapsula incident id\b.*)?"
    r"|unusual traffic(?: from your computer network)?)(?: (?:required|needed|error|in progress|please wait))?\W*",
    re.IGNORECASE,
)
_CHALLENGE_TEXT: Final = re.compile(
    r"checking (?:if the site connection is secure|your browser)|verify(?:ing)? (?:that )?you(?:'re| are) (?:a )?"
    r"(?:not a )?(?:human|robot)|complete the (?:captcha|security check|challenge)|press (?:and"
    r"|&) hold|unusual (?:traffic|"
    r"activity) from your|needs to review the security of your connection|enable cookies and (?:reload|refresh)|you"
    r" (?:have been|were|are) (?:temporarily )?blocked|automated (?:access|requests|queries|traffic)"
    r"|confirm (?:that )?you(?:'re| are) (?:human|not a robot)|\bray id\W{0,3}[0-9a-f]{8}"
    r"|you don['’]t have permission to access|i['’]m not a robot",
    re.IGNORECASE,
)
_CHALLENGE_MARK: Final = re.compile(
    r"_cf_chl|/cdn-cgi/challenge-platform/h/\w/orchestrate/|captcha-delivery\.com|px-captcha"
    r"|_Incapsula_Resource\?[CS]WUDNSAI"
)
_CHALLENGE_PLACES: Final = (
    "/.within.website/x/cmd/anubis/",
    "/.well-known/vercel/security/static/challenge",
    "/git/go-away/cmd/go-away/",
)
"""What the URLs of scripts have that only a check of the visitor serves, which may explain itself at some length."""
_LOGIN: Final = re.compile(
    r"\b(?:log|sign)[ -]?(?:in|on)\b|\bauthenticat|\bplease (?:log|sign)\b|(?:members?|subscribers?) only"
    r"|\banmeld|\beinlogg|\bse connecter|\bconnexion\b|\biniciar sesi|\bacced(?:i|er)\b|\bentrar\b|\binloggen"
    r"|\blogga in|\blogg inn|\blog ind|\bzalog|\blogowanie|\bpřihlá|\bbejelentkez|\bвойти|\bвход\b|\bувійти|\bвхід\b"
    r"|\bgiriş|\boturum aç|登录|登入|登錄|ログイン|로그인|تسجيل الدخول|התחבר|เข้าสู่ระบบ|đăng nhập",
    re.IGNORECASE,
)
_ONLY_LOGIN: Final = re.compile(
    rf"\W*(?:please |members? |customer |user |account )?(?:{_LOGIN.pattern})\w*(?: \S+){{0,4}}", re.I
)
_CONSENT: Final = re.compile(
    r"\bcookies?\b|\bconsent\b|\bgdpr\b|\bpersonal data\b|privacy (?:choices|settings|policy)|\bour partners\b"
    r"|before you continue",
    re.IGNORECASE,
)
_AGREEMENT: Final = re.compile(r"\b(?:accept|agree|reject|allow|manage|consent)\b", re.IGNORECASE)
_POLICY: Final = re.compile(
    r"polic(?:y|ies)|notice|statement|richtlinie|hinweis|erklärung|politique|pol[ií]tica|informativa|beleid",
    re.IGNORECASE,
)
_PAGE_WORDS: Final = re.compile(
    r"\b(?:404 (?:not|error|page)|(?:error|http|fehler|erreur|errore|erro|fout|feil|błąd|ошибка|hata)\W{1,3}404"
    r"|(?:pages?|url|(?:web)?seite|(?:web)?site|content|sidan?|siden|stron[ay]|trang)\b|p[aá]gin|strán|oldal|sayfa|halaman|sivu"
    r"|страниц|сторінк|σελίδα)|[页頁]|ページ|페이지|صفحة|הדף|หน้า",
    re.IGNORECASE,
)
"""What a title says that it is not there: the page, and no printer."""
_INTERJECTIONS: Final = re.compile(
    r"(?:sorry|o{1,9}ps|oh no|uh[ -]oh|error|whoops|upp?s|hoppla|oups|oeps|hoppsan|désolé|lo siento|ой|упс|[\W\d_])*",
    re.IGNORECASE,
)
_SENTENCE_END: Final = re.compile(r"(?<=[^\s.!?。！？]{3})[.!?。！？]")
_SURROUNDING_ELEMENTS: Final = frozenset(("header", "nav", "aside", "footer"))
_ROOT_IDS: Final = frozenset(
    ("root", "app", "__next", "__nuxt", "main", "application", "app-root", "react-root", "svelte")
)
_WAITING_TEXT: Final = re.compile(
    r"(?:loading|please wait|one moment|bitte warten|wird geladen|chargement|veuillez patienter|cargando|caricamento"
    r"|carregando|aguarde|laden|ładowanie|načítání|загрузка|yükleniyor|読み込み中|加载中|載入中|로딩|[\s.…!,])+",
    re.IGNORECASE,
)
_SCRIPTS_NEEDED: Final = re.compile(
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
    if words > MAX_WALL_WORDS:
        return PAGE
    text = "\n".join(block.text for block in blocks)
    title = tree.first("title")
    name = " ".join(title.text().split())[:200] if title is not None else ""
    heading = next((block.text for block in blocks if block.level in (1, 2)), "")[:200]
    said = [part.strip() for part in (*_TITLE_SEPARATOR.split(name), heading)]
    shown = [block for block in blocks if not block.landmarks & SURROUNDINGS]
    content = sum(block.words for block in shown)
    scripts = bool(tree.by_name.get("script"))
    named = next(filter(None, map(_CHALLENGE.fullmatch, said)), None)
    asks = _CHALLENGE_TEXT.search(text)
    mark = _CHALLENGE_MARK.search(html) if scripts else None
    if (place := next(_challenge_places(tree), None)) is not None:
        return Judgement("challenge", f"It runs a check of the visitor ({place}) and shows next to nothing else.")
    signs = [sign for sign in (named, asks, mark) if sign is not None]
    # A check runs a script or has a form: what has neither, and says more than a notice, is about checks.
    little = content < (_MAX_BARE_WALL_WORDS if scripts or tree.by_name.get("form") else _MAX_NOTICE_WORDS)
    if len(signs) + little > 1 and (mark is not None or content < _MAX_SIGNED_WALL_WORDS):
        if signs[0] is mark:
            return Judgement("challenge", f"It runs a check of the visitor ({mark[0]}) and shows next to nothing.")
        return Judgement("challenge", f"It says {_quote(signs[0][0])} instead of the page.")
    told = sum(block.words for block in shown if not block.level and block.links < 0.5 * len(block.text))
    if told < _MAX_BARE_WALL_WORDS and _INTERJECTIONS.fullmatch(heading):  # "Oops!", and below it what is wrong
        texts = (_INTERJECTIONS.sub("", block.text[:200], 1) for block in shown if block.level not in (1, 2))
        said.append(_SENTENCE_END.split(next(filter(None, texts), ""), 1)[0])
    match = next(filter(None, map(find_not_found, said)), None) if told < _MAX_SIGNED_WALL_WORDS else None
    # A number may be a car's, or a bus's; a thing that is not found is told about in a few words, or asked for again.
    few = told < _WAITING_WORDS or (told < _MAX_NOTICE_WORDS and _has_text_field(tree))
    if match is not None and ((few and match[0] != "404") or any(map(_says_not_found, said))):
        return Judgement("not_found", f"It says {_quote(match[0])}, though its status says that it was found.")
    fields = [node.attributes.get("type", "").lower() for node in tree.by_name.get("input", ())]
    password = "password" in fields
    asked = fields or tree.by_name.get("button")
    match = next(filter(None, map(_LOGIN.search, said)), None) if asked else None
    only = any(map(_ONLY_LOGIN.fullmatch, said))
    if match and (
        (content < _MAX_BARE_WALL_WORDS and (password or only))
        or (content < 2 * _MAX_SIGNED_WALL_WORDS and password and only)
    ):
        return Judgement("login_wall", f"It asks to log in ({_quote(match[0])}) and shows next to nothing else.")
    about = sum(block.words for block in blocks if _CONSENT.search(block.text))
    if words >= 15 and about > 0.6 * words and _has_consent_button(tree) and not any(map(_POLICY.search, said)):
        return Judgement("consent_wall", "It asks for consent to cookies and shows next to nothing else.")
    if scripts and (len(text) < _MAX_SHELL_CHARS or content < _SHELL_WORDS):
        waits = (len(text) < _MAX_SHELL_CHARS or content <= _WAITING_WORDS) and _has_empty_root(tree)
        without = " ".join(node.text() for node in tree.by_name.get("noscript", ()))[:20_000]
        others = sum(block.words for block in shown if not _SCRIPTS_NEEDED.search(block.text))
        match = _SCRIPTS_NEEDED.search(text) if others < _MAX_NOTICE_WORDS else None
        if match or ((waits or content < _MAX_NOTICE_WORDS) and (match := _SCRIPTS_NEEDED.search(without))):
            return Judgement(
                "javascript_shell", f"It says {_quote(match[0])} and shows next to nothing without scripts."
            )
        if not words or waits:
            return Judgement("javascript_shell", "It shows next to nothing without running its scripts.")
    if not words and not any(tree.by_name.get(name) for name in ("img", "video", "audio", "picture", "svg", "canvas")):
        return Judgement("empty", "There is no text on it.")
    return PAGE


def _challenge_places(tree: Tree) -> Iterator[str]:
    """What scripts of a page, or what it is sent on to, say that only a check of the visitor has."""
    sent_on = (node for node in tree.by_name.get("meta", ()) if "http-equiv" in node.attributes)
    for node in (*tree.by_name.get("script", ()), *sent_on):
        source = node.attributes.get("src", "") + node.attributes.get("content", "")
        yield from (place for place in _CHALLENGE_PLACES if place in source)


def may_be_challenge(title: str, body: bytes) -> bool:
    """Whether a page that is small, and has few links, may be a check of the visitor: whether it is, `judge` says."""
    said = (part.strip() for part in _TITLE_SEPARATOR.split(title[:200]))
    return any(map(_CHALLENGE.fullmatch, said)) or any(place.encode() in body for place in _CHALLENGE_PLACES)


def _says_not_found(said: str) -> bool:
    """Whether a part of a title or a heading says that the page is not there, and not that something else is not."""
    match = find_not_found(said)
    if match is None:
        return False
    others = said[: match.start()] + said[match.end() :]
    return _PAGE_WORDS.search(said) is not None or _INTERJECTIONS.fullmatch(others) is not None


def _has_text_field(tree: Tree) -> bool:
    """Whether a form to fill in stands in the page itself, not in its header or beside it."""
    fields = (node for node in tree.all("input") if node.attributes.get("type", "").lower() in ("", "text", "search"))
    return any(all(each.name not in _SURROUNDING_ELEMENTS for each in node.ancestors()) for node in fields)


def _has_consent_button(tree: Tree) -> bool:
    buttons = (*tree.by_name.get("button", ()), *tree.by_name.get("input", ()), *tree.by_name.get("a", ()))[:1_000]
    pressed = (node for node in buttons if node.name != "a" or node.attributes.get("role") == "button")
    return any(_AGREEMENT.search(f"{node.text()[:200]} {node.attributes.get('value', '')}"[:400]) for node in pressed)


def _has_empty_root(tree: Tree) -> bool:
    """Whether an element that programs build their page in stands empty, or says that they are at it."""
    roots = (node for node in tree.all("div") if node.attributes.get("id", "").lower() in _ROOT_IDS)
    texts = (node.text().strip()[:_MAX_SHELL_CHARS] for node in (*roots, *tree.all("app-root", "main")))
    return any(not text or _WAITING_TEXT.fullmatch(text) for text in texts)


def _quote(text: str) -> str:
    return f"«{' '.join(text.split())[:80]}»"
