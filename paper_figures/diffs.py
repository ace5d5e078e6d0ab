"""Fig. 3 as code: what each stage changes, as the difference between its file and the one before.

`python -m paper_figures.diffs` (or `make figures`) writes diffs/; a test fails when they are stale.
"""

from __future__ import annotations

import difflib
import itertools
from pathlib import Path

from stages import STAGES

FOLDER = Path(__file__).parent / "diffs"


def diffs() -> dict[str, str]:
    """The text of every difference by file name, in the stages' order."""
    made = {}
    for (before, old), (after, new) in itertools.pairwise(STAGES.items()):
        old_file, new_file = Path(str(old.__file__)), Path(str(new.__file__))
        lines = difflib.unified_diff(
            old_file.read_text(encoding="utf-8").splitlines(keepends=True),
            new_file.read_text(encoding="utf-8").splitlines(keepends=True),
            f"stages/{old_file.name}",
            f"stages/{new_file.name}",
        )
        made[f"{before}-{after}.diff"] = "".join(lines)
    return made


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in diffs().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"paper_figures/diffs/{name}: {len(text.splitlines())} lines")


if __name__ == "__main__":
    main()
