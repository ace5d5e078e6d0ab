"""bench/styles.py: both styles agree on both engines, and the table has them all. No time is asserted."""

import pytest

from bench import styles


@pytest.mark.slow
def test_the_styles_agree_and_are_in_the_table(capsys):
    assert styles.main(["--steps", "3", "--budget", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 4
    for engine in ("compiled", "tape"):
        for style in (styles.SCALARS, styles.SMALL_ARRAYS):
            assert sum(line.startswith(f"| {engine} | {style} |") for line in lines) == 1
