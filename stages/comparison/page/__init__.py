"""The comparison as one self-contained HTML page: `python -m stages --html OUT.html`, `stages.compare(...).to_html()`.

A reader steps through the stages, and chooses inputs, sizes and the order of calls. So the page contains no recorded
steps: its script runs the stages on the programs' operations, which Python has recorded.

samples.py    the programs on the page, and their sizes
recording.py  a program as the list of its operations
rules.py      the table of primitives, for the script
script/       the stages in JavaScript, the stepper, and the reader's choices
words.py      its text about each stage, and things to try
notation.py   the symbols of the calculus
code.py       a stage's code against its predecessor's
drawing.py    the graph of backpropagators and their calls
plots.py      how the work grows
data.py       the script's data
build.py      puts all of it into template.html
relatives.py  the page of the related algorithms
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
