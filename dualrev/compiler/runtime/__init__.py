"""Runtime library of emitted code: small numba functions.

Emitted code has all of them from here, as `runtime.name`. The functions of the tape are in tape/memory.py.

Other rooms import arrays/copies, link, markers, objects/fields, recursion/stack_guard, tape/counts.
"""

import random as python_random  # where types are inferred, it is called so

from numba.typed import List  # where types are inferred, it is called so

from dualrev.compiler.runtime.arithmetic import floor_divide, power, range_length, remainder
from dualrev.compiler.runtime.arrays.allocate import (
    along,
    along_both,
    check_apart,
    check_new,
    clear_unless,
    common_shape,
    divide,
    empty,
    empty_like,
    known,
    known_zeros_like,
    scaled,
    zeros,
    zeros_like,
)
from dualrev.compiler.runtime.arrays.broadcast import spread, spread_evenly
from dualrev.compiler.runtime.arrays.complex_arrays import complex_array, conjugate
from dualrev.compiler.runtime.arrays.copies import check_spread, copy, store, strided_copy, strided_zeros
from dualrev.compiler.runtime.arrays.element_overlap import races
from dualrev.compiler.runtime.arrays.freed_pages import keep_freed_pages
from dualrev.compiler.runtime.arrays.stack_arrays import block_in, few_zeros, frame, zeros_in
from dualrev.compiler.runtime.arrays.with_shadow import empty_with_shadow
from dualrev.compiler.runtime.forward_mode import new_tangent, strided_tangent, tangent
from dualrev.compiler.runtime.jacobian_blocks import (
    block,
    clear,
    put_column,
    put_direction,
    put_few,
    put_number,
    put_row,
    shaped_1,
    shaped_1_single,
    shaped_2,
    shaped_2_single,
    shaped_few_1,
    shaped_few_2,
)
from dualrev.compiler.runtime.linalg.dot import dot
from dualrev.compiler.runtime.linalg.dot_vjp import (
    dot_left_11,
    dot_left_11_apart,
    dot_left_12,
    dot_left_12_apart,
    dot_left_21,
    dot_left_21_apart,
    dot_left_22,
    dot_left_22_apart,
    dot_right_11,
    dot_right_11_apart,
    dot_right_12,
    dot_right_12_apart,
    dot_right_21,
    dot_right_21_apart,
    dot_right_22,
    dot_right_22_apart,
)
from dualrev.compiler.runtime.markers import barrier, double, in_order, in_rows, stopped
from dualrev.compiler.runtime.objects.fields import fields, mirrored, row, tangents, to_return
from dualrev.compiler.runtime.objects.list_helpers import (
    as_list,
    count_in,
    elements,
    place_in,
    place_of,
    places_in,
    sorting_order,
    unique_places,
    windows,
)
from dualrev.compiler.runtime.objects.listed import listed
from dualrev.compiler.runtime.recursion.by_reference import borrow, lend
from dualrev.compiler.runtime.recursion.stack_guard import need_stack
from dualrev.compiler.runtime.shadows import add_cotangent, add_to, contribute, is_extreme, share, unmark
from dualrev.compiler.runtime.tape.bits import bits, whole
from dualrev.compiler.runtime.tape.counts import count_array, count_taken, count_words
from dualrev.compiler.runtime.tape.memory import (
    attempt,
    close,
    column,
    flags,
    grow,
    hold,
    keep,
    kept,
    new_tape,
    unless_failed,
    words,
)
from dualrev.compiler.runtime.tape.sizes import falling, rising, room, rounds
from dualrev.compiler.runtime.threads import (
    add_parts,
    bound,
    chunks,
    first_failed,
    in_threads,
    may_overlap,
    natural,
    no_overlap,
    nothing_failed,
    overlap,
    private,
    raise_failed,
    released,
    span,
)
from dualrev.rules.library.special import digamma, polygamma

keep_freed_pages()
