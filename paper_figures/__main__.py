"""Make the figures: `python -m paper_figures` makes all of them, `python -m paper_figures fig2 fig10` some."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from paper_figures.drawing import index


def main(argv: Sequence[str] | None = None) -> int:
    """Run the scripts of these figures, and write the index; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m paper_figures", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"a figure: {', '.join(index.SCRIPTS)} (default: all)")
    names = parser.parse_args(argv).names
    unknown = [name for name in names if name not in index.SCRIPTS]
    if unknown:
        parser.error(f"unknown figure {', '.join(unknown)}; known: {', '.join(index.SCRIPTS)}")
    for name in names or index.SCRIPTS:
        index.SCRIPTS[name].main()
    index.main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
