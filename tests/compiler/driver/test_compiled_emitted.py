"""support/emitted.py: hashes of emitted text, and which of them differ from earlier ones."""

import pytest
from support import emitted


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """The answers to the first two random programs of each generator, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DUALREV_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))  # else the job sets one
        return {generator: emitted._job((generator, 0, 2)) for generator in emitted.GENERATORS}


@pytest.mark.parametrize("generator", emitted.GENERATORS)
def test_random_programs_have_answers(answers, generator):
    assert len(answers[generator]) == 4
    assert all(answer.text for answer in answers[generator])


def test_the_text_of_a_program_is_the_same_again(answers, monkeypatch, tmp_path, capsys):
    """In another process, in which sets have another order."""
    before, now = tmp_path / "before.txt", tmp_path / "now.txt"
    few = ["--of", "random", "--programs", "1", "--jobs", "1"]
    first = [answer for of_generator in answers.values() for answer in of_generator[:2]]
    with monkeypatch.context() as patch:
        patch.setattr(emitted, "_all", lambda *asked: first)
        assert emitted.main([*few, "--to", str(before)]) == 0
    lines = before.read_text().splitlines()
    assert len(lines) == 2 * len(emitted.GENERATORS)
    assert len({line.split(" ", 1)[1] for line in lines}) == len(lines)
    before.write_text("\n".join(["0" * 20 + lines[0][20:], *lines[1:]]))
    capsys.readouterr()
    assert emitted.main([*few, "--to", str(now), "--against", str(before)]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == ["1 differ", lines[0].split(" ", 1)[1]]
    assert now.read_text().splitlines() == lines


def test_features_have_text(monkeypatch, tmp_path):
    """Most features have emitted text: a job finds their source."""
    monkeypatch.setenv("DUALREV_CACHE_DIR", str(tmp_path))  # else the job sets one, for its process
    answers = emitted._job(("fixed", ("features",), 3, 90))
    assert sum(answer.text.startswith('"""') for answer in answers) > len(answers) // 2
