import re
from dataclasses import dataclass
from comity.errors import InvalidSetting
from urllib.parse import urlsplit
@dataclass
class Dialect:
    name: str
def dialect(n):
    if n not in ("rfc9309","google"): raise InvalidSetting(f"dialect: {n!r} is not one of rfc9309, google")
    return Dialect(n)
@dataclass
class Rule:
    line: int; allow: bool; pattern: str; text: str
@dataclass
class Group:
    agents: tuple; rules: list; delay: float|None=None
@dataclass
class Match:
    allowed: bool; rule: object; group: object; path: str; why: str; beaten: tuple=()
class Robots:
    def __init__(s, body, dialect):
        s.parsable = False; s.sitemaps=(); s.groups=[]; g=None; open_=False
        if not body.strip(): s.parsable=True
        for n,l in enumerate(body.decode("utf8","replace").splitlines(),1):
            t=l.strip(); k,_,v=l.partition("#")[0].partition(":"); k=k.strip().lower(); v=v.strip()
            if k=="user-agent":
                if not open_: g=Group((),[]); s.groups.append(g)
                g.agents+=(v.lower(),); open_=True; s.parsable=True
            elif k in("allow","disallow"):
                s.parsable=True; open_=False
                if g: g.rules.append(Rule(n,k=="allow",v,l.partition("#")[0].strip()))
            elif k=="crawl-delay" and g:
                try: g.delay=float(v)
                except ValueError: pass
            elif k=="sitemap": s.sitemaps+=(v,); s.parsable=True
    def _groups(s,a):
        a=a.split("/")[0].lower()
        return [g for g in s.groups if a in g.agents] or [g for g in s.groups if "*" in g.agents]
    def crawl_delay(s,a):
        return max((g.delay for g in s._groups(a) if g.delay is not None),default=None)
    def explain(s,url,a):
        u=urlsplit(url); p=u.path+("?"+u.query if u.query else "")
        ms=[(len(r.pattern),r.allow,r,g) for g in s._groups(a) for r in g.rules if r.pattern and re.match(re.escape(r.pattern).replace(r"\*",".*").replace(r"\$","$"),p)]
        if not ms: return Match(True,None,None,p,"no rule matches")
        ms.sort(key=lambda m:m[:2],reverse=True); _,al,r,g=ms[0]
        return Match(al,r,g,p,f"line {r.line}: {r.text}",tuple((m[2],"shorter") for m in ms[1:]))
def parse(b,d="rfc9309"): return Robots(b,d)
