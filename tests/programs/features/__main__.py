"""See programs.features."""

from __future__ import annotations

import sys
import tempfile
import traceback
from pathlib import Path

from programs.features import FEATURES
from programs.features.checking import RIGHT, outcomes
from programs.features.page import PAGE, printed


def main(words: list[str]) -> int:
    """0 if no derivative is wrong."""
    chosen = [f for f in FEATURES if not words or any(word in f"{f.heading}, {f.name}" for word in words)]
    found, wrong = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        for of in chosen:
            try:
                (found[of.heading, of.name],) = outcomes([of], Path(folder))
            except Exception:
                wrong += 1
                print(f"{of.heading}, {of.name}: WRONG\n{of.text()}{traceback.format_exc()}", flush=True)
                continue
            if words or found[of.heading, of.name] != RIGHT:
                print(f"{of.heading}, {of.name}: {found[of.heading, of.name]}", flush=True)
    if not words and not wrong:
        PAGE.write_text(printed(found), encoding="utf-8")
    print(f"{len(chosen)} features, {list(found.values()).count(RIGHT)} right, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
