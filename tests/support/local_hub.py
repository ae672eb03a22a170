"""A small server with the Hub's protocol, for tests that push a model and load it again.

It keeps repositories of models in memory as commits, which map file names to the SHA-256 of the contents. It answers
the requests of `huggingface_hub` that create a repository, commit to it (with large files through LFS), read it, check
a card and collect repositories. It refuses tokens, and fails where a `Fault` says so.
"""

import base64
import hashlib
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import transformers
from huggingface_hub import close_session, constants, hf_api
from huggingface_hub.utils import _http

from support.card_rules import card_errors

USER = "tester"
DOWNLOAD = "{repo_id}/resolve/{revision}/{filename}"
REFUSED, READER = "hf_refused", "hf_reader"  # tokens: one that is not valid, and one that may not write
LARGE_FILES = (".safetensors", ".bin", ".pt", ".onnx")  # uploaded through LFS


@dataclass
class Repository:
    """The commits of a repository, {commit: {file name: SHA-256 of its contents}}, and the head of its branch."""

    head: str
    commits: dict[str, dict[str, str]]
    private: bool = False


@dataclass
class Collection:
    """A collection of repositories."""

    slug: str
    title: str
    private: bool
    items: list[str] = field(default_factory=list)

    def describe(self) -> dict[str, Any]:
        """Return the Hub's answer about it."""
        items = [{"_id": name, "id": name, "type": "model", "position": n} for n, name in enumerate(self.items)]
        others = {"lastUpdated": "2026-01-01T00:00:00.000Z", "position": 0, "theme": "blue", "upvotes": 0}
        return {**vars(self), "owner": {"name": USER}, "items": items, **others}


@dataclass
class Fault:
    """An error that requests get.

    Attributes:
        part: A part of the path of these requests.
        method: Their method.
        status: The answer; None cuts the connection after half of what was sent.
        message: The Hub's words for it.
        forget: Whether what was sent is answered as if it were stored, and forgotten.
        times: How often.
    """

    part: str
    method: str = "PUT"
    status: int | None = None
    message: str = ""
    forget: bool = False
    times: int = 1


@dataclass
class Storage:
    """The server's repositories by name, and the contents of all files by their SHA-256."""

    repositories: dict[str, Repository] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    collections: dict[str, Collection] = field(default_factory=dict)

    def add(self, content: bytes) -> str:
        """Store a content and return its SHA-256."""
        digest = hashlib.sha256(content).hexdigest()
        self.contents[digest] = content
        return digest

    def files(self, repository: str) -> dict[str, bytes]:
        """Return the files of a repository's last commit."""
        found = self.repositories[repository]
        return {name: self.contents[digest] for name, digest in found.commits[found.head].items()}


class Refused(Exception):
    """A request is refused, with the Hub's error message and, for what does not exist, its error code."""

    def __init__(self, message: str, status: int = 404, commit: str | None = None):
        super().__init__(message)
        self.status = status
        self.headers = {"X-Error-Message": message}
        self.headers |= {"X-Error-Code": message} if status == 404 else {}
        self.headers |= {"X-Repo-Commit": commit} if commit else {}


