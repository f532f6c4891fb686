"""Stands in for the `cython` module where Cython is not installed and the hot modules run interpreted."""

from typing import Any

compiled = False


def _unchanged(function: Any) -> Any:
    return function


def _decorator(*_args: Any, **_kwargs: Any) -> Any:
    return _unchanged


cfunc = ccall = cclass = inline = final = nogil = with_gil = _unchanged
returns = exceptval = boundscheck = wraparound = cdivision = initializedcheck = nonecheck = _decorator


def cast(_type: Any, value: Any, **_kwargs: Any) -> Any:
    return value


def declare(_type: Any = None, value: Any = None, **_kwargs: Any) -> Any:
    return value


def __getattr__(name: str) -> Any:  # C types named in declarations; annotations are never evaluated
    return _decorator if name == "locals" else object
