"""`dr.report()`: what an issue needs, without names of people, and without a trace on disk."""

import os
import platform
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import dualrev as dr
from dualrev.api import report as module


@pytest.fixture
def reported(capsys, monkeypatch):
    """Return the report's lines as a dict, with these environment variables and no others that libraries read."""
    for name in [name for name in os.environ if name.startswith(module._READ)]:
        monkeypatch.delenv(name)

    def lines(**variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, str(value))
        capsys.readouterr()
        assert dr.report() is None
        out, err = capsys.readouterr()
        assert err == ""
        found = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in out.splitlines())
        assert len(found) == out.count("\n")
        return found

    return lines


def test_it_has_the_versions_that_are_installed(reported):
    found = reported()
    assert found["dualrev"] == dr.__version__
    assert found["Python"] == platform.python_version()
    for name in ("numpy", "numba", "llvmlite", "scipy"):
        assert found[name] == metadata.version(name)
    assert {"system", "machine", "processor", "cores", "numba threads"} <= set(found)
    assert not [name for name in found if name.startswith("DUALREV_")]


def test_a_package_that_is_not_installed_is_left_out(reported, monkeypatch):
    monkeypatch.setattr(module, "_PACKAGES", ("numpy", "no-such-package"))
    found = reported()
    assert "numpy" in found
    assert "no-such-package" not in found


def test_it_has_the_settings(reported):
    found = reported(DUALREV_CHECK="1", NUMBA_CPU_NAME="generic", OMP_NUM_THREADS="1", SECRET_TOKEN="hidden")
    assert (found["DUALREV_CHECK"], found["NUMBA_CPU_NAME"], found["OMP_NUM_THREADS"]) == ("1", "generic", "1")
    assert not any("hidden" in value for value in found.values())
    assert found["debug_nans"] == "off"
    with dr.debug_nans():
        assert reported()["debug_nans"] == "on"


def test_it_has_the_state_of_the_cache(reported, tmp_path):
    folder = tmp_path / "cache"
    assert reported(DUALREV_CACHE_DIR=folder)["cache"] == "it does not exist yet"
    assert not folder.exists()
    folder.mkdir(mode=0o700)
    assert reported(DUALREV_CACHE_DIR=folder)["cache"] == "0 files, 0.0 MB"
    assert list(folder.iterdir()) == []
    folder.joinpath("grad_f_1.py").write_bytes(b" " * 250_000)
    folder.joinpath("key").write_bytes(b" " * 32)
    assert reported(DUALREV_CACHE_DIR=folder)["cache"] == "1 files, 0.2 MB"


@pytest.mark.skipif(os.name != "posix", reason="elsewhere the cache does not look at modes")
def test_it_says_why_a_cache_is_not_used(reported, tmp_path):
    tmp_path.chmod(0o777)
    assert "not used: others may write to it (mode 777)" in reported(DUALREV_CACHE_DIR=tmp_path)["cache"]
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    file.chmod(0o600)
    assert reported(DUALREV_CACHE_DIR=file)["cache"] == "not used: it is not a folder"
    assert "not used" in reported(DUALREV_CACHE_DIR="~no_such_user/cache")["cache"]


def test_it_does_not_tell_the_home_folder(reported, monkeypatch, tmp_path):
    home = tmp_path / "ada"
    monkeypatch.setattr(Path, "home", lambda: home)
    found = reported(DUALREV_CACHE_DIR=home / "cache")
    assert found["DUALREV_CACHE_DIR"] == found["cache folder"] == f"~{os.sep}cache"
    assert not any("ada" in value for value in found.values())


def test_it_imports_no_pass_of_the_compiler_and_compiles_nothing():
    """It has to work where a compilation crashes."""
    code = (
        "import sys, logging, dualrev as dr; logging.getLogger('dualrev').setLevel(0); dr.report();"
        "print('passes', *[x for x in sys.modules if x.startswith('dualrev.compiler.driver')])"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(dr.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.stdout.endswith("passes\n"), done.stderr
