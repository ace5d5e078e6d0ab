"""Command line that prints the list of passes: python -m dualrev.compiler.driver."""

from __future__ import annotations

from collections.abc import Iterator

from dualrev.compiler.driver.passes import LISTS, PASSES

__all__ = ["table"]


def table() -> Iterator[tuple[str, str, str, str]]:
    """Passes in order, each once: its list, its name, its title, and its file."""
    shown = set()
    for name, passes in LISTS.items():
        for p in passes:
            if p.name not in shown:
                shown.add(p.name)
                yield name, p.name, p.title, p.file


def main() -> None:
    """Print the list of passes; optional ones have a star."""
    before = ""
    optional = {p.name for p in PASSES if p.optional}
    for name, called, title, file in table():
        if name != before:
            print(f"{'' if not before else chr(10)}{name}")
            before = name
        print(f"  {called + ' *' * (called in optional):34} {title}\n  {'':34} {file}")
    print("\n* DUALREV_PASSES=-name leaves it out: the derivative is the same, only slower.")


if __name__ == "__main__":
    main()
