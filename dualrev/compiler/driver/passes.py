"""Passes of the compiler, in order: its table of contents.

A numba function is read, lowered and optimised once for the types of its arguments, and so is each function that it
calls. A derivative runs the passes of its mode over it, and over each call, once for all that is known of the call.
Those of LOOPS run over each loop of a reverse sweep. At last, what has been made becomes text.

    python -m dualrev.compiler.driver            prints the list

ir/pass_manager.py says what a pass is, and how one is left out, printed after, verified and timed.
"""

from __future__ import annotations

from dualrev.compiler.ad import vector_mode
from dualrev.compiler.ad.forward import forward_driver as forward
from dualrev.compiler.ad.reverse import sweeps
from dualrev.compiler.codegen import module_text
from dualrev.compiler.driver import reading
from dualrev.compiler.ir.pass_manager import Pass
from dualrev.compiler.optimize.loop_direction import choose_direction
from dualrev.compiler.optimize.loop_fission import split_loop
from dualrev.compiler.optimize.promote_accumulators import promote_accumulators
from dualrev.compiler.optimize.scalar_replacement import replace_by_scalars
from dualrev.compiler.optimize.sink_stores import sink_stores

__all__ = [
    "DIRECTIONS",
    "EMIT",
    "FORWARD",
    "FUSED_LOOPS",
    "LINK",
    "LISTS",
    "LOOPS",
    "LOWER",
    "OPTIMISE",
    "PASSES",
    "READ",
    "REVERSE",
]

#: syntax tree -> ANF with types.
READ = (
    Pass(
        "prune-branches",
        "drop branches that the types of arguments decide",
        "frontend/reading/prune_branches.py",
        reading.prune_branches,
        ensures=("source",),
    ),
    Pass(
        "desugar",
        "say the syntax tree with few kinds of statements: closures, generators, match, comprehensions",
        "frontend/desugar/rewriter.py",
        reading.desugar,
        requires=("source",),
        ensures=("desugared",),
    ),
    Pass(
        "lower-to-anf",
        "name each intermediate value (A-normal form); jumps become flags",
        "frontend/lowering/to_anf.py",
        reading.lower_to_anf,
        requires=("desugared",),
        ensures=("anf",),
    ),
    Pass(
        "drop-dead-flags",
        "dead code elimination: flags that nothing reads",
        "frontend/lowering/dead_flags.py",
        reading.drop_dead_flags,
        requires=("anf",),
    ),
    Pass(
        "infer-types",
        "numba's type inference; a name of several types is split (web splitting)",
        "frontend/typing/infer.py",
        reading.infer_types,
        requires=("anf",),
        ensures=("types",),
    ),
)

#: ANF -> ANF of scalars -> core.
LOWER = (
    Pass(
        "fold-dtypes",
        "constant folding: dtypes, which numba's types tell",
        "frontend/typing/dtype_constants.py",
        reading.fold_dtype_constants,
        requires=("types",),
    ),
    Pass(
        "write-truth-values",
        "the truth of a value in a condition becomes a bool",
        "frontend/typing/write_truth.py",
        reading.write_truth_values,
        requires=("types",),
        ensures=("conditions",),
    ),
    Pass(
        "remove-optionals",
        "a variable that may be None becomes a value and a flag",
        "frontend/typing/optional.py",
        reading.remove_optionals,
        requires=("types",),
        ensures=("no optionals",),
    ),
    Pass(
        "remove-unreachable",
        "dead code elimination: statements that numba never types",
        "frontend/typing/unreachable.py",
        reading.remove_unreachable,
        requires=("types",),
    ),
    Pass(
        "index-iterated",
        "a loop over what has no index goes over a list of it",
        "scalarize/opaque/opaque_statements.py",
        reading.index_iterated,
        requires=("types",),
    ),
    Pass(
        "fold-limits",
        "constant folding: np.finfo and np.iinfo",
        "scalarize/numpy/finfo.py",
        reading.fold_limits,
        requires=("types",),
    ),
    Pass(
        "split-dicts",
        "a dict of floats becomes a dict of indices and a list of values",
        "scalarize/lists/dicts.py",
        reading.split_dicts,
        requires=("types",),
        ensures=("no dicts of floats",),
    ),
    Pass(
        "lists-to-tuples",
        "a list of known length becomes a tuple",
        "scalarize/lists/to_tuples.py",
        reading.lists_to_tuples,
        requires=("no dicts of floats",),
    ),
    Pass(
        "containers-to-heap",
        "a container of arrays or lists becomes one of handles, with a heap for its items",
        "scalarize/lists/handles.py",
        reading.containers_to_heap,
        requires=("no dicts of floats",),
    ),
    Pass(
        "split-lists-of-tuples",
        "a list of tuples becomes a tuple of lists (struct of arrays)",
        "scalarize/lists/struct_of_lists.py",
        reading.split_lists_of_tuples,
        requires=("no dicts of floats",),
    ),
    Pass(
        "lists-to-arrays",
        "a list of numbers becomes an array with a length",
        "scalarize/lists/legalize.py",
        reading.lists_to_arrays,
        requires=("no dicts of floats",),
        ensures=("no lists",),
    ),
    Pass(
        "scalarize",
        "whole-array operations, tuples, records, complex numbers become scalars, elements and loops",
        "scalarize/lower.py",
        reading.scalarize,
        requires=(
            "conditions",
            "no optionals",
            "no lists",
        ),
        ensures=("scalars",),
    ),
    Pass(
        "to-core",
        "translate to core, whose variables are objects with types; reject ill-formed programs",
        "ir/anf_to_core.py",
        reading.to_core,
        requires=("scalars",),
        ensures=("core",),
    ),
)

