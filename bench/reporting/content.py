"""The content of a report: sections of text, tables and pictures, computed from a run. Each suite that ran has one."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterable

from bench.measuring.laws import Law, Slope, expected_power, fit_law, fit_slope
from bench.measuring.runs import Measure, Run
from bench.peers import LIBRARIES, PROGRAMS
from bench.programs.families import CLAIMS, ENGINES, FAMILIES
from bench.programs.table1 import COLUMNS, ROWS
from bench.reporting.forks import fork_join
from bench.reporting.parts import Picture, Section, Table, microseconds, significant, times

REFERENCE = "compiled"  # whose times others are a multiple of
WIDEST = 1.0  # an interval of a law that still tells n from n^2


def sections(run: Run) -> list[Section]:
    """Return all sections: first those for users of a library, then those about the paper."""
    made: list[Callable[[Run], Section | None]] = [peers, compiled, memory, families, table1, fork_join, about]
    return [section for make in made if (section := make(run))]


# ---- the stages ------------------------------------------------------------------------------------------------------


def climbed(run: Run, family: str, engine: str) -> tuple[list[int], list[float]]:
    """Return sizes and seconds of an engine on a family."""
    measures = run.select("families", family=family, engine=engine)
    return [m.labels["n"] for m in measures], [m.seconds for m in measures]


def cut_off(run: Run, family: str, engine: str) -> int | None:
    """Return the size from which on an engine took too long; None if it never did."""
    return min((record["n"] for record in run.recorded("families", family=family, engine=engine)), default=None)


def families(run: Run) -> Section | None:
    """Return the section of the families: their plot, and the fitted laws."""
    if not run.select("families"):
        return None
    timed = {m.labels["engine"] for m in run.select("families")}
    left_out = [engine for engine in ENGINES if engine not in timed]
    section = Section(
        "families",
        "What each stage solves",
        [
            "The paper goes from backpropagators as closures to a tape in steps, and each step solves one problem. "
            "Each of these four programs has one of the problems and little else. The times are of value and gradient, "
            "at growing sizes, in every stage of `stages/` and on dualrev's own tape. `plain` is the program itself.",
            "A line ends where a call at the next size would take longer than the run allows. The column `fitted` has "
            "a law that is fitted to the larger half of the sizes, by least squares on the logarithm of the time, with "
            "its interval of 95% confidence; laws with an interval wider than 1 are not shown. The column `paper` has "
            "the paper's law, and the next one the power that a fit finds if times follow that law exactly at the same "
            "sizes: n log n looks like n to a power above one. If the fitted power is lower, cheaper work still takes "
            "most of the time at these sizes.",
        ],
        [Picture("families", "Time against size for every stage on four programs, both axes logarithmic.")],
    )
    if left_out:
        section.text.append(f"Not timed in this run, and left out: {', '.join(f'`{engine}`' for engine in left_out)}.")
    for family in FAMILIES.values():
        rows = [row for engine in ENGINES if (row := _law(run, family.name, engine))]
        if rows:
            caption = f"{family.name}: {family.problem} {family.solved}"
            heading = ["stage", "fitted", "paper", "its power here", "largest n", "us per n there", "cut off"]
            section.tables.append(Table(heading, rows, caption))
    return section


def _law(run: Run, family: str, engine: str) -> list[str] | None:
    sizes, seconds = climbed(run, family, engine)
    if not sizes:
        return None
    law = fit_law(sizes, seconds)
    claim = FAMILIES[family].claims.get(engine, "n")
    stop = cut_off(run, family, engine)
    fitted = "too few sizes" if law is None else str(law) if law.high - law.low <= WIDEST else "too noisy"
    return [
        engine,
        fitted,
        claim,
        _power(claim, law) if law else "",
        f"{sizes[-1]:,}",
        microseconds(seconds[-1] / sizes[-1]),
        f"at {stop:,}" if stop else "",
    ]


def _power(claim: str, law: Law) -> str:
    if claim == "2^n":
        return "2.00^n"
    return f"n^{expected_power(CLAIMS[claim], law.sizes):.2f}"


# ---- Table 1 ---------------------------------------------------------------------------------------------------------


def table1(run: Run) -> Section | None:
    """Return the section of the paper's Table 1, with our columns."""
    columns = table1_columns(run)
    if not columns:
        return None
    heading = ["us per n", "n counts", "paper (Haskell)", "ad (Haskell)", *columns]
    lines = []
    for row in ROWS.values():
        paper = [f"{x:.3g}" for x in row.paper] if row.paper else ["-", "-"]
        lines.append([row.title, row.unit, *paper, *(_slope(run, row.name, column) for column in columns)])
    return Section(
        "table1",
        "Table 1 of the paper",
        [
            "Time per unit of n, computed as the slope of time over n. The times are of value and gradient of the "
            "paper's functions, and of two after the authors' later artifact. "
            + " ".join(f"`{column}` {_COLUMNS[column]}" for column in columns)
            + " "
            "The two Haskell columns are copied from the paper, which used GHC 9.2.2 on another machine.",
            "scalar mult. and rotate_vec_by_quat are differentiated n times, as in the paper. So their times "
            "include the fixed cost of a dualrev call from Python, which is small in code with more than a few "
            "operations.",
        ],
        [Picture("table1", "Time against n for six functions, both axes logarithmic: all lines have slope one.")],
        [Table(heading, lines, left=(0, 1))],
        ["In brackets: half the width of the slope's 95% confidence interval, where it is above 2% of the slope."],
    )


