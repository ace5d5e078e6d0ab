"""Tracing of the user's bytecode, instruction by instruction (`sys.settrace`)."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from dualrev.diagnostics.user_lines import is_of_user

__all__ = ["each_user_instruction"]


@contextlib.contextmanager
def each_user_instruction(note: Callable[[FrameType], Any]) -> Iterator[None]:
    """Call note(frame) before every instruction of the user's functions that are called from here on.

    Code of installed packages and of this library is left out. What `note` raises ends the user's code.

    >>> def double(x):
    ...     return x + x
    >>> names = []
    >>> with each_user_instruction(lambda frame: names.append(frame.f_code.co_name)):
    ...     double(2.0)
    4.0
    >>> set(names), len(names) > 1
    ({'double'}, True)
    """

    def of_frame(frame: FrameType, event: str, _: Any) -> Any:
        """Trace the instructions of the user's functions."""
        made_for_a_class = frame.f_globals.get("__name__", "").startswith("namedtuple_")
        if made_for_a_class or not is_of_user(frame.f_code.co_filename):
            return None
        frame.f_trace = of_instruction  # Python 3.13 ignores f_trace_opcodes in frames without a trace function
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return of_instruction

    def of_instruction(frame: FrameType, event: str, _: Any) -> Any:
        """Note each instruction."""
        if event == "opcode":
            note(frame)
        return of_instruction

    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = True  # from Python 3.12 on, settrace looks here whether to report instructions
    sys.settrace(of_frame)
    try:
        yield
    finally:
        sys.settrace(before)
