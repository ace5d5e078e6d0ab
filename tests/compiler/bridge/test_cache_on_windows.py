"""The cache folder as Windows has it: a file that is open cannot be replaced, nor one opened that is being replaced.

The branches for Windows run here on any system; functions of `os` stand in for its own.
"""

import os

import pytest

from dualrev.compiler.bridge.cache import store
from dualrev.compiler.bridge.cache.store import Folder


@pytest.fixture(autouse=True)
def _windows(monkeypatch):
    monkeypatch.setattr(store, "_POSIX", False)
    monkeypatch.setattr(store, "_PAUSES", (0.0, 0.0))
    rename = os.rename

    def of_windows(old, new):
        if os.path.lexists(new):
            raise FileExistsError(new)
        rename(old, new)

    monkeypatch.setattr(os, "rename", of_windows)
    monkeypatch.delattr(os, "link")


def busy(monkeypatch, name, times):
    """Let a function of `os` fail so many times, as for a file that another process has opened."""
    function, left = getattr(os, name), [times]

    def failing(*args, **options):
        if left[0]:
            left[0] -= 1
            raise PermissionError(13, "The process cannot access the file")
        return function(*args, **options)

    monkeypatch.setattr(os, name, failing)


def test_a_file_that_another_process_reads_for_a_moment(tmp_path, monkeypatch):
    folder = Folder(tmp_path, store._key(tmp_path))
    assert folder.write("text", b"old")
    busy(monkeypatch, "replace", 2)
    assert folder.write("text", b"new")
    assert folder.read("text") == b"new"


def test_a_file_that_another_process_replaces_for_a_moment(tmp_path, monkeypatch):
    folder = Folder(tmp_path, store._key(tmp_path))
    assert folder.write("text", b"new")
    busy(monkeypatch, "open", 2)
    assert folder.read("text") == b"new"


def test_a_file_that_another_process_keeps_is_said(tmp_path, monkeypatch):
    folder = Folder(tmp_path, store._key(tmp_path))
    assert folder.write("text", b"old")
    busy(monkeypatch, "replace", 1000)
    with pytest.warns(RuntimeWarning, match="a derivative is not cached: .*cannot access"):
        assert not folder.write("text", b"new")
    assert folder.read("text") == b"old"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["key", "text"]


def test_the_first_process_to_make_a_key_has_made_it(tmp_path, monkeypatch):
    lexists = os.path.lexists
    theirs = []

    def meanwhile(path):
        if not theirs:
            theirs.append(b"k" * 32)
            (tmp_path / "key").write_bytes(theirs[0])
            return False
        return lexists(path)

    monkeypatch.setattr(os.path, "lexists", meanwhile)
    assert store._key(tmp_path) == theirs[0]


def test_modes_mean_nothing(tmp_path):
    tmp_path.chmod(0o777)
    assert store._obstacle(tmp_path) == ""
    assert store._key(tmp_path) == store._key(tmp_path)
