"""How Sphinx makes the site of the pages in this repository: `make docs`.

The source is the whole repository: pages link to each other, to figures and to files of code as they lie there.
"""

from __future__ import annotations

import re
from typing import Any

import dualrev

project = "dualrev"
author = "The dualrev authors"
copyright = author  # Sphinx's name
version = release = dualrev.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "paper_figures/*.md",
    "bench/published/report.md",
    "bench/gradbench/README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
]
exclude_patterns = ["docs/package.md", "site", "build", ".venv", ".*", "**/__pycache__"]
myst_heading_anchors = 4  # links to headings, as a repository's web page makes them
myst_enable_extensions = ["attrs_inline", "colon_fence"]

default_role = "code"  # docstrings mark code by single backquotes
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True

html_theme = "furo"
html_title = "dualrev"
html_static_path = ["site/static"]
html_css_files = ["site.css"]
html_extra_path = ["site/index.html"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"


def plain(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Write `*args`, |x| and `Real`s so that reStructuredText takes them as they are."""
    for k, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = line.split("`")  # what is between two of them is code
            parts[::2] = [part.replace("*", r"\*").replace("|", r"\|") for part in parts[::2]]
            lines[k] = re.sub(r"(`[^`]+`)(?=\w)", r"\1\\ ", "`".join(parts))


def without_last_lines(app: object, name: str, source: list[str]) -> None:
    """Leave out the blank line that ends the output of an example: doctest needs it, a reader does not."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")


def setup(app: Any) -> None:
    """Sphinx calls this."""
    app.connect("source-read", without_last_lines)
    app.connect("autodoc-process-docstring", plain)
