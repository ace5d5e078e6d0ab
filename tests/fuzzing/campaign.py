"""Random programs: the compiled gradient, the eager tape and differences agree. From the folder tests:

python -m fuzzing.campaign --programs 2000              run so many programs, in processes of 50 each
python -m fuzzing.campaign --seconds 600 --jobs 2       ... or for so long
python -m fuzzing.campaign --variants special,raise     with special values, and with errors in the middle, only
python -m fuzzing.campaign --order 2                    second derivatives (3: third ones)
python -m fuzzing.campaign --generator idioms           programs made of idioms.py, not of the grammar of generator.py
python -m fuzzing.campaign --generator parallel         programs with loops over prange (parallel.py)
python -m fuzzing.campaign --generator carried          programs with names that a branch binds first (carried.py)
python -m fuzzing.campaign --replay failures/0-17.py    run one that was saved

Programs take turns at the variants of variants.py. A failing one is saved with its variant, its arguments and with what
disagreed, and once more after statements that do not matter have been left out. `--eager` checks the generator alone:
no gradient is compiled.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import math
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from programs.generators.generator import Program

import dualrev as dr
from fuzzing.reducing import read, reduce, save
from fuzzing.running import Discarded, Failed
from fuzzing.variants import GENERATORS, VARIANTS, check, numbered, of_order

__all__ = ["campaign", "main", "summary"]

SECONDS = 300  # of the processor for one program, after which it counts as failed; on a busy machine these are long
PATIENCE = 10  # ... and so many times that by the clock, for a program that waits for ever


def _fails_as(kind: str, options: argparse.Namespace) -> Callable[[Program], bool]:
    def fails(of: Program) -> bool:
        try:
            check(of, None if options.eager else dr.value_and_grad)
        except Failed as error:
            return error.kind == kind
        except Exception:
            return False
        return False

    return fails


# Many programs


def _run(of: Program, options: argparse.Namespace) -> tuple[str, str]:
    """Run a program; return its status and the reason."""
    value_and_grad = None if options.eager else dr.value_and_grad
    try:
        check(of, value_and_grad)
    except Discarded as why:
        return f"discarded: {why}", ""
    except dr.errors.UnsupportedError as why:
        return "refused", str(why)
    except Failed as why:
        return "failed", str(why)
    return "agreed", ""


def _shard(options: argparse.Namespace) -> None:
    """In a process of its own: programs one after another, a line of JSON before and after each."""
    kinds: Counter[str] = Counter()
    for number in range(options.first, options.first + options.programs):
        if time.time() > options.until:
            return
        _limit(SECONDS + options.reduce)
        name = f"{options.seed}-{number}"
        print(json.dumps({"started": number}), flush=True)
        of = numbered(options.seed, number, options.size, options.variants, options.generator)
        status, why = _run(of, options)
        if status == "failed":
            save(of, options.save / f"{name}.py", why)
        print(json.dumps(_result(number, of, status, why)), flush=True)  # a smaller program may end the process
        if status == "failed":
            kind = why.partition(":")[0]
            kinds[kind] += 1
            if options.reduce and kinds[kind] <= 2:
                small = reduce(of, _fails_as(kind, options), options.reduce)
                save(small, options.save / f"{name}-small.py", _run(small, options)[1])
    _limit(0.0)


def _limit(seconds: float) -> None:
    """End the process, with a traceback, when it has had so many seconds of the processor; 0: never."""
    faulthandler.register(signal.SIGPROF, chain=True)  # then as without it: the process ends
    signal.setitimer(signal.ITIMER_PROF, seconds)
    if seconds:
        faulthandler.dump_traceback_later(PATIENCE * seconds, exit=True)
    else:
        faulthandler.cancel_dump_traceback_later()


def _result(number: int, of: Program, status: str, why: str) -> dict[str, Any]:
    return {"number": number, "variant": of.variant, "status": status, "why": why, "uses": of.constructs}


def _process(options: argparse.Namespace, first: int, count: int) -> list[dict[str, Any]]:
    """The results of these programs. One that ends its process is a failure; the rest run in another one."""
    results: list[dict[str, Any]] = []
    while count > 0 and time.time() < options.until:
        flags = [
            f"--{name}={getattr(options, name)}" for name in ("seed", "save", "reduce", "until", "size", "generator")
        ]
        flags += [
            f"--variants={','.join(options.variants)}",
            f"--first={first}",
            f"--programs={count}",
            *["--eager"] * options.eager,
        ]
        done = subprocess.run(
            [sys.executable, "-m", "fuzzing.campaign", *flags],
            cwd=Path(__file__).parents[1],
            capture_output=True,
            text=True,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        finished = [line for line in lines if "number" in line]
        results += finished
        if done.returncode == 0:
            break
        if not lines:
            raise RuntimeError(done.stderr)
        last = max(line.get("started", -1) for line in lines)
        if all(line["number"] != last for line in finished):
            name, why = f"{options.seed}-{last}", f"the process ended with {done.returncode}\n{done.stderr[-2000:]}"
            of = numbered(options.seed, last, options.size, options.variants, options.generator)
            save(of, options.save / f"{name}.py", why)
            results.append(_result(last, of, "failed", why))
        first, count = last + 1, first + count - last - 1
    return results


def campaign(options: argparse.Namespace) -> list[dict[str, Any]]:
    """All programs, in processes of `shard` programs each; `jobs` of them run at a time."""
    options.until = time.time() + options.seconds if options.seconds else math.inf
    total = options.programs or (10**9 if options.seconds else 200)
    starts = iter(range(0, total, options.shard))
    results: list[dict[str, Any]] = []
    lock = threading.Lock()

    def work(_: int) -> None:
        while time.time() < options.until:
            with lock:
                first = next(starts, None)
            if first is None:
                return
            part = _process(options, first, min(options.shard, total - first))
            with lock:
                results.extend(part)
                failed = sum(result["status"] == "failed" for result in results)
                print(f"{len(results)} programs, {failed} failed", file=sys.stderr, flush=True)

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(work, range(options.jobs)))
    return results


def summary(results: list[dict[str, Any]], options: argparse.Namespace) -> str:
    """Summarise the results by construct, by variant and in all; the last line is the total."""
    uses: dict[str, Counter[str]] = {}
    for result in results:
        for construct in result["uses"]:
            uses.setdefault(construct, Counter())[result["status"].partition(":")[0]] += 1
    lines = ["constructs (programs: agreed, refused, failed)"]
    for construct in sorted(uses, key=lambda name: (-uses[name]["agreed"], name)):
        found = uses[construct]
        lines.append(f"  {found['agreed']:5} {found['refused']:4} {found['failed']:4}  {construct!r}")
    refusals = Counter(
        re.sub(r"[\w/.-]+:\d+|`.*`|\d+", "", r["why"])[:150] for r in results if r["status"] == "refused"
    )
    lines += [f"refused {number}: {why}" for why, number in refusals.most_common(8)]
    for variant in VARIANTS:
        own = Counter(r["status"].partition(":")[0] for r in results if r["variant"] == variant)
        lines += [f"{variant}: " + ", ".join(f"{own[status]} {status}" for status in sorted(own))] * bool(own)
    counts = Counter(result["status"] for result in results)
    lines += [f"{len(results)} programs", *(f"  {counts[status]:6} {status}" for status in sorted(counts))]
    failed = {f"{options.save}/{options.seed}-{r['number']}.py": r["why"] for r in results if r["status"] == "failed"}
    lines += [f"{path}: {why[:200]}" for path, why in failed.items()]
    if failed:
        lines += ["run one again: python -m fuzzing.campaign --replay FILE", f"FAILED: {len(failed)} of {len(results)}"]
    else:
        lines.append(f"passed: of {len(results)} programs none failed, {counts['agreed']} agreed")
    return "\n".join(lines)


def _variants(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in VARIANTS]:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: the variants are {', '.join(VARIANTS)}")
    return names


def main(words: list[str] | None = None) -> int:
    """0 if no program failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=0, help="how many (200, unless --seconds is given)")
    parser.add_argument("--seconds", type=float, default=0.0, help="stop after so long")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--save", type=Path, default=Path("failures"), help="the folder for programs that fail")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--size", type=int, default=12, help="statements of the function, about; few compile faster")
    parser.add_argument("--shard", type=int, default=50, help="programs of one process")
    parser.add_argument("--reduce", type=float, default=120.0, help="seconds for making a failing program smaller")
    parser.add_argument(
        "--order", type=int, choices=(1, 2, 3), default=1, help="of the derivatives, without --variants"
    )
    parser.add_argument("--variants", type=_variants, help="of the programs, joined by commas")
    parser.add_argument("--generator", choices=GENERATORS, default="grammar", help="what makes the programs")
    parser.add_argument("--eager", action="store_true", help="compile the programs, not their gradients")
    parser.add_argument("--replay", type=Path, help="a saved program")
    parser.add_argument("--first", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, default=math.inf, help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    options.save = options.save.resolve()
    options.variants = options.variants or of_order(options.order)
    if options.replay:
        of = read(options.replay)
        status, why = _run(of, options)
        print(of, f"{status}\n{why}", sep="\n")
        return int(status == "failed")
    if options.first is not None:
        _shard(options)
        return 0
    results = campaign(options)
    print(summary(results, options))
    return int(any(result["status"] == "failed" for result in results))


if __name__ == "__main__":
    sys.exit(main())
