"""Pushing the folder of a saved model to the Hub: the model, its tokenizer, code, card, figures and ONNX files.

What is sent is named in `push_files.py`, so that checkpoints, pickles, test data and the files of a running training
stay at home. A repository gets one commit: it has all of the new files or none.
"""

import hashlib
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from dataclasses import replace as with_changes
from pathlib import Path

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
from huggingface_hub.errors import (
    HfHubHTTPError,
    HFValidationError,
    HTTPError,
    LocalTokenNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)
from huggingface_hub.hf_api import RepoFile

from .card import CARD, is_unedited, keep_entries, make_card
from .card_facts import METRICS, CardFacts, is_of_this_package
from .card_words import in_one_line, name_some
from .push_files import READ_BESIDE_ONNX, PushFiles, is_model_file, select_files

_ATTEMPTS = 3
_SECONDS = 5  # before the second attempt
_SENT_IS_KEPT = "If something was sent, it is kept: push again, and the rest is sent."
_CHANGED = "{repository} was changed by somebody else meanwhile ({status}): push again."
_ANSWERS = {  # what the status of an answer means
    400: "The Hub refuses the files for {repository} (400): {said}",
    401: "The Hub refuses the token (401): `hf auth login` with a valid one, or set HF_TOKEN.",
    403: "The token may not write to {repository} (403): give one that may, or the name of a repository of yours.",
    404: "The Hub has no {repository}, or the token may not see it (404): check both.",
    409: _CHANGED,
    412: _CHANGED,
}


class PushError(RuntimeError):
    """A push that was not made. The message is one line: what was found, what was expected, what to do."""


@dataclass(frozen=True)
class PushPlan:
    """The changes that a push would make to a repository.

    Attributes:
        repository: Its name, with that of its owner.
        exists: Whether the Hub has it.
        added: Files that it lacks.
        changed: Files that it has with other contents, which would be replaced.
        removed: Weights, code and ONNX files that it has and the folder lacks.
        unchanged: Files that it has already.
        left_out: Names of what is in the folder and is not sent. Folders end in `/`, and links, which are not
            followed, are said to be links.
    """

    repository: str
    exists: bool
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def replaces(self) -> bool:
        """Whether files of the repository would be replaced or removed."""
        return bool(self.changed or self.removed)

    def __str__(self) -> str:
        left_out = f" Left out: {name_some(self.left_out)}." if self.left_out else ""
        if not (self.added or self.replaces):
            return f"{self.repository}: nothing to send, it has all {len(self.unchanged)} files already.{left_out}"
        parts = {"add": self.added, "replace": self.changed, "remove": self.removed}
        listed = "; ".join(f"{verb} {name_some(names)}" for verb, names in parts.items() if names)
        return f"{self.repository}{'' if self.exists else ' (new)'}: {listed}.{left_out}"


@dataclass
class _Push:
    """A push to one repository that has been prepared."""

    plan: PushPlan
    files: Mapping[str, Path | bytes]
    head: str | None = None
    is_private: bool | None = None
    api: HfApi = field(default_factory=HfApi)


def plan_push(
    folder: str | Path, repo_id: str, *, private: bool = True, collection: str | None = None, token: str | None = None
) -> list[PushPlan]:
    """Return what `push_folder` with the same arguments would do. Nothing is sent and nothing is created.

    Returns:
        A plan for the repository and, with a collection, one for that of the ONNX files.

    Raises:
        PushError: As in `push_folder`, except that files may differ.
    """
    return [each.plan for each in _prepare(folder, repo_id, private, collection, token)]


