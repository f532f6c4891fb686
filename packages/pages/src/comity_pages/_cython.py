"""Stands in for the `cython` module where Cython is not installed and the hot modules run interpreted."""

from typing import Any

compiled = False


def _unchanged(function: Any) -> Any:
    return function


def _decorator(*_args: Any, **_kwargs: Any) -> Any:
    return _unchanged


class _NoGil:
    """A decorator, and a block: `with cython.nogil`."""

    def __call__(self, function: Any) -> Any:
        return function

    def __enter__(self) -> None:
        """Release nothing: there is no lock to release."""

    def __exit__(self, *_: object) -> None:
        """Acquire nothing."""


nogil = _NoGil()
cfunc = ccall = cclass = inline = final = with_gil = _unchanged
returns = exceptval = boundscheck = wraparound = cdivision = initializedcheck = nonecheck = _decorator


def cast(_type: Any, value: Any, **_kwargs: Any) -> Any:
    return value


def declare(_type: Any = None, value: Any = None, **_kwargs: Any) -> Any:
    return value


def __getattr__(name: str) -> Any:  # C types named in declarations; annotations are never evaluated
    return _decorator if name == "locals" else object
