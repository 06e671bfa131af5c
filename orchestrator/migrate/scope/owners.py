"""Owners of files: CODEOWNERS as GitHub and GitLab read it. The last rule that fits a path decides."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from pathspec.patterns.gitignore.base import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.errors import UsageProblem

OWNERS_FILES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
"""The places of the file of owners; the first one counts."""
_WORD = compile_lazily(r"(?:\\.|[^\s\\])+")
_SECTION = compile_lazily(r"\^?\[[^\]]+\](?:\[\d+\])?(?P<owners>(?:\s+[^\s#]+)*)\s*(?:#.*)?")


@dataclass(frozen=True)
class _Rule:
    pattern: re.Pattern[str]
    owners: str


def find_owners_file(paths: Collection[str], wanted: str = "auto") -> str | None:
    """Return the path of the file that names owners; None if `auto` finds none.

    Raises:
        UsageProblem: the wanted one is not there.
    """
    if wanted == "auto":
        return next(filter(paths.__contains__, OWNERS_FILES), None)
    if wanted not in paths:
        text = f"codeowners = {wanted!r}: the base commit has no such file; write a path, or 'auto'"
        raise UsageProblem(text, ("shard", "codeowners"))
    return wanted


def match_owners(text: str, paths: Iterable[str]) -> Mapping[str, str]:
    """Return the owners of each path, as in `@core @infra`; empty for those that nobody owns."""
    rules = list(_parse_rules(text))
    owners = dict.fromkeys(paths, "")
    for path in owners:
        for rule in reversed(rules):
            if rule.pattern.match(path):
                owners[path] = rule.owners
                break
    return owners


def _parse_rules(text: str) -> Iterator[_Rule]:
    """Yield the rules in order; lines that are none, such as negated patterns, are left out as the forges do."""
    default = ""
    for line in text.splitlines():
        section = _SECTION.fullmatch(line.strip())
        if section:
            default = " ".join(section["owners"].split())
            continue
        words = _WORD.findall(line)
        if not words or words[0].startswith(("#", "!")):
            continue
        pattern = _compile_glob(words[0])
        if pattern is not None:
            yield _Rule(pattern, " ".join(_list_owners(words[1:])) or default)


def _list_owners(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        if word.startswith("#"):
            return
        yield word


def _compile_glob(glob: str) -> re.Pattern[str] | None:
    """Return the pattern that fits the glob.

    As in .gitignore, but `dir/*` does not reach into directories below `dir`.
    """
    try:
        compiled = GitIgnoreSpecPattern(glob).regex
    except (GitIgnorePatternError, re.error):
        return None
    if compiled is None:
        return None
    if "/" in glob and glob.endswith("/*"):
        return re.compile(compiled.pattern.rpartition("(?:")[0] + "$")
    return compiled
