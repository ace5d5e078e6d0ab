"""Render sections as one HTML page without other files, and as Markdown."""

from __future__ import annotations

import base64
import re
from pathlib import Path

from bench.reporting.content import Section, Table

TEMPLATE = Path(__file__).parent / "page.html"
TITLE = "dualrev: benchmarks"


def html(sections: list[Section], pictures: dict[str, str]) -> str:
    """Render the page. `pictures` maps names to SVG texts, which become part of the page."""
    import jinja2
    from markupsafe import Markup, escape

    def inline(text: str) -> Markup:
        """Convert code between backticks to HTML."""
        return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))

    def source(name: str) -> str:
        """Return the picture as a data URL."""
        return "data:image/svg+xml;base64," + base64.b64encode(pictures[name].encode()).decode()

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["inline"] = inline
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(title=TITLE, sections=sections, source=source) + "\n"


def markdown(sections: list[Section]) -> str:
    """Render the page for GitHub, which links to the pictures as files."""
    lines = [f"# {TITLE}", ""]
    for section in sections:
        lines += [f"## {section.title}", ""]
        lines += _paragraphs(section.text)
        for picture in section.pictures:
            lines += [f"![{picture.alt}]({picture.name}.svg)", ""]
        for made in section.tables:
            lines += [*([made.caption, ""] if made.caption else []), *table(made), ""]
        lines += [*(f"- {note}" for note in section.notes), ""] if section.notes else []
    return "\n".join(lines).rstrip() + "\n"


def _paragraphs(paragraphs: list[str]) -> list[str]:
    return [line for paragraph in paragraphs for line in (paragraph, "")]


def table(made: Table) -> list[str]:
    """Return the lines of a table in Markdown."""
    rule = ["---" if k in made.left else "---:" for k in range(len(made.heading))]
    return [
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (made.heading, rule, *made.rows)
    ]