#: What each column of Table 1 is, after its name.
_COLUMNS = {
    "plain": "are the functions themselves, in Python.",
    "lists": "is the algorithm that the paper measured (section 7 with 8.1 and 8.2), in Python.",
    "contrib": "is the paper's algorithm of section 8.2, with flat lists and a compiled loop.",
    "tape": "is the taping of section 8.3, which the paper did not measure.",
    "micrograd": "is a library of backpropagators as closures, in Python.",
    "dualrev": "is dualrev's own tape.",
    "njit": "are the functions in numba.",
    "compiled": "are dualrev's derivatives of numba functions.",
}


def table1_columns(run: Run) -> list[str]:
    """Return the columns of Table 1 that the run has times of."""
    timed = {m.labels["column"] for m in run.select("table1")}
    return [column for column in COLUMNS if column in timed]


def table1_slope(run: Run, row: str, column: str) -> Slope | None:
    """Return the slope of a column's times over n, for a row of Table 1; None without times of two sizes."""
    measures = run.select("table1", row=row, column=column)
    return fit_slope([m.labels["n"] for m in measures], [m.seconds for m in measures])


def _slope(run: Run, row: str, column: str) -> str:
    slope = table1_slope(run, row, column)
    if slope is None or slope.value <= 0.0:
        return "-"
    error = f" (±{significant(slope.error * 1e6, 2)})" if slope.error > 0.02 * slope.value else ""
    return microseconds(slope.value) + error


# ---- other libraries -------------------------------------------------------------------------------------------------


def best(run: Run, program: str, library: str) -> Measure | None:
    """Return the fastest version of a library; None if it has no times."""
    measures = [m for m in run.select("peers", program=program) if m.labels["version"].split(":")[0] == library]
    return min(measures, key=lambda m: m.seconds, default=None)


def peers(run: Run) -> Section | None:
    """Return the section of other libraries: one table of all, and one for every program with all versions."""
    programs = [p for p in PROGRAMS.values() if run.select("peers", program=p.name)]
    if not programs:
        return None
    missing = sorted(
        {LIBRARIES[r["version"].split(":")[0]].title for r in run.recorded("peers", absent="not installed")}
    )
    section = Section(
        "peers",
        "Compared with other libraries",
        [
            "The time of value and gradient of the same functions, each written as the users of a library would write "
            "it (`bench/peers/programs/` has a file for every function). All gradients agreed to nine digits before "
            "they were timed. The times exclude the first call, in which libraries compile or build; the tables of "
            "single programs below list it.",
        ],
        [
            Picture(
                "peers",
                "Time of value and gradient in each library, relative to dualrev's compiled derivative: a row for "
                "every program, a mark for every library, a logarithmic axis.",
            )
        ],
    )
    if missing:
        section.text.append(f"Not installed in this run, and left out: {', '.join(missing)}.")
    measured = [key for key in LIBRARIES if any(best(run, p.name, key) for p in programs)]
    measured.sort(key=lambda key: key != "compiled")  # first, where a narrow screen shows it; the others are beside it
    heading = ["us", *(LIBRARIES[key].title for key in measured)]
    rows = []
    for program in programs:
        size = run.select("peers", program=program.name)[0].labels["size"]
        name = f"{program.title} ({size:,} {program.unit})"
        rows.append([name, *(_peer(run, program.name, library) for library in measured)])
    section.tables.append(
        Table(
            heading,
            rows,
            "Microseconds for value and gradient. In brackets: the time relative to dualrev, compiled.",
        )
    )
    section.tables += [_versions(run, program.name) for program in programs]
    section.notes = [f"{LIBRARIES[key].title}: {LIBRARIES[key].note}." for key in measured if LIBRARIES[key].note]
    return section


def _peer(run: Run, program: str, library: str) -> str:
    measure, reference = best(run, program, library), best(run, program, REFERENCE)
    if measure is None:
        reasons = [r["absent"] for r in run.recorded("peers", program=program) if _library(r) == library]
        return reasons[0].partition(":")[0] if reasons else "-"
    if reference is None or library == REFERENCE:
        return microseconds(measure.seconds)
    return f"{microseconds(measure.seconds)} ({times(measure.seconds / reference.seconds)})"


def _library(record: dict[str, str]) -> str:
    return record["version"].partition(":")[0]