def push_folder(
    folder: str | Path,
    repo_id: str,
    *,
    private: bool = True,
    replace: bool = False,
    collection: str | None = None,
    token: str | None = None,
) -> str:
    """Push a saved model to the Hub, in one commit.

    The card is filled in again with the repository's name, unless it was edited. After a lost connection the push is
    tried again; if that fails too, the same call later sends only what is missing.

    Args:
        folder: The folder of a saved model, such as the output folder of a recipe.
        repo_id: Name of the repository, such as `ana/accents`; without an owner, it is the user's own. It is created
            if it does not exist.
        private: Whether only its owner sees it. For an existing repository, it must match the visibility that it has,
            which is never changed.
        replace: Whether files that the repository has with other contents may be replaced, and weights, code and ONNX
            files that the folder lacks be removed.
        collection: Title of a collection of the model and, in a repository `…-onnx` of their own, its ONNX files. The
            collection is created if the owner has none of this title.
        token: Token of the Hub; by default that of `hf auth login` or HF_TOKEN.

    Returns:
        The address of the repository, or of the collection.

    Raises:
        PushError: If the folder holds no complete model with its tokenizer, files would be replaced without `replace`,
            the repository's visibility is another one, the token is refused or may not write there, the repository is
            full, or the Hub cannot be reached.
    """
    pushes = _prepare(folder, repo_id, private, collection, token)
    if not replace and any(each.plan.replaces for each in pushes):
        listed = " ".join(str(each.plan) for each in pushes if each.plan.replaces)
        raise PushError(f"The repository has files that differ. {listed} Give replace=True, or another repository.")
    for each in pushes:
        with _as_push_error(each.plan.repository):
            _send(each, private)
    api, repository = pushes[0].api, pushes[0].plan.repository
    if collection is None:
        return f"{api.endpoint}/{repository}"
    with _as_push_error(repository):
        owner = repository.partition("/")[0]
        found = api.create_collection(collection, namespace=owner, private=private, exists_ok=True)
        for each in pushes:
            api.add_collection_item(found.slug, each.plan.repository, "model", exists_ok=True)
    return f"{api.endpoint}/collections/{found.slug}"


def check_pushable(repo_id: str, *, private: bool = True, replace: bool = False, token: str | None = None) -> None:
    """Check, before a model is trained, that it can be pushed to a repository afterwards.

    Raises:
        PushError: If the token is refused, the repository's visibility is another one, it has a model, or files
            that would be replaced, and `replace` is not given, or the Hub cannot be reached.
    """
    api = HfApi(token=token)
    with _as_push_error(repo_id):
        repository = _full_name(api, repo_id)
        found = _compare(api, repository, dict.fromkeys((CARD, METRICS, *READ_BESIDE_ONNX), b""))
    _check_visibility(found, private)
    if (found.plan.removed or found.plan.changed) and not replace:
        there = "a model" if found.plan.removed else name_some(found.plan.changed)
        raise PushError(f"{repository} has {there} already: give another repository, or allow it to be replaced.")


def _full_name(api: HfApi, repo_id: str) -> str:
    return repo_id if "/" in repo_id else f"{api.whoami()['name']}/{repo_id}"


def _check_visibility(push: _Push, private: bool) -> None:
    if push.is_private is not None and push.is_private != private:
        raise PushError(
            f"{push.plan.repository} is {'private' if push.is_private else 'public'} and private={private} was given: "
            "change it in the repository's settings, or give the other."
        )


def _prepare(
    folder: str | Path, repo_id: str, private: bool, collection: str | None, token: str | None
) -> list[_Push]:
    """Read the folder and the repositories, and compare them."""
    folder, api = Path(folder), HfApi(token=token)
    with _as_push_error(repo_id):
        found = select_files(folder)
        if collection is not None and not found.onnx:
            raise PushError(f"{folder} has no onnx folder for the collection: `atenta export {folder}` makes it.")
        repository = _full_name(api, repo_id)
        sent = {name: path for name, path in found.sent.items() if collection is None or name not in found.onnx}
        pushes = [_compare(api, repository, {**sent, **_card(folder, found, repository)})]
        pushes[0].plan = with_changes(pushes[0].plan, left_out=found.left_out)
        if collection is not None:
            variant = f"{repository}-onnx"
            card = make_card(folder, _facts(folder, found), repository=variant, base_model=repository)
            readers = {
                name: path for name, path in found.sent.items() if name in READ_BESIDE_ONNX or name.endswith(".txt")
            }
            pushes.append(_compare(api, variant, {**readers, **found.onnx, CARD: str(card).encode()}))
    for each in pushes:
        _check_visibility(each, private)
    return pushes


def _card(folder: Path, found: PushFiles, repository: str) -> dict[str, Path | bytes]:
    """Return the card, filled in with the repository's name unless a person has written or edited it."""
    path = found.sent.get(CARD)
    if path is not None:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise PushError(f"{path}: expected a card in UTF-8 ({error})") from None
        if not is_unedited(text.partition("\n---\n")[2]):
            return {CARD: path}
    if not is_of_this_package(folder):
        return {} if path is None else {CARD: path}
    made = make_card(folder, _facts(folder, found), repository=repository)
    if path is not None:
        made = keep_entries(made, path, [make_card(folder, each) for each in (_facts(folder, found), CardFacts())])
    return {CARD: str(made).encode()}


def _facts(folder: Path, found: PushFiles) -> CardFacts:
    """Return what the card states of the training, from the folder's own file only."""
    return CardFacts.read(folder) if METRICS in found.sent else CardFacts()


