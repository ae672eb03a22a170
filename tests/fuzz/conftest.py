"""The fuzz harness: its seed, and the counts of its cases. `pytest tests/fuzz [--fuzz-seed N]` runs it.

Each case must end in one of the outcomes below, which the test counts with `outcome`; else it fails.
A run is repeated with the seed that it prints. A case that once failed stays in its file as an `@example`.

The folder is collected only if it, or a file in it, is named on the command line.
"""

import os
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

OUTCOMES = ("right", "bad row named", "clear error")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fuzz-seed", type=int, help="the seed of a run of tests/fuzz to repeat; by default a new one")


def _is_named(config: pytest.Config) -> bool:
    paths = [Path(config.invocation_params.dir, argument.split("::")[0]).resolve() for argument in config.args]
    return any(path.is_relative_to(Path(__file__).parent) for path in paths)


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    return None if _is_named(config) else True


@pytest.hookimpl(tryfirst=True)  # before hypothesis reads its seed
def pytest_configure(config: pytest.Config) -> None:
    if not _is_named(config):
        return
    if config.option.fuzz_seed is None:
        # Workers do not always get what is set here with the other options.
        config.option.fuzz_seed = int(os.environ.setdefault("FUZZ_SEED", str(random.SystemRandom().randrange(2**32))))
    config.option.hypothesis_seed = str(config.option.fuzz_seed)
    settings.register_profile("fuzz", database=None, deadline=None, suppress_health_check=list(HealthCheck))
    settings.load_profile("fuzz")


def pytest_report_header(config: pytest.Config) -> str | None:
    return f"fuzz seed: {config.option.fuzz_seed}" if _is_named(config) else None


@pytest.fixture(scope="session")
def fuzz_seed(request: pytest.FixtureRequest) -> int:
    """The seed, for random numbers that hypothesis does not draw."""
    return request.config.option.fuzz_seed


@pytest.fixture
def outcome(record_property: Callable[[str, object], None]) -> Iterator[Callable[[str], None]]:
    """Count a case: `outcome("right")`."""
    counts = dict.fromkeys(OUTCOMES, 0)

    def count(name: str) -> None:
        counts[name] += 1

    yield count
    record_property("outcomes", counts)  # of the teardown, also from a process of xdist


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the files of all examples."""
    return tmp_path_factory.mktemp("fuzz")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not _is_named(config):
        return
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for report in chain(*terminalreporter.stats.values()):
        if getattr(report, "when", None) == "teardown" and (found := dict(report.user_properties).get("outcomes")):
            for file in (Path(report.location[0]).name, "all"):
                counts[file].update(found)
    terminalreporter.section("fuzz")
    for file, of_file in sorted(counts.items(), reverse=True):
        words = ", ".join(f"{of_file[name]:,} {name}" for name in OUTCOMES)
        terminalreporter.write_line(f"{file}: {of_file.total():,} cases: {words}")
    folder = Path(__file__).parent.relative_to(config.rootpath)
    terminalreporter.write_line(f"to repeat: pytest {folder} --fuzz-seed {config.option.fuzz_seed}")
