from dataclasses import dataclass


@dataclass
class M:
    nofollow: bool


def read(headers, metas, *, agent, now):
    return M(any("nofollow" in h for h in headers) or any("nofollow" in c for n, c in metas if n == "robots"))
