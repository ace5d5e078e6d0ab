"""bench/debug_nans.py: the table has all programs. No time is asserted."""

import pytest

from bench import debug_nans


@pytest.mark.slow
def test_the_table_has_all_programs(capsys):
    assert debug_nans.main(["--turns", "1"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2 + len(debug_nans.PROGRAMS)
