"""Make the figures: `python -m paper_figures` makes all, `python -m paper_figures fig2 fig10` some, and the index."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from paper_figures.drawing import index


def main(argv: Sequence[str] | None = None) -> int:
    """Run the scripts; 0."""
    parser = argparse.ArgumentParser(prog="python -m paper_figures", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(index.SCRIPTS)}; all by default")
    names = parser.parse_args(argv).names
    unknown = [name for name in names if name not in index.SCRIPTS]
    if unknown:
        parser.error(f"there is no figure {', '.join(unknown)}; there are {', '.join(index.SCRIPTS)}")
    for name in names or index.SCRIPTS:
        index.SCRIPTS[name].main()
    index.main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
