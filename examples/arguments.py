"""Checks of the examples' command lines, made before anything is computed."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

__all__ = ["at_least", "needs", "picture", "positive"]


def at_least(least: int) -> Callable[[str], int]:
    """Return an argparse type for ints of `least` or more."""

    def count(text: str) -> int:
        """Convert the text to an int, or raise argparse's error."""
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not an integer") from None
        if number < least:
            raise argparse.ArgumentTypeError(f"{number} is too small: take {least} or more")
        return number

    return count


positive = at_least(1)


def picture(text: str) -> str:
    """Argparse type for the file of a picture, whose folder must exist."""
    if not Path(text).parent.is_dir():
        raise argparse.ArgumentTypeError(f"the folder {str(Path(text).parent)!r} does not exist")
    return text


def needs(parser: argparse.ArgumentParser, package: str, instead: str) -> None:
    """Exit with an error and its cure if the package with the data is not installed."""
    if find_spec(package) is None:
        parser.error(
            f"{package}, which has the data, is not installed: run pip install '.[examples]', or use {instead}"
        )
