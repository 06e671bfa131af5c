"""The order of a patch of which a reviewer cannot see all: code first, and the short before the long."""

import re

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.files.changed_file import is_test_path
from orchestrator.judge.files.classification import is_document, is_lock_file, is_sample
from worktrees.diffs.file_diffs import Diff

_FILE = compile_lazily(r"^(?=diff --git )", re.MULTILINE)


def order_patch(patch: str, changed: Diff, most_chars: int) -> tuple[str, tuple[str, ...]]:
    """Return the patch, and the files of which its first `most_chars` characters do not hold everything.

    One that is short enough stays as it is. Of others code comes first, then tests, then what is read least, each from
    the shortest file to the longest.

    Args:
        patch: git's, of all files.
        changed: the same change, its files in the same order.
        most_chars: how much of it is shown.
    """
    if len(patch) <= most_chars:
        return patch, ()
    pieces = list(filter(None, _FILE.split(patch)))
    if len(pieces) != len(changed.files):  # git ended early: of the last files there is nothing
        return patch, changed.paths
    paths = [file.path for file in changed.files]
    ordered = sorted(zip(paths, pieces, strict=True), key=lambda one: (_get_rank(one[0]), len(one[1])))
    unseen, end = [], 0
    for path, piece in ordered:
        end += len(piece)
        if end > most_chars:
            unseen.append(path)
    return "".join(piece for _, piece in ordered), tuple(unseen)


def _get_rank(path: str) -> int:
    if is_lock_file(path) or is_sample(path) or is_document(path):
        return 2
    if is_test_path(path):
        return 1
    return 0
