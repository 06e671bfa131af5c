"""Support that only gains: code as a test file may grow, tables and lists in which everything old still stands."""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from orchestrator.domain.text.encoding import decode_json
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.source.additions_only import describe_non_additive_change

_TABLES = frozenset({".csv", ".tsv", ".jsonl", ".ndjson", ".txt", ".yml", ".yaml"})
_REQUIREMENTS = compile_lazily(rb"(?:^|/)[\w.-]*(?:requirements|constraints)[\w.-]*\.(?:txt|in)$")
_REQUIREMENT = compile_lazily(rb"\s*(?:#.*|[A-Za-z0-9][\w.-]*(?:\[[\w,. -]*\])?\s*(?:[<>=!~][^#@]*)?(?:#.*)?)?")


def has_only_additions(file: ChangedFile) -> bool:
    """Return True if a file of the base holds all that it held, in the same order. Blocks.

    The gate runs with the base's file as well, so what an addition does to old tests is seen there.
    """
    if file.before is None or file.after is None or file.old_mode != file.new_mode:
        return False
    suffix = PurePosixPath(file.path).suffix.lower()
    if file.is_python:
        return not describe_non_additive_change(file.before, file.after)
    if suffix == ".json":
        return _json_grew(file.before, file.after)
    if _REQUIREMENTS.search(file.path.encode("utf-8", "surrogateescape")):
        return _requirements_grew(file.before, file.after)
    return suffix in _TABLES and _is_subsequence(file.before.splitlines(), file.after.splitlines())


def _json_grew(before: bytes, after: bytes) -> bool:
    try:
        return _contains(decode_json(after.decode()), decode_json(before.decode()))
    except (ValueError, RecursionError):
        return False


def _contains(new: object, old: object) -> bool:
    if isinstance(old, dict) and isinstance(new, dict):
        return all(key in new and _contains(new[key], value) for key, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        return _is_subsequence(map(repr, old), map(repr, new))
    return type(old) is type(new) and old == new


def _requirements_grew(before: bytes, after: bytes) -> bool:
    """Return True if nothing but plain names of packages came in: no options, addresses or files."""
    old, new = before.splitlines(), after.splitlines()
    added = [line for line in new if line not in old]
    return _is_subsequence(old, new) and all(re.fullmatch(_REQUIREMENT.pattern, line) for line in added)


def _is_subsequence(old: Iterable[object], new: Iterable[object]) -> bool:
    rest = iter(new)
    return all(line in rest for line in old)
