"""The fuzz harness: its seed, and the counts of its cases. `pytest tests/fuzz [--fuzz-seed N]` runs it.

Each case must end in one of the outcomes below, which the test counts with `outcome`; else it fails.
A run is repeated with the seed that it prints. A case that once failed stays in its file as an `@example`.

The folder is collected only if it, or a file in it, is named on the command line.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

OUTCOMES = ("right", "bad row named", "clear error")

_counts: Counter[tuple[str, str]] = Counter()  # of cases, by test file and outcome


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
        config.option.fuzz_seed = random.SystemRandom().randrange(2**32)  # workers get it with the other options
    config.option.hypothesis_seed = str(config.option.fuzz_seed)
    settings.register_profile("fuzz", database=None, deadline=None, suppress_health_check=list(HealthCheck))
    settings.load_profile("fuzz")


def pytest_report_header(config: pytest.Config) -> str | None:
    return f"fuzz seed: {config.option.fuzz_seed}" if _is_named(config) else None


@pytest.fixture(scope="session")
def fuzz_seed(request: pytest.FixtureRequest) -> int:
    """The seed, for random numbers that hypothesis does not draw."""
    return request.config.option.fuzz_seed


@pytest.fixture(scope="module")  # hypothesis refuses one for each test function, which all its examples would share
def outcome(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Count a case: `outcome("right")`."""

    def count(name: str) -> None:
        assert name in OUTCOMES, f"found the outcome {name!r}; expected one of {OUTCOMES}"
        _counts[request.path.name, name] += 1

    return count


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the files of all examples."""
    return tmp_path_factory.mktemp("fuzz")


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    if hasattr(session.config, "workeroutput"):  # a process of xdist, whose counts the main process adds up
        session.config.workeroutput["fuzz_counts"] = [[*case, count] for case, count in _counts.items()]
    return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    for file, name, count in getattr(node, "workeroutput", {}).get("fuzz_counts", ()):
        _counts[file, name] += count


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not _is_named(config):
        return
    terminalreporter.section("fuzz")
    for file in sorted({file for file, _ in _counts}):
        terminalreporter.write_line(f"{file}: {_in_words({name: _counts[file, name] for name in OUTCOMES})}")
    totals = {name: sum(_counts[case] for case in _counts if case[1] == name) for name in OUTCOMES}
    terminalreporter.write_line(f"all: {_in_words(totals)}")
    folder = Path(__file__).parent.relative_to(config.rootpath)
    terminalreporter.write_line(f"to repeat: pytest {folder} --fuzz-seed {config.option.fuzz_seed}")


def _in_words(counts: dict[str, int]) -> str:
    return f"{sum(counts.values()):,} cases: " + ", ".join(f"{count:,} {name}" for name, count in counts.items())