#: core -> core, before it is differentiated.
OPTIMISE = (
    Pass(
        "recognise-accumulation",
        "a sum that replaces what it adds to becomes an accumulation",
        "optimize/recognize_accumulation.py",
        reading.recognise_accumulation,
        requires=("core",),
        optional=True,
    ),
    Pass(
        "fold-constants",
        "constant folding, and branches that it decides",
        "optimize/constant_folding.py",
        reading.fold_constants,
        requires=("core",),
    ),
    Pass(
        "set-initial-values",
        "definite assignment: what a loop may read before it is assigned gets a value",
        "optimize/initial_values.py",
        reading.set_initial_values,
        requires=("core",),
        ensures=("assigned",),
    ),
    Pass(
        "outline-parallel-loops",
        "a loop over prange becomes a function",
        "parallel/outline.py",
        reading.outline_parallel_loops,
        requires=("assigned",),
        ensures=("outlined",),
    ),
    Pass(
        "inline-small-functions",
        "inline small functions",
        "optimize/inline.py",
        reading.inline_small_functions,
        requires=("outlined",),
        optional=True,
    ),
    Pass(
        "fold-inlined-constants",
        "constant folding once more, with the arguments of inlined functions",
        "optimize/constant_folding.py",
        reading.fold_constants,
        requires=("core",),
    ),
)

#: core -> core with tangents. Common subexpressions stay: four programs took 0.92 to 1.00 of the time without them
#: (`python -m bench.passes --elsewhere`), which is what these measurements differ by; LLVM finds most of them.
FORWARD = (
    Pass(
        "add-tangents",
        "forward mode (JVP): a tangent beside each active value",
        "ad/forward/jvp_rules.py",
        forward.add_tangents,
        requires=("core",),
        ensures=("tangents",),
    ),
    Pass(
        "eliminate-dead-code",
        "dead code elimination: what only the value needs, if the tangent alone is asked for",
        "optimize/dead_code.py",
        forward.eliminate_dead_code,
        requires=("tangents",),
        optional=True,
    ),
    Pass(
        "keep-known-zeros",
        "find the products whose factors may be marked as known zeros",
        "analysis/values/infinite_partials.py",
        forward.keep_known_zeros,
        requires=("tangents",),
    ),
)

#: core with tangents, or both sweeps of it -> the same for several directions.
DIRECTIONS = (
    Pass(
        "vectorise-directions",
        "vector mode: what depends on a direction once for each of two to four",
        "ad/vector_mode.py",
        vector_mode.vectorise_directions,
        requires=("tangents",),
        optional=True,
    ),
    Pass(
        "replace-short-arrays",
        "scalar replacement of aggregates: new arrays of a few elements (of Jacobians)",
        "optimize/sroa_arrays.py",
        vector_mode.replace_short_arrays,
        requires=("tangents",),
        optional=True,
    ),
)

