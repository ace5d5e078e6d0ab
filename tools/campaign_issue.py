"""Text of an issue about programs that failed in a campaign: python -m tools.campaign_issue failures --to issue.md

The command prints the title, and writes the smallest program with all that is needed to run it again.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
from collections.abc import Sequence
from pathlib import Path

import dualrev as dr

__all__ = ["issue", "main"]


def issue(folder: Path) -> tuple[str, str]:
    """Return the title and the text of an issue about the failing programs in a folder, which is not empty."""
    programs = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))}
    name, program = min(programs.items(), key=lambda item: len(item[1].splitlines()))
    kind = program.partition("\n")[0].removeprefix("# ").partition(":")[0]
    report = io.StringIO()
    with contextlib.redirect_stdout(report):
        dr.report()
    listed = "\n".join(f"- {other}" for other in programs)
    text = f"""The campaign of random programs found programs whose derivatives disagree. The smallest one:

~~~python
{program.strip()}
~~~

Save it as `failures/{name}`, and run it again:

~~~sh
cd tests && ../.venv/bin/python -m fuzzing.campaign --replay ../failures/{name}
~~~

All failing programs are in the artifact `failures` of the run:

{listed}

~~~text
{report.getvalue().strip()}
~~~
"""
    return f"Random program fails: {kind}", text


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.campaign_issue", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the campaign has saved the failing programs")
    parser.add_argument("--to", type=Path, required=True, help="the file for the text")
    given = parser.parse_args(arguments)
    if not any(given.folder.glob("*.py")):
        parser.error(f"{given.folder} has no programs: run `make campaign FOR=600`, which saves those that fail")
    title, text = issue(given.folder)
    given.to.write_text(text, encoding="utf-8")
    print(title)
    return 0


if __name__ == "__main__":
    sys.exit(main())
