"""How Sphinx makes the site of the pages in this repository: `make docs`.

The source is the whole repository: pages link to each other, to figures and to files of code as they lie there.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.inspect import signature, stringify_signature

import dualrev

project = "dualrev"
author = "The dualrev authors"
copyright = author  # Sphinx's name
version = release = dualrev.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
source_suffix = {".md": "markdown", ".ipynb": "markdown"}  # `run_notebook` writes Markdown
root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "examples/notebooks/*.ipynb",
    "paper_figures/*.md",
    "bench/published/report.md",
    "bench/gradbench/README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "CODE_OF_CONDUCT.md",
    "SECURITY.md",
]
exclude_patterns = ["docs/package.md", "site", "build", ".venv", ".*", "**/__pycache__"]
myst_heading_anchors = 4  # links to headings, as a repository's web page makes them
myst_enable_extensions = ["attrs_inline", "colon_fence"]

default_role = "code"  # docstrings mark code by single backquotes
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # overloads would be listed one by one: `typed` writes the types of the function itself
autodoc_preserve_defaults = True
maximum_signature_line_length = 80
napoleon_numpy_docstring = False  # Args, Returns, Raises

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True  # where there are prompts: what a reader can run, without the output

html_theme = "furo"
html_title = f"dualrev {release}"
html_favicon = "site/static/favicon.svg"
html_static_path = ["site/static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_extra_path = ["site/index.html"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "github-dark"


#: Words that a reader searches for, each on the page that answers, by the search's index of terms.
ANSWERS = {
    "docs/start": "install, installation, first gradient",
    "docs/engines": "tape or compiler, which engine",
    "docs/coming_from": "jax, autograd, pytorch",
    "docs/sharp_bits": "pitfalls, limitations, debug, wrong gradient",
    "docs/numba/index": "numba, njit, compiled gradient",
    "docs/numba/options": "cache, caching, compile time, save to disk, startup, slow first call",
    "docs/numba/shipping": "ship, deploy, container, docker, slurm, cluster, pickle, ahead of time, warm",
    "docs/numba/supported": "supported, complex, random, seed, jitclass, record, dict, list, scipy.special",
    "docs/numba/derivatives": "derivative source, emitted code, outputs, ufunc, higher order",
    "docs/numba/parallel": "parallel, prange, threads, cores",
    "docs/numba/rules": "custom rule, custom gradient, own derivative, unknown function, C function, checkpointing",
    "docs/numba/limits": "limits, unsupported, UnsupportedError, refused, memory, recursion",
    "docs/api/errors": "explain, explanation, exceptions, error messages, report, bug, issue",
    "docs/with_scipy": "minimize, minimise, BFGS, optimizer, optimiser",
    "docs/implicit": "ODE, solve_ivp, odeint, adjoint, differential equation, root, fixed point",
    "docs/profile": "profile, profiling, slow compile, memory of a gradient, compile_info, tape_info, perf, py-spy",
    "docs/second_order": "hessian, newton, standard errors",
    "docs/many_machines": "dask, joblib, mpi, cluster",
    "docs/cuda": "cuda, gpu, kernel, numba.cuda, atomic",
    "docs/benchmarks": "performance, speed, how fast",
    "docs/compiler": "timing of passes",
    "docs/learn/index": "course, learn, lecture, exercises, stepper, how reverse mode works",
    "docs/versions": "versions, compatibility, semantic versioning, deprecation, supported Python, stable",
    "docs/nan": "debug nan, debug_nans, debug_infs, detect_anomaly, not finite, inf, zero norm, sqrt at 0",
    "docs/conventions": "nan, inf, zero norm, safe norm, sqrt at 0, kink",
}


def plain(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Write `*args`, |x| and `Real`s so that reStructuredText takes them as they are."""
    for k, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = line.split("`")  # what is between two of them is code
            parts[::2] = [part.replace("*", r"\*").replace("|", r"\|") for part in parts[::2]]
            lines[k] = re.sub(r"(`[^`]+`)(?=\w)", r"\1\\ ", "`".join(parts))