#: core -> both sweeps. Sweeps are fused in gradients, where the cotangent of the result is a constant; in a pullback it
#: comes with the reverse sweep, when the value is there. Zeroing is not elided in products with Hessians, of whose own
#: arrays alone it could be: four programs took 0.95 to 1.00 of the time (`python -m bench.passes --elsewhere`).
REVERSE = (
    Pass(
        "eliminate-common-subexpressions",
        "common subexpression elimination, loads included",
        "optimize/cse.py",
        sweeps.eliminate_common_subexpressions,
        requires=("core",),
        optional=True,
    ),
    Pass(
        "analyse",
        "alias classes, activity, SSA, may-be-infinite and may-be-zero analyses",
        "ad/reverse/gradient_context.py",
        sweeps.analyse,
        requires=("core",),
        ensures=("facts",),
    ),
    Pass(
        "fuse-sweeps",
        "loop fusion: both sweeps of a loop whose sums have known cotangents",
        "ad/reverse/fuse_sweeps.py, parallel/fuse.py",
        sweeps.fuse_sweeps,
        requires=("facts",),
        optional=True,
    ),
    Pass(
        "make-adjoint",
        "the adjoint, over SSA values",
        "ad/reverse/adjoint.py",
        sweeps.make_adjoint,
        requires=("facts",),
        ensures=("adjoint",),
    ),
    Pass(
        "plan-tape",
        "to-be-recorded analysis: a minimal cut between taped and recomputed values",
        "ad/tape_plan/mincut_plan.py",
        sweeps.plan_tape,
        requires=("adjoint",),
        ensures=("tape plan",),
    ),
    Pass(
        "skip-restoring",
        "calls need not restore arrays that nobody reads again (the plan once more)",
        "ad/reverse/sweeps.py",
        sweeps.skip_restoring,
        requires=("tape plan",),
        optional=True,
    ),
    Pass(
        "make-forward-sweep",
        "the augmented primal: the function, with pushes and shadows",
        "ad/reverse/forward_sweep.py",
        sweeps.make_forward_sweep,
        requires=("tape plan",),
        ensures=("forward sweep",),
    ),
    Pass(
        "make-reverse-sweep",
        "the reverse sweep, with pops and recomputation; its loops run the passes below",
        "ad/reverse/reverse_sweep.py",
        sweeps.make_reverse_sweep,
        requires=("forward sweep",),
        ensures=("reverse sweep",),
    ),
    Pass(
        "elide-rezeroing",
        "dead store elimination: zeros in a shadow that the next iteration overwrites",
        "optimize/elide_rezeroing.py",
        sweeps.elide_rezeroing,
        requires=("reverse sweep",),
        optional=True,
    ),
    Pass(
        "elide-zeroing",
        "dead store elimination: the first addition to a shadow that is zero becomes a store",
        "optimize/elide_zeroing.py",
        sweeps.elide_zeroing,
        requires=("reverse sweep",),
        optional=True,
    ),
)

#: a loop of a reverse sweep -> statements.
LOOPS = (
    Pass(
        "choose-direction",
        "run a loop upwards whose iterations may come in any order, else downwards",
        "optimize/loop_direction.py",
        choose_direction,
    ),
    Pass(
        "split-loop",
        "loop fission: a loop for each overlapping contribution of a stencil",
        "optimize/loop_fission.py",
        split_loop,
        optional=True,
    ),
    Pass(
        "sink-stores",
        "store sinking: stores into shadows go below later loads",
        "optimize/sink_stores.py",
        sink_stores,
        optional=True,
    ),
    Pass(
        "replace-by-scalars",
        "scalar replacement of array elements that the next iteration reads",
        "optimize/scalar_replacement.py",
        replace_by_scalars,
        optional=True,
    ),
    Pass(
        "promote-accumulators",
        "register promotion of an element that each iteration adds to",
        "optimize/promote_accumulators.py",
        promote_accumulators,
        optional=True,
    ),
)

#: A loop of both sweeps -> statements.
FUSED_LOOPS = (LOOPS[-1],)

#: core -> text, a function.
EMIT = (
    Pass(
        "find-index-ranges",
        "value range analysis: indices and counters that are not negative",
        "analysis/values/index_ranges.py",
        module_text.find_index_ranges,
        requires=("core",),
        optional=True,
    ),
    Pass(
        "emit",
        "a line of Python for numba for each statement",
        "codegen/statements.py",
        module_text.emit,
        requires=("core",),
        ensures=("text",),
    ),
)

#: text -> text, the module.
LINK = (
    Pass(
        "fold-temporaries",
        "forward substitution: a temporary that one line reads",
        "codegen/fold_temporaries.py",
        module_text.fold_temporaries,
        requires=("text",),
        optional=True,
    ),
    Pass(
        "merge-functions",
        "merge identical functions",
        "codegen/module_text.py",
        module_text.merge_functions,
        requires=("text",),
        optional=True,
    ),
    Pass(
        "choose-inlining",
        "have LLVM inline functions within a budget of code growth",
        "codegen/inline_hints.py",
        module_text.choose_inlining,
        requires=("text",),
        optional=True,
    ),
)

#: The lists, by the names under which the driver has them run.
LISTS = {
    "read": READ,
    "lower": LOWER,
    "optimise": OPTIMISE,
    "forward": FORWARD,
    "directions": DIRECTIONS,
    "reverse": REVERSE,
    "loops": LOOPS,
    "fused loops": FUSED_LOOPS,
    "emit": EMIT,
    "link": LINK,
}

PASSES = (*READ, *LOWER, *OPTIMISE, *FORWARD, *DIRECTIONS, *REVERSE, *LOOPS, *EMIT, *LINK)