def _compare(api: HfApi, repository: str, files: Mapping[str, Path | bytes]) -> _Push:
    try:
        found = api.model_info(repository)
    except RepositoryNotFoundError:
        api.whoami()  # the Hub also calls a repository missing if a refused token may not see it
        return _Push(PushPlan(repository, exists=False, added=tuple(files)), files, api=api)
    there = {
        each.path: each
        for each in api.list_repo_tree(repository, recursive=True, revision=found.sha)
        if isinstance(each, RepoFile)
    }
    same = {name for name, content in files.items() if name in there and _is_same(content, there[name])}
    plan = PushPlan(
        repository,
        exists=True,
        added=tuple(name for name in files if name not in there),
        changed=tuple(name for name in files if name in there and name not in same),
        removed=tuple(name for name in there if name not in files and is_model_file(name)),
        unchanged=tuple(sorted(same)),
    )
    return _Push(plan, files, found.sha, found.private, api)


def _is_same(content: Path | bytes, there: RepoFile) -> bool:
    data = content if isinstance(content, bytes) else content.read_bytes()
    if there.lfs is not None:
        return hashlib.sha256(data).hexdigest() == there.lfs.sha256
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest() == there.blob_id


def _send(push: _Push, private: bool) -> None:
    """Make the commit; again, if the connection is lost, with what is still missing then."""
    plan = push.plan
    if not plan.exists:
        push.api.create_repo(plan.repository, private=private, exist_ok=True)
        push.head = push.api.model_info(plan.repository).sha
    for attempt in range(_ATTEMPTS):
        if not (plan.added or plan.replaces):
            return
        operations: list[CommitOperationAdd | CommitOperationDelete] = [
            *(CommitOperationAdd(name, push.files[name]) for name in (*plan.added, *plan.changed)),
            *(CommitOperationDelete(name) for name in plan.removed),
        ]
        try:
            push.api.create_commit(
                plan.repository, operations, commit_message="Pushed by atenta", parent_commit=push.head
            )
            return
        except Exception as error:
            if attempt + 1 == _ATTEMPTS or not _is_lost(error):
                raise
            time.sleep(_SECONDS)
            # The Hub may have made the commit of which it could not tell.
            again = _compare(push.api, plan.repository, push.files)
            plan, push.head = again.plan, again.head


def _is_lost(error: BaseException) -> bool:
    """Return whether a connection was lost, or the Hub was out of order for a moment."""
    root = _root(error)
    if isinstance(root, HfHubHTTPError):
        return root.response is not None and root.response.status_code in (408, 429, 500, 502, 503, 504)
    return isinstance(root, HTTPError | ConnectionError | TimeoutError) and not isinstance(root, OfflineModeIsEnabled)


def _root(error: BaseException) -> BaseException:
    """Return the error of the Hub behind that of the upload of a file."""
    cause = error.__cause__
    return cause if type(error) is RuntimeError and cause is not None else error


@contextmanager
def _as_push_error(repository: str) -> Iterator[None]:
    """Raise a `PushError` of one line for the errors of the Hub."""
    try:
        yield
    except PushError:
        raise
    except (HTTPError, OSError, RuntimeError, ValueError) as error:
        raise PushError(_explain(_root(error), repository)) from error


def _explain(error: BaseException, repository: str) -> str:
    said = in_one_line(str(getattr(error, "server_message", None) or error))
    if isinstance(error, OfflineModeIsEnabled):
        return "HF_HUB_OFFLINE is set, so nothing can be sent: unset it."
    if isinstance(error, LocalTokenNotFoundError):
        return "No token of the Hub was found: `hf auth login`, or set HF_TOKEN."
    if isinstance(error, HFValidationError):
        expected = "expected OWNER/NAME of letters, digits, -, _ and ."
        return f"{repository!r} is not the name of a repository: {expected} ({said})"
    if isinstance(error, ValueError) and not isinstance(error, HfHubHTTPError):  # of a file here, or of the metadata
        return said
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename} cannot be read: {error.strerror}."
    if not isinstance(error, HfHubHTTPError) or error.response is None:
        cause = f"{type(error).__name__}: {said}"
        return f"The connection to the Hub was lost or cannot be made ({cause}). {_SENT_IS_KEPT}"
    status = error.response.status_code
    if status in (413, 507) or (status in (402, 403) and "storage" in said.lower()):
        return f"{repository} is full: the Hub says {said!r} ({status}). Free some space there, or push elsewhere."
    return _ANSWERS.get(status, "The Hub answers {status} for {repository}: {said}. " + _SENT_IS_KEPT).format(
        status=status, repository=repository, said=said
    )
