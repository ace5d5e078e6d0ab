"""Answer GradBench's messages until the input ends: `python -m bench.gradbench`.

With `--processor`, times are processor times, to which other work on the machine adds little.
"""

import sys
import time

from bench import use_one_thread

use_one_thread()  # before numpy: GradBench's times are those of one thread

from bench.gradbench.messages import serve  # noqa: E402

if __name__ == "__main__":
    answers, sys.stdout = sys.stdout, sys.stderr  # what anybody prints must not stand among the answers
    serve(sys.stdin, answers, time.process_time_ns if "--processor" in sys.argv[1:] else time.perf_counter_ns)
