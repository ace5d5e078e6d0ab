"""The comparison as one self-contained HTML page: `python -m stages --html OUT.html`, `stages.compare(...).to_html()`.

A reader steps through the stages at inputs, sizes and orders of calls of his choice. So the page has no recorded steps:
its script runs the eight stages on the programs' operations, which Python has recorded.

samples.py    which programs it shows, at which sizes
recording.py  a program as the list of its operations
rules.py      the table of primitives, for the script
script/       the stages in JavaScript, the stepper, and the reader's choices
words.py      what it says of each stage, and what there is to try
notation.py   the symbols of the calculus
code.py       a stage's code against its predecessor's
drawing.py    who calls whom
plots.py      how the work grows
data.py       what the script is given
build.py      puts all of it into template.html
relatives.py  the page of the neighbouring algorithms
"""

from stages.comparison.page.build import Shown, page, short, write
from stages.comparison.page.relatives import relatives_page, write_relatives
from stages.comparison.page.samples import DEFAULTS, Sample, of_sizes, sample

__all__ = [
    "DEFAULTS",
    "Sample",
    "Shown",
    "of_sizes",
    "page",
    "relatives_page",
    "sample",
    "short",
    "write",
    "write_relatives",
]
