"""The pages of the site: their examples run, their links lead somewhere, and Sphinx makes a site of them.

What runs elsewhere is not run again: conventions.md, numpy.md and the like have tests of their own.
"""

import doctest
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dualrev
from stages.__main__ import main as stages

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *sorted(DOCS.rglob("*.md")),
    *sorted(ROOT.glob("paper_figures/*.md")),
    *(ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY", "CODE_OF_CONDUCT")),
    ROOT / "bench" / "published" / "report.md",
]
#: Where the examples of the other pages run.
ELSEWHERE = {
    **dict.fromkeys(["calculus", "numpy", "second_order", "sparse"], "test_docs"),
    "compiler": "test_docs_compiler",
    "cuda": "test_cuda",
    "while_loop": "test_docs_compiler",
    "conventions": "test_conventions",
    "implicit": "test_implicit",
    "interop": "test_docs_interop",
    "many_machines": "test_dask",
    "options": "test_docs_numba",
    "package": "test_package",
    "shipping": "test_docs_numba",
    "shift_reset": "test_relatives_staging",
}
RUN = [page for page in DOCS.rglob("*.md") if page.stem not in ELSEWHERE and ">>> " in page.read_text("utf-8")]


@pytest.mark.parametrize("page", sorted(RUN), ids=lambda page: page.stem)
def test_the_examples_run(page):
    pytest.importorskip("scipy", reason="the pages use it")
    found = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.failed == 0
    assert found.attempted >= 2


def test_every_block_of_python_is_one_that_a_test_runs():
    """A block without prompts stands on a page whose own test looks at it, but for the one of the next test."""
    assert all(any((ROOT / "tests").glob(f"*/{name}.py")) for name in ELSEWHERE.values())
    plain = []
    for page in DOCS.rglob("*.md"):
        blocks = re.findall(r"(?ms)^ *```python\n(.*?)^ *```", page.read_text(encoding="utf-8"))
        plain += [page.stem for block in blocks if ">>> " not in block and page.stem not in ELSEWHERE]
    assert plain == ["comparison"]


def test_the_function_on_the_page_of_the_comparison_can_be_compared(tmp_path, capsys):
    (code,) = re.findall(r"```python\n(from dualrev.*?)```", (DOCS / "comparison.md").read_text(encoding="utf-8"), re.S)
    (tmp_path / "mine.py").write_text(code, encoding="utf-8")
    assert stages([f"--file={tmp_path / 'mine.py'}:f", "--args=0.5, [1.0, 2.0]", "--stage=tape"]) == 0
    assert "mine.py" in capsys.readouterr().out


def anchors(page):
    """Anchors of the headings of a page."""
    text = re.sub(r"(?ms)^ *```.*?^ *```", "", page.read_text(encoding="utf-8"))
    headings = re.findall(r"(?m)^#+ (.*)$", text)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", h).lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_lead_somewhere(page):
    text = re.sub(r"(?ms)^ *```.*?^ *```|`[^`\n]*`", "", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def test_the_reference_has_all_public_names():
    text = "".join(page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md"))
    named = set(re.findall(r"auto(?:function|class|module):: dualrev\.(\w+)", text))
    errors = {name for name in dualrev.__all__ if name.endswith("Error")}
    assert named | errors >= set(dualrev.__all__) - {"__version__", "tree"}
    exceptions = re.findall(r"auto(?:exception|function):: dualrev\.errors\.(\w+)", text)
    assert sorted(exceptions) == sorted(dualrev.errors.__all__)


def test_the_site_is_made_without_warnings_and_without_the_network(tmp_path):
    """As `make docs` does it; then every link inside of the site, and every file that a page loads, is there."""
    for package in ("sphinx", "furo", "myst_parser", "sphinx_copybutton", "dask"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed: pip install 'dualrev[docs]'")
    site = tmp_path / "site"
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs", "-b", "html", ".", site]
    done = subprocess.run([*map(str, command), "-d", str(tmp_path / "kept")], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    names = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in pages.items()}
    assert len(pages) > 40
    reference = "".join(text for page, text in pages.items() if page.parent.name == "api")
    plain = re.sub(r"<[^>]*>|\s", "", reference)
    assert "has_aux:bool=False" in plain  # signatures have types
    assert not re.findall(r"classmethod|_MisfitError|Concatenate|ParamSpec", plain)
    for page, text in pages.items():
        assert not re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(?:https?:)?//[^"]*"', text), page
        for target in re.findall(r'(?:href|src)="((?!https?:|data:|mailto:|#")[^"]+)"', text):
            name, _, anchor = target.partition("#")
            file = (page.parent / name.partition("?")[0]).resolve() if name else page
            assert file.exists(), f"{page.name}: {target}"
            assert not anchor or file not in names or anchor in names[file], f"{page.name}: {target}"
    styles = "".join(style.read_text(encoding="utf-8") for style in site.rglob("*.css"))
    assert not re.findall(r"url\(\s*['\"]?(?:https?:)?//|@import\s+['\"]?http", styles)