def _versions(run: Run, name: str) -> Table:
    """Return the table of all versions of a program: their times, or why they have none."""
    program, reference, rows = PROGRAMS[name], best(run, name, REFERENCE), []
    for version in program.versions:
        library = LIBRARIES[version.library]
        title = library.title + (f": {version.form}" if version.form else "")
        for m in run.select("peers", program=name, version=version.name):
            ratio = times(m.seconds / reference.seconds) if reference else ""
            first = f"{m.labels['first_call'] * 1e3:,.0f}" if library.gradient else ""
            rows.append([title, microseconds(m.seconds), ratio, first, version.note])
        for record in run.recorded("peers", program=name, version=version.name):
            if record["absent"] != "not installed":
                rows.append([title, "-", "", "", record["absent"]])
    heading = ["library", "us", "relative to compiled", "first call ms", "remarks"]
    return Table(heading, rows, f"{program.title}. {program.about}", left=(0, 4))


# ---- memory and the compiler -----------------------------------------------------------------------------------------


def memory(run: Run) -> Section | None:
    """Return the section of memory: bytes per operation of the tape and of compiled gradients."""
    records = list(run.recorded("memory"))
    if not records:
        return None
    rows = []
    for record in records:
        slope = bytes_per_unit(record)
        per_operation = slope / record["operations"]
        largest = max(record["bytes"]) / 2**20
        rows.append(
            [
                f"{PROGRAMS[record['program']].title}, {LIBRARIES[record['library']].title}",
                f"{record['operations']:.1f}",
                f"{slope:.1f}",
                f"{per_operation:.1f}",
                f"{largest:,.0f} at {max(record['sizes']):,}",
            ]
        )
    return Section(
        "memory",
        "Memory",
        [
            "The peak memory of a call of value and gradient, minus the memory that the process had before the call. "
            "Each size runs in a new process; bytes per step are the slope over the number of steps. The tape keeps a "
            "row for every operation; compiled code keeps only values that it overwrites and needs in the reverse "
            "pass.",
        ],
        [Picture("memory", "Peak memory against the number of steps, both axes logarithmic.")],
        [Table(["program", "operations per step", "bytes per step", "bytes per operation", "MB"], rows)],
    )


def bytes_per_unit(record: dict[str, list[int]]) -> float:
    """Return the slope of a memory record between its smallest and its largest size."""
    (first, low), *_, (last, high) = zip(record["sizes"], record["bytes"], strict=True)
    return (high - low) / (last - first)


def compiled(run: Run) -> Section | None:
    """Return the section of compiled gradients, relative to the numba functions themselves."""
    rows, ratios = [], []
    for name in dict.fromkeys(m.labels["program"] for m in run.select("compiled")):
        found = {m.labels["what"]: m.seconds for m in run.select("compiled", program=name)}
        if {"primal", "gradient"} <= found.keys():
            primal, adjoint = found["primal"], found.get("adjoint")
            ratios.append(found["gradient"] / primal)
            by_hand = [f"{adjoint / primal:.2f}", f"{found['gradient'] / adjoint:.2f}"] if adjoint else ["-", "-"]
            rows.append([name, microseconds(primal), f"{ratios[-1]:.2f}", *by_hand])
    if not rows:
        return None
    heading = ["program", "primal us", "gradient / primal", "handwritten adjoint / primal", "gradient / adjoint"]
    text = (
        "Time of value and gradient of numba functions (`bench/programs/compiled_programs.py`), divided by the time of "
        "the function itself (the primal) and by the time of a gradient written by hand in numba (the adjoint). "
        f"Median of gradient / primal: {statistics.median(ratios):.2f}."
    )
    picture = Picture("compiled", "Gradient / primal for every numba function, with the handwritten adjoint / primal.")
    return Section("compiled", "Compiled gradients", [text], [picture], [Table(heading, rows)])


def about(run: Run) -> Section:
    """Return the section about the machine and the rules of measuring."""
    rows = [[key, str(value)] for key, value in run.about.items() if key != "quick"]
    rows += [["commit", run.commit or "unknown"], ["date", run.date]]
    kind = "quick" if run.about.get("quick") else "full"
    return Section(
        "about",
        "How this was measured",
        [
            f"A {kind} run by pytest-benchmark. A time is the shortest of several repetitions, in one process and on "
            "one thread; Python's garbage collector runs before each benchmark and is off while the clock runs. A "
            "calibration loop is timed before and after each benchmark, so that two runs can be compared by ratios to "
            f"it (`make bench-compare`). In this run, its two times differ by {_unrest(run):.0%} in the median, and by "
            f"{_unrest(run, 0.9):.0%} or more in the worst tenth.",
        ],
        tables=[Table(["what", "value"], rows, left=(0, 1))],
    )


def _unrest(run: Run, share: float = 0.5) -> float:
    moved: Iterable[float] = (max(m.calibration) / min(m.calibration) - 1.0 for m in run.measures)
    ordered = sorted(itertools.chain(moved, [0.0]))
    return ordered[int(share * (len(ordered) - 1))]
