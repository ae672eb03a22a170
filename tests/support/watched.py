"""Calls in processes of their own that are watched: what they ran, opened, wrote, sent, and asked.

A server imports what the doors of the package need, and forks a process for each call. Standard input of the call
answers each question with yes. `python -m support.watched` is the server.
"""

import ctypes
import json
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.local_hub import LocalHub, Storage, local_hub

SECRET = "segredo-4711"  # in files that no call may show
YES = "1\ny\nyes\nNao ha\n"  # standard input: answers, or lines of data
SECONDS = 60  # of a call; one that reads a device without end is stopped
_MEMORY = 6 * 2**30  # bytes of a call's own data
_IN_OPEN = 0x20  # of inotify
_DATA_WITH_CODE = (".bin", ".pt", ".pth", ".pkl", ".ckpt")  # pickles


@dataclass(frozen=True)
class Box:
    """A folder in which calls run, with a home, a cache, models, and what is none of theirs."""

    root: Path

    @property
    def outside(self) -> Path:
        """A folder that no call may read or change."""
        return self.root / "outside"

    @property
    def marker(self) -> Path:
        """The file that hostile code writes."""
        return self.root / "ran"

    @property
    def output(self) -> Path:
        """The folder that calls may write into."""
        return self.root / "output"

    def folder(self, name: str) -> str:
        return str(self.root / name)


@dataclass
class Call:
    """The deeds of a call.

    Attributes:
        error: the message of the error that ended it; `None` if none did.
        kind: the class of that error.
        output: what it wrote to standard output and standard error.
        ran: code of the folder that was run, or processes that were started.
        opened: files that it had no business to open.
        written: files that were changed or made outside of its output.
        sent: requests to the Hub and other connections.
        asked: whether it read an answer from standard input.
        pushed: files that the Hub got.
        shown: where the secret is shown.
    """

    error: str | None = None
    kind: str | None = None
    output: str = ""
    ran: list[str] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    asked: bool = False
    pushed: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)


class Watcher:
    """The server's other end. [`watched`] makes it."""

    def __init__(self, box: Box, hub: LocalHub, server: subprocess.Popen) -> None:
        self.box, self.hub, self._server = box, hub, server

    def call(self, door: str, folder: Path) -> Call:
        """Call a door on a folder, and return what it did."""
        box = self.box
        shutil.rmtree(box.root / "cache/modules", ignore_errors=True)
        shutil.rmtree(box.output)
        box.output.mkdir()
        self.hub.requests.clear()
        self.hub.storage = Storage()
        before = _contents(box.root, folder)
        with _opened_files([box.outside, box.root / "home", folder, folder / "onnx"]) as opened:
            print(json.dumps([door, str(folder)]), file=self._server.stdin, flush=True)
            answer = self._server.stdout.readline()
        if not answer:
            raise RuntimeError(f"the server ended before {door} of {folder.name}")
        call = Call(**json.loads(answer))
        call.sent += self.hub.requests
        call.opened += [
            path for path in opened if Path(path).parent != folder.resolve() or path.endswith(_DATA_WITH_CODE)
        ]
        call.opened = [path for path in call.opened if not path.startswith(f"{folder.resolve()}/onnx/")]
        if box.marker.exists():
            call.ran.append(f"{box.marker.read_text(encoding='utf-8')} (its marker)")
            box.marker.unlink()
        after = _contents(box.root, folder)
        call.pushed = self._pushed()
        call.shown = sorted(self._shown(call))
        call.written += sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        return call

    def _pushed(self) -> list[str]:
        storage = self.hub.storage
        return [f"{repository}/{name}" for repository in storage.repositories for name in storage.files(repository)]

    def _shown(self, call: Call) -> Iterator[str]:
        """Yield where the secret is: what was printed, written or pushed."""
        secret = SECRET.encode()
        if SECRET in call.output or SECRET in (call.error or ""):
            yield "printed"
        for path in self.box.output.rglob("*"):
            if path.is_file() and secret in path.read_bytes():
                yield f"written to {path.name}"
        for repository in self.hub.storage.repositories:
            for name, content in self.hub.storage.files(repository).items():
                if secret in content:
                    yield f"pushed as {name}"


