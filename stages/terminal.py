"""What the commands print: UTF-8, wherever it goes."""

from __future__ import annotations

import io
import sys

__all__ = ["print_utf8"]


def print_utf8() -> None:
    """Let stdout and stderr take every character: on Windows, a file or a pipe has a small encoding by default."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8")
