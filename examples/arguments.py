"""Numbers on the command lines of the examples."""

from __future__ import annotations

import argparse
from collections.abc import Callable

__all__ = ["at_least", "positive"]


def at_least(least: int) -> Callable[[str], int]:
    """What argparse reads an int with that is `least` or more; anything else is an error that says so."""

    def count(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None
        if number < least:
            raise argparse.ArgumentTypeError(f"{number} is too small: take {least} or more")
        return number

    return count


positive = at_least(1)
