"""The functions of a file of answers."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

from stages.exercises.running import TooLong, explain, limited

__all__ = ["AnswersError", "load"]


class AnswersError(Exception):
    """A file of answers that cannot be read; the message is for the student."""


def load(path: str) -> dict[str, Any]:
    """Run a file of answers, and return its names. AnswersError for no such file, or an error while it runs."""
    if not Path(path).is_file():
        raise AnswersError(f"there is no file {path}. To write one: python -m stages.exercises CHAPTER > {path}")
    folder = str(Path(path).resolve().parent)
    sys.path.insert(0, folder)  # as `python FILE.py` does
    try:
        with limited():
            return runpy.run_path(path)
    except (Exception, TooLong, SystemExit) as error:
        where = "\n".join(f"  {label:5} {text}" for label, text in explain(error))
        raise AnswersError(f"{path} stopped while Python read it, before the check of any answer\n{where}") from error
    finally:
        sys.path.remove(folder)
