"""What the command lines of the examples have in common: checks before anything is computed."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

__all__ = ["at_least", "needs", "picture", "positive"]


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


def picture(text: str) -> str:
    """What argparse reads the name of a picture with: its folder has to be there."""
    if not Path(text).parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {str(Path(text).parent)!r}")
    return text


def needs(parser: argparse.ArgumentParser, package: str, instead: str) -> None:
    """End the program if a package is not there that has the data, and say what to do."""
    if find_spec(package) is None:
        parser.error(f"{package}, which has the data, is not installed: pip install '.[examples]', or take {instead}")
