"""What is checked in of the paper's figures is what the code makes now."""

from paper_figures.diffs import FOLDER, diffs


def test_the_differences_between_stages_are_up_to_date():
    made = diffs()
    assert sorted(made) == sorted(file.name for file in FOLDER.glob("*.diff"))
    for name, text in made.items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, f"{name} is stale: run `make figures`"
