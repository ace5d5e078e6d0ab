"""The paper's reverse AD, stage by stage, executable.

Smeding and Vákár, "Efficient dual-numbers reverse AD via well-known program transformations", POPL 2023. Every stage is
a module with `vjp(f, *primals) -> (y, pullback)`, and differs from its predecessor only in what the paper changes.

    STAGES              the ten stages by name, in the paper's order
    count, trace        exact operation counts of a stage, and its calls of backpropagators in order
    fork                two independent parts of a program, whose reverse passes `parallel` runs in parallel
    sharing             which backpropagators refer to which (Fig. 10)
    compare             run all stages on your function: a table, drawings in a notebook, an HTML page
    python -m stages    compare them in the terminal, step by step
    python -m stages.exercises    check the exercises of the course docs/learn

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
