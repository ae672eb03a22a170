"""Fetching Hugging Face's test files for the installed version, and errors when they are missing."""

import io
import tarfile

import pytest
import transformers

from support import hf_suites
from support.fetch_hf_suites import suites_folder, unpack_tests


def archive_of(path, *names):
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = 1
            archive.addfile(member, io.BytesIO(b"\n"))
    return path


def test_folder_has_the_installed_version():
    assert transformers.__version__ in str(suites_folder())


def test_missing_files(monkeypatch, tmp_path):
    monkeypatch.setattr(hf_suites, "suites_folder", lambda: tmp_path / "none")
    with pytest.raises(FileNotFoundError, match="make suites"):
        hf_suites.import_suite("test_modeling_common")


def test_unknown_file():
    with pytest.raises(ModuleNotFoundError, match="test_nothing"):
        hf_suites.import_suite("test_nothing")


def test_only_tests_are_unpacked(tmp_path):
    archive = archive_of(tmp_path / "x-1.0.tar.gz", "x-1.0/setup.py", "x-1.0/tests/test_a.py", "x-1.0/src/tests/b.py")
    unpack_tests(archive, tmp_path / "tests")
    assert {path.name for path in (tmp_path / "tests").iterdir()} == {"__init__.py", "test_a.py"}


def test_source_package_without_tests(tmp_path):
    with pytest.raises(FileNotFoundError, match="has no tests folder"):
        unpack_tests(archive_of(tmp_path / "x-1.0.tar.gz", "x-1.0/setup.py"), tmp_path / "tests")
    assert not (tmp_path / "tests").exists()
