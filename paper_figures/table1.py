"""Table 1: time per unit of n for the paper's four functions, compared with ours; and ratios to taping libraries.

The paper's table (section 10) gives for four functions the time of the authors' implementation in Haskell ("TH":
section 7 with 8.1 and 8.2), of Kmett's library `ad` 4.5, a tape in Haskell, and the ratio, 0.27 to 1.50: the algorithm
has reasonable constants, compared with a tuned library in the same language.

Ours comes from the published run of the benchmarks, bench/published/run.json (`make bench`, `make bench-publish`). Its
table has the paper's columns. In place of the ratio to `ad`, it has the ratios to Python libraries that tape scalars:
those of dualrev's tape, and that of `lists`, the paper's algorithm, to micrograd, if both ran on the paper's programs.
"""

from __future__ import annotations

from bench.measuring.runs import Run, load
from bench.peers import LIBRARIES
from bench.peers import PROGRAMS as PEERS
from bench.programs.table1 import ROWS
from bench.reporting import content
from bench.reporting.render import table as bench_table
from paper_figures.drawing.figure import FOLDER, Figure, table, write

RUN = FOLDER.parent / "bench" / "published" / "run.json"

#: The paper's table, microseconds per unit of n: TH, ad, and their ratio as printed.
PAPER = {
    "scalar_mult": ("0.146", "0.536", "0.27"),
    "dot": ("2.210", "2.070", "1.10"),
    "sum_mat_vec": ("2.050", "1.320", "1.50"),
    "rotate": ("8.770", "6.130", "1.43"),
}
TAPING = ("autograd", "micrograd")  # libraries that record operations on scalars in Python
COUNTERPARTS = {"dot": "dot_loop", "sum_mat_vec": "matvec_loop", "rotate": "rotate"}  # in the comparison with libraries


def published() -> Run:
    """The published run of the benchmarks."""
    return load(RUN)


def in_one_language(run: Run) -> dict[str, float]:
    """function -> the time of the stage `lists` divided by micrograd's, for the functions that the run has both of."""
    found: dict[str, float] = {}
    for name in PAPER:
        ours, theirs = (content.table1_slope(run, name, column) for column in ("lists", "micrograd"))
        if ours and theirs:
            found[name] = ours.value / theirs.value
    return found


def ratios(run: Run) -> dict[str, dict[str, float]]:
    """function -> library -> dualrev's tape time divided by the library's, for the pairs that the run has."""
    found: dict[str, dict[str, float]] = {}
    for name, program in COUNTERPARTS.items():
        ours = content.best(run, program, "dualrev")
        for library in TAPING:
            theirs = content.best(run, program, library)
            if ours and theirs:
                found.setdefault(name, {})[library] = ours.seconds / theirs.seconds
    return found


def figure(run: Run | None = None) -> Figure:
    """The page: both tables; by default of the published run. ValueError for a run without Table 1."""
    run = run or published()
    section = content.table1(run)
    if section is None:
        raise ValueError("the run has no times of Table 1")
    found, lists = ratios(run), in_one_language(run)
    body = ["\n\n".join(section.text), "\n".join(bench_table(section.tables[0]))]
    body += [f"{note}" for note in section.notes]
    rows = []
    for name, (th, ad, ratio) in PAPER.items():
        ours = [content.significant(found[name][k], 2) if k in found.get(name, {}) else "-" for k in TAPING]
        algorithm = [content.significant(lists[name], 2) if name in lists else "-"] if lists else []
        rows.append([ROWS[name].title, th, ad, ratio, *algorithm, *ours])
    titles = ["lists / micrograd"] * bool(lists) + [f"dualrev / {LIBRARIES[library].title}" for library in TAPING]
    body += [
        "The paper's own table, with the ratio to `ad`, a library in the same language that also tapes operations on "
        "scalars; then "
        + "the ratio of `lists`, the same algorithm in Python, to micrograd, and "
        * bool(lists)
        + "the same ratio for dualrev's tape and Python libraries, for functions in the comparison with other "
        "libraries:",
        table(["", "TH us", "ad us", "TH / ad", *titles], rows, range(1, 4 + len(titles))),
    ]
    programs = ", ".join(f"*{PEERS[COUNTERPARTS[name]].title}*" for name in found)
    body += [f"In that comparison, they are called {programs}."] if found else []
    body += [
        "All libraries: [the report](../bench/published/report.md). Times over n: [the appendix's plots](scaling.md).",
        f"The run: {run.date}, commit {run.commit}, Python {run.about['Python']}, {run.about['processor']}.",
    ]
    return Figure(
        "table1",
        "Table 1",
        "time per unit of n",
        "the implementation's constants are in the right ballpark: it takes 0.27 to 1.50 times the time of `ad`.",
        _found(found),
        "\n\n".join(body),
    )


def _found(found: dict[str, dict[str, float]]) -> str:
    """The result in a sentence."""
    parts = []
    for library in TAPING:
        known = [ratio for ratios_ in found.values() for name, ratio in ratios_.items() if name == library]
        if known:
            low, high = (content.significant(x, 2) for x in (min(known), max(known)))
            parts.append(f"{low} to {high} times {LIBRARIES[library].title}'s")
    if not parts:
        return "the run has no times of other libraries."
    return f"dualrev's tape takes {' and '.join(parts)} time. Its absolute times are Python's, not Haskell's."


def main() -> None:
    """Write the page."""
    write(figure())


if __name__ == "__main__":
    main()
