"""The report of a saved run: `python -m bench.reporting RUN.json --to FOLDER`.

content     the sections: texts, tables and pictures, computed from the run
plots       the pictures, as SVG
render      the sections as one HTML page without other files, and as Markdown
"""

from bench.reporting.content import Section, Table, sections
from bench.reporting.render import html, markdown

__all__ = ["Section", "Table", "html", "markdown", "sections"]
