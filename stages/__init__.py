"""The paper's reverse AD, stage by stage, executable.

Smeding and Vákár, "Efficient dual-numbers reverse AD via well-known program transformations", POPL 2023. Every stage is
a module with `vjp(f, *primals) -> (y, pullback)`, and differs from the one before in what the paper changes there.

    STAGES              the ten stages by name, in the paper's order
    count, trace        what a stage does: exact counts, and the calls of backpropagators in their order
    fork                two parts of a program, of which `parallel` runs the reverse passes beside each other
    sharing             which backpropagators refer to which (Fig. 10)
    compare             all stages on a function of yours: a table, in a notebook with drawings; a page
    python -m stages    compares them, step by step

>>> y, pullback = STAGES["staged"].vjp(lambda x, y: x * (x + y), 3.0, 2.0)
>>> y, pullback(1.0)
(15.0, (8.0, 3.0))
"""

from stages.comparison.api import Compared, compare
from stages.comparison.counting import count, trace
from stages.comparison.counts import Counts, LimitReached
from stages.comparison.sharing import Shared, sharing
from stages.fork_join.forks import fork
from stages.order import STAGES

__all__ = ["STAGES", "Compared", "Counts", "LimitReached", "Shared", "compare", "count", "fork", "sharing", "trace"]