@contextmanager
def watched(root: Path) -> Iterator[Watcher]:
    """Serve calls in a new box while the block runs."""
    box = Box(root)
    for name in ("home", "cache", "tmp", "work", "models", "output", "outside", "honest"):
        (root / name).mkdir(parents=True)
    (root / "passages").mkdir()
    (root / "passages/a.txt").write_text("ao ceo\n\nacabo\n", encoding="utf-8")
    with local_hub() as hub:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("HF_", "TRANSFORMERS_"))},
            **{"HOME": box.folder("home"), "TMPDIR": box.folder("tmp"), "MPLCONFIGDIR": box.folder("tmp")},
            **{"XDG_CACHE_HOME": box.folder("tmp"), "XDG_CONFIG_HOME": box.folder("tmp")},
            **{"HF_HOME": box.folder("cache"), "HF_ENDPOINT": hub.url, "HF_TOKEN": "hf_local", "NO_PROXY": "*"},
            **{"HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1"},
            **{"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"},
            **{"PYTHONPATH": str(Path(__file__).parents[1]), "TOKENIZERS_PARALLELISM": "false"},
        }
        server = subprocess.Popen(
            [sys.executable, "-m", "support.watched", str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            cwd=root / "work",
            text=True,
        )
        try:
            yield Watcher(box, hub, server)
        finally:
            server.stdin.close()
            server.wait()


def _contents(root: Path, folder: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of change of each file of a box, but those that calls may write."""
    found = {}
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        if path.is_file() and not _may_write(name, folder.relative_to(root).as_posix()):
            state = path.lstat()
            found[name] = (state.st_size, state.st_mtime_ns)
    return found


def _may_write(name: str, folder: str) -> bool:
    """Return whether a file of a box is output, or of a cache that holds no code."""
    top = name.partition("/")[0]
    of_output = name.startswith("cache/modules/transformers_modules/output/")  # code of the package, saved and loaded
    cache = top == "cache" and (not name.endswith(".py") or name.endswith("__init__.py") or of_output)
    return cache or top in ("output", "tmp", "ran") or name.startswith(f"{folder}/onnx/")


@contextmanager
def _opened_files(folders: list[Path]) -> Iterator[list[str]]:
    """Yield a list that has, at the end, the files of the folders that were opened, also by libraries in C."""
    library, names = ctypes.CDLL(None), {}
    watch = library.inotify_init1(os.O_NONBLOCK)
    for each in folders:
        if each.is_dir():
            names[library.inotify_add_watch(watch, os.fsencode(each), _IN_OPEN)] = each.resolve()
    opened: list[str] = []
    try:
        yield opened
        while True:
            try:
                data = os.read(watch, 2**16)
            except BlockingIOError:
                break
            place = 0
            while place < len(data):
                number, _, _, length = struct.unpack_from("iIII", data, place)
                name = data[place + 16 : place + 16 + length].rstrip(b"\0")
                place += 16 + length
                if name and number in names and f"{names[number]}/{os.fsdecode(name)}" not in opened:
                    opened.append(f"{names[number]}/{os.fsdecode(name)}")
    finally:
        os.close(watch)
    opened[:] = [path for path in opened if not Path(path).is_dir()]


def _serve(root: Path) -> None:
    """Fork a process for each line of standard input, and write a line about what it did."""
    from support import doors

    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print
    for line in sys.stdin:
        door, folder = json.loads(line)
        report = root / "report.json"
        report.unlink(missing_ok=True)
        pid = os.fork()
        if pid == 0:
            os.setsid()
            _run(doors.DOORS[door], Path(folder), Box(root), report)
        reader = os.pidfd_open(pid)
        ended, _, _ = select.select([reader], [], [], SECONDS)
        if not ended:
            os.killpg(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        os.close(reader)
        if report.exists():
            found = json.loads(report.read_text(encoding="utf-8"))
        else:
            why = "did not end" if not ended else f"was killed ({status})"
            found = {"kind": "Killed", "error": f"the process {why}"}
        report.unlink(missing_ok=True)
        found["output"] = (root / "tmp/printed").read_bytes().decode("utf-8", "replace")
        print(json.dumps(found), file=answers, flush=True)


def _run(door: Any, folder: Path, box: Box, report: Path) -> None:
    """Call a door in this process, which is a forked one, and end the process."""
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    (box.root / "tmp/answers").write_text(YES, encoding="utf-8")
    os.dup2(os.open(box.root / "tmp/answers", os.O_RDONLY), 0)
    printed = os.open(box.root / "tmp/printed", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115
    sys.stdout = os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", encoding="utf-8")
    seen: dict[str, Any] = {"error": None, "kind": None, "ran": [], "opened": [], "written": [], "sent": []}
    seen["asked"] = False
    _refuse_kernels(seen["ran"])
    sys.addaudithook(_Hook(seen, folder, box))
    try:
        door(folder, box)
    except SystemExit as stopped:
        if stopped.code not in (None, 0):
            seen["error"], seen["kind"] = str(stopped.code), "SystemExit"
            print(stopped.code, file=sys.stderr)
    except BaseException as error:
        seen["error"], seen["kind"] = str(error) or repr(error), type(error).__name__
        import traceback

        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # closed by the call
                stream.flush()
        _Hook.off = True
        report.write_text(json.dumps(seen), encoding="utf-8")
        os._exit(0)


def _refuse_kernels(ran: list[str]) -> None:
    """Record that code of attention would be fetched from the Hub and run, which needs a package that is not here."""

    def refuse(name: Any, *_: Any, **__: Any) -> None:
        if "/" in str(name):
            ran.append(f"kernel {name}")
            raise ImportError(f"no kernel {name}")

    for module in list(sys.modules.values()):
        for name in ("lazy_import_flash_attention", "load_and_register_attn_kernel", "get_kernel"):
            if getattr(module, "__name__", "").startswith("transformers.") and name in vars(module):
                setattr(module, name, refuse)


class _Hook:
    """An audit hook. It refuses connections to others than the local Hub, and records the rest."""

    off = False

    def __init__(self, seen: dict[str, Any], folder: Path, box: Box) -> None:
        self.seen, self.box = seen, box
        self.codes = (str(folder), str(folder.resolve()), f"{box.root}/cache/", str(box.outside))
        self.hub = int(os.environ["HF_ENDPOINT"].rpartition(":")[2])

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.off:
            return
        if event == "builtins.input":
            self.seen["asked"] = True
        elif event == "exec":
            self._note("ran", getattr(arguments[0], "co_filename", ""), self.codes)
        elif event == "ctypes.dlopen":
            self._note("ran", str(arguments[0]), (str(self.box.root),))
        elif event in ("os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "pty.spawn"):
            name = os.fsdecode(arguments[0] or "?") if isinstance(arguments[0], str | bytes) else str(arguments[0])
            self._add("ran", f"{event} {Path(name).name}")
        elif event == "pickle.find_class":
            if f"{arguments[0]}" in ("builtins", "os", "posix", "pathlib", "subprocess", "nt"):
                self._add("ran", f"pickle {arguments[0]}.{arguments[1]}")
        elif event == "open" and isinstance(arguments[0], str | bytes):
            self._open(os.fsdecode(arguments[0]), arguments[1], arguments[2] or 0)
        elif event in ("socket.connect", "socket.sendto"):
            address = arguments[1]
            if isinstance(address, tuple) and address[1] != self.hub:
                self._add("sent", f"connection to {address[0]}")
                raise ConnectionRefusedError(f"no network for {address}")
        elif event == "socket.getaddrinfo" and arguments[0] not in ("127.0.0.1", b"127.0.0.1", "localhost", None):
            self._add("sent", f"name {arguments[0]}")
            raise ConnectionRefusedError(f"no network for {arguments[0]}")

    def _open(self, path: str, mode: Any, flags: int) -> None:
        writes = any(each in str(mode or "") for each in "wax+") or flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if writes and path != os.devnull:
            full = os.path.realpath(path)
            if not full.startswith(("/dev/", "/proc/", str(self.box.root))):
                self._add("written", full)
        elif path.startswith(("/dev/zero", "/etc/passwd")):
            self._add("opened", path)

    def _note(self, what: str, path: str, places: tuple[str, ...]) -> None:
        if path.startswith(places):
            self._add(what, path)

    def _add(self, what: str, entry: str) -> None:
        if entry not in self.seen[what]:
            self.seen[what].append(entry)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
