"""The report of a saved run: `python -m bench.reporting RUN.json --to FOLDER`.

content     what is said: sections of text, tables and pictures, each made from the run
plots       the pictures, as SVG
render      the sections as one HTML page that needs nothing else, and as Markdown
"""

from bench.reporting.content import Section, Table, sections
from bench.reporting.render import html, markdown

__all__ = ["Section", "Table", "html", "markdown", "sections"]
