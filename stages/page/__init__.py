"""The comparison as one self-contained HTML page: `python -m stages --html OUT.html`, `stages.compare(...).to_html()`.

words.py      what it says of each stage, and of each step
code.py       a stage's code against its predecessor's
drawing.py    who calls whom
plots.py      how the work grows
build.py      puts them into template.html, with style.css and script.js, which shows the steps
"""

from stages.page.build import DEFAULTS, PRIMALS, SIZES, Shown, page, short, write

__all__ = ["DEFAULTS", "PRIMALS", "SIZES", "Shown", "page", "short", "write"]