class LocalHub(ThreadingHTTPServer):
    """The server, on a free port of this machine. `HF_ENDPOINT` must be set to its `url`."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.storage = Storage()
        self.faults: list[Fault] = []
        self.requests: list[str] = []  # methods and paths, in their order


@contextmanager
def local_hub() -> Iterator[LocalHub]:
    """Serve while the block runs."""
    with LocalHub() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


@contextmanager
def used_hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    """Serve while the block runs, to this process, without pauses before requests are repeated."""
    with local_hub() as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", f"{server.url}/{DOWNLOAD}")
        monkeypatch.setattr(hf_api.api, "endpoint", server.url)
        monkeypatch.setattr(transformers.utils.hub, "_hf_api", None, raising=False)  # what transformers keeps
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_PROGRESS_BARS", True)
        monkeypatch.setattr(_http.time, "sleep", lambda seconds: None)
        monkeypatch.setenv("HF_TOKEN", "hf_local")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        close_session()
        yield server
        close_session()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: LocalHub

    def log_message(self, *_: Any) -> None:
        """Log nothing, because pytest shows what the server's clients report."""

    def handle_any(self) -> None:
        self.server.requests.append(f"{self.command} {self.path}")
        fault = self._find_fault()
        if fault is not None and fault.status is None and not fault.forget:
            self.rfile.read(int(self.headers.get("Content-Length") or 0) // 2)
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        body = self._read_body()
        parts = unquote(urlsplit(self.path).path).strip("/").split("/")
        try:
            self._check_token(parts)
            if fault is not None and fault.forget:
                self._reply({})
                return
            if fault is not None:
                raise Refused(fault.message, fault.status)
            match parts:
                case ["api", "whoami-v2"]:
                    self._reply({"type": "user", "name": USER, "orgs": [], "auth": {"type": "access_token"}})
                case ["api", "validate-yaml"]:
                    errors = [{"message": each} for each in card_errors(json.loads(body)["content"])]
                    self._reply({"errors": errors, "warnings": []}, status=400 if errors else 200)
                case ["api", "collections"]:
                    self._create_collection(json.loads(body))
                case ["api", "collections", owner, name]:
                    self._reply(self.server.storage.collections[f"{owner}/{name}"].describe())
                case ["api", "collections", owner, name, "items"]:
                    self._collect(f"{owner}/{name}", json.loads(body))
                case ["api", "repos", "create"]:
                    self._create(json.loads(body))
                case ["api", "models", owner, name]:
                    self._describe(f"{owner}/{name}", "main")
                case ["api", "models", owner, name, "revision", revision]:
                    self._describe(f"{owner}/{name}", revision)
                case ["api", "models", owner, name, "tree", revision, *_]:
                    self._list(f"{owner}/{name}", revision)
                case ["api", "models", owner, name, "preupload", revision]:
                    self._choose_upload_modes(f"{owner}/{name}", revision, json.loads(body))
                case ["api", "models", owner, name, "commit", "main"]:
                    self._commit(f"{owner}/{name}", body)
                case [_, name, "info", "lfs", "objects", "batch"] if name.endswith(".git"):
                    self._offer_lfs(json.loads(body))
                case ["_lfs", digest]:
                    self._receive_lfs(digest, body)
                case [owner, name, "resolve", revision, *path]:
                    self._send_file(f"{owner}/{name}", revision, "/".join(path))
                case _:
                    raise Refused("EntryNotFound")
        except Refused as refused:
            self._reply({"error": str(refused)}, status=refused.status, headers=refused.headers)

    do_GET = do_HEAD = do_POST = do_PUT = handle_any

    def _find_fault(self) -> Fault | None:
        for fault in self.server.faults:
            if fault.times and fault.part in self.path and fault.method == self.command:
                fault.times -= 1
                return fault
        return None

    def _check_token(self, parts: list[str]) -> None:
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if token == REFUSED:
            raise Refused("Invalid credentials in Authorization header", 401)
        writes = parts[-2:] == ["repos", "create"] or "commit" in parts or "collections" in parts
        if token == READER and writes:
            raise Refused("You don't have the rights to do this", 403)

    def _read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size + 2)[:size]  # a line end follows
        self.rfile.readline()
        return body

    def _reply(self, content: bytes | Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        kind = "application/octet-stream" if isinstance(content, bytes) else "application/json"
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _find(self, repository: str, revision: str) -> tuple[str, dict[str, str]]:
        """Return the commit that a revision names, and its files."""
        found = self.server.storage.repositories.get(repository)
        if found is None:
            raise Refused("RepoNotFound")
        commit = found.head if revision == "main" else revision
        if commit not in found.commits:
            raise Refused("RevisionNotFound")
        return commit, found.commits[commit]

    def _create(self, request: dict[str, Any]) -> None:
        name = f"{request.get('organization') or USER}/{request['name']}"
        repositories = self.server.storage.repositories
        status = 409 if name in repositories else 200  # the client reads 409 as "it exists"
        first = hashlib.sha1(name.encode()).hexdigest()
        # huggingface_hub 1 sends the first, later ones the second.
        private = bool(request.get("private")) or request.get("visibility") == "private"
        repositories.setdefault(name, Repository(head=first, commits={first: {}}, private=private))
        self._reply({"url": f"{self.server.url}/{name}", "name": name, "id": name}, status)

    def _describe(self, repository: str, revision: str) -> None:
        commit, files = self._find(repository, revision)
        siblings = [{"rfilename": name} for name in sorted(files)]
        private = self.server.storage.repositories[repository].private
        self._reply({"id": repository, "sha": commit, "siblings": siblings, "tags": [], "private": private})

    def _list(self, repository: str, revision: str) -> None:
        _, files = self._find(repository, revision)
        self._reply([self._describe_file(name, digest) for name, digest in sorted(files.items())])

    def _describe_file(self, name: str, digest: str) -> dict[str, Any]:
        content = self.server.storage.contents[digest]
        blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()  # the object id that git gives it
        lfs = {"oid": digest, "size": len(content), "pointerSize": 134}
        entry = {"type": "file", "path": name, "size": len(content), "oid": blob}
        return {**entry, "lfs": lfs} if name.endswith(LARGE_FILES) else entry

    def _choose_upload_modes(self, repository: str, revision: str, request: dict[str, Any]) -> None:
        _, files = self._find(repository, revision)
        answers = []
        for name in (file["path"] for file in request["files"]):
            there = self._describe_file(name, files[name]) if name in files else {}
            mode = "lfs" if name.endswith(LARGE_FILES) else "regular"
            oid = there.get("lfs", there).get("oid")
            answers.append({"path": name, "shouldIgnore": False, "oid": oid, "uploadMode": mode})
        self._reply({"files": answers})

    def _commit(self, repository: str, body: bytes) -> None:
        head, files = self._find(repository, "main")
        files = dict(files)
        for operation in map(json.loads, body.splitlines()):
            value = operation["value"]
            match operation["key"]:
                case "header":
                    if value.get("parentCommit", head) != head:
                        raise Refused("A commit has happened since. Please refresh and try again.", 412)
                case "deletedFile":
                    del files[value["path"]]
                case "file":
                    files[value["path"]] = self.server.storage.add(base64.b64decode(value["content"]))
                case "lfsFile":
                    if value["oid"] not in self.server.storage.contents:
                        raise Refused(f"LFS pointer pointed to a file that does not exist: {value['path']}", 400)
                    files[value["path"]] = value["oid"]
        commit = hashlib.sha1(head.encode() + body).hexdigest()
        found = self.server.storage.repositories[repository]
        found.commits[commit] = files
        found.head = commit
        self._reply({"success": True, "commitOid": commit, "commitUrl": f"{self.server.url}/{repository}"})

    def _create_collection(self, request: dict[str, Any]) -> None:
        slug = f"{request['namespace']}/{request['title'].lower().replace(' ', '-')}-{'0' * 24}"
        known = slug in self.server.storage.collections
        made = self.server.storage.collections.setdefault(
            slug, Collection(slug, request["title"], bool(request.get("private")))
        )
        self._reply(made.describe(), status=409 if known else 200)

    def _collect(self, slug: str, request: dict[str, Any]) -> None:
        found, name = self.server.storage.collections[slug], request["item"]["id"]
        known = name in found.items
        if not known:
            found.items.append(name)
        self._reply(found.describe(), status=409 if known else 200)

    def _offer_lfs(self, request: dict[str, Any]) -> None:
        objects = []
        for wanted in request["objects"]:
            link = {"href": f"{self.server.url}/_lfs/{wanted['oid']}"}
            known = wanted["oid"] in self.server.storage.contents
            objects.append(wanted if known else {**wanted, "actions": {"upload": link, "verify": link}})
        self._reply({"transfer": "basic", "objects": objects})

    def _receive_lfs(self, digest: str, body: bytes) -> None:
        if self.command == "PUT" and self.server.storage.add(body) != digest:
            self._reply({"error": "the SHA-256 does not match"}, status=400)
        else:
            self._reply({})

    def _send_file(self, repository: str, revision: str, name: str) -> None:
        commit, files = self._find(repository, revision)
        if name not in files:
            raise Refused("EntryNotFound", commit=commit)
        headers = {"X-Repo-Commit": commit, "ETag": f'"{files[name]}"'}
        self._reply(self.server.storage.contents[files[name]], headers=headers)
