"""support/emitted.py: hashes of emitted text, and which of them differ from earlier ones."""

import pytest
from support import emitted


def test_the_text_of_a_program_is_the_same_again(tmp_path, capsys):
    before, now = tmp_path / "before.txt", tmp_path / "now.txt"
    few = ["--of", "random", "--programs", "1", "--jobs", "1"]
    assert emitted.main([*few, "--to", str(before)]) == 0
    lines = before.read_text().splitlines()
    assert len(lines) == 2 * len(emitted.GENERATORS)
    assert len({line.split(" ", 1)[1] for line in lines}) == len(lines)
    before.write_text("\n".join(["0" * 20 + lines[0][20:], *lines[1:]]))
    capsys.readouterr()
    assert emitted.main([*few, "--to", str(now), "--against", str(before)]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == ["1 differ", lines[0].split(" ", 1)[1]]
    assert now.read_text().splitlines() == lines


@pytest.mark.parametrize("generator", emitted.GENERATORS)
def test_random_programs_have_answers(generator):
    answers = emitted._random(generator, 0, 2)
    assert len(answers) == 4
    assert all(answer.text for answer in answers)


def test_features_have_text(monkeypatch, tmp_path):
    """Most features have emitted text: a job finds their source."""
    monkeypatch.setenv("DUALREV_CACHE_DIR", str(tmp_path))  # else the job sets one, for its process
    answers = emitted._job(("fixed", ("features",), 3, 90))
    assert sum(answer.text.startswith('"""') for answer in answers) > len(answers) // 2