#: How signatures name types that have names of their own in the code, from the inside of brackets to the outside.
ALIASES = {
    r"Concatenate\[[^\[\]]*\]": "...",
    r"Callable\[(?:[^\[\]]|\[[^\[\]]*\])*\]": "Callable",
    r"Callable\[\[[^\[\]]*\], [^\[\]]*\]": "Callable",  # around another one
    r"\b(Argnums|Outputs)\b": "int | Sequence[int]",
    r"\bDispatcher\b": "Callable",
    r"\b(?:Axes|UserValue|T)\b": "Any",
}


def typed(
    app: object, what: str, name: str, obj: object, options: object, found: str | None, returns: str
) -> tuple[str, str] | None:
    """Write the types of a function's parameters, of the function itself where it has overloads."""
    if found is None:
        return None
    if what == "exception" or name in (
        "dualrev.Real",
        "dualrev.RealArray",
        "dualrev.tree.Structure",
        "dualrev.tree.TreeDef",
    ):
        return "", ""  # the library makes them
    if what not in ("function", "method"):
        return None
    text = stringify_signature(signature(obj, bound_method=what == "method"), unqualified_typehints=True)
    for pattern, plain_name in ALIASES.items():
        text = re.sub(pattern, plain_name, text)
    parameters, arrow, result = text.rpartition(" -> ")
    return (parameters, result) if arrow else (text, "")


def public_bases(app: object, name: str, obj: object, options: object, bases: list[type]) -> None:
    """Name the bases of a private base class in its place."""
    bases[:] = [b for base in bases for b in (base.__bases__ if base.__name__.startswith("_") else (base,))]


def run_notebook(app: Any, name: str, source: list[str]) -> None:
    """Replace a notebook by its cells and their outputs: it runs here, since the files have no outputs."""
    file = Path(app.env.doc2path(name))
    if file.suffix == ".ipynb":
        from tools.notebooks import markdown, run

        source[0] = markdown(run(file))


def without_last_lines(app: object, name: str, source: list[str]) -> None:
    """Leave out the blank line that ends the output of an example: doctest needs it, a reader does not."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")


def with_answers(app: object, name: str, source: list[str]) -> None:
    """Put the words of `ANSWERS` into the index, below the page's title: the search lists such entries first."""
    if name in ANSWERS:
        words = ", ".join(f"! {word}" for word in ANSWERS[name].split(", "))
        title, _, rest = source[0].partition("\n")
        source[0] = f"{title}\n\n```{{index}} {words}\n```\n{rest}"


def described(app: object, name: str, template: str, context: dict[str, Any], page: nodes.document | None) -> None:
    """Say what a page is about, for search engines and for previews of links: its first paragraph."""
    if page is not None:
        first = next(page.findall(nodes.paragraph), None)
        text = " ".join(first.astext().split()) if first else ""
        about = text if len(text) <= 200 else text[:200].rpartition(" ")[0] + " ..."
        tags = {"og:title": context["title"], "og:description": about, "og:type": "article", "og:site_name": project}
        lines = [f'<meta name="description" content="{escape(about)}">']
        lines += [
            f'<meta property="{key}" content="{escape(re.sub("<[^>]*>", "", text))}">' for key, text in tags.items()
        ]
        context["metatags"] += "".join(f"{line}\n" for line in lines)


def steppers(app: Any, failed: Exception | None) -> None:
    """Write the pages to step through the stages, to which the course links."""
    if failed is None and app.builder.name == "html":
        from stages.comparison.page.site import write_steppers

        write_steppers(Path(app.outdir) / "docs" / "learn" / "steps")


def setup(app: Any) -> None:
    """Sphinx calls this."""
    app.connect("source-read", run_notebook)
    app.connect("source-read", without_last_lines)
    app.connect("source-read", with_answers)
    app.connect("html-page-context", described)
    app.connect("build-finished", steppers)
    app.connect("autodoc-process-docstring", plain, priority=400)  # before napoleon reads the sections
    app.connect("autodoc-process-signature", typed)
    app.connect("autodoc-process-bases", public_bases)
