"""Who owns a file: CODEOWNERS as GitHub and GitLab read it. The last rule that fits a path decides."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from pathspec.patterns.gitignore.base import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from orchestrator.errors import UsageProblem

OWNERS_FILES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
"""Where it is looked for; the first one counts."""
_WORD = re.compile(r"(?:\\.|[^\s\\])+")
_SECTION = re.compile(r"\^?\[[^\]]+\](?:\[\d+\])?(?P<owners>(?:\s+[^\s#]+)*)\s*(?:#.*)?")


@dataclass(frozen=True)
class _Rule:
    pattern: re.Pattern[str]
    owners: str


def find_owners_file(paths: Collection[str], wanted: str = "auto") -> str | None:
    """The path of the file that names owners; None if `auto` finds none.

    Raises:
        UsageProblem: the wanted one is not there.
    """
    if wanted == "auto":
        return next((place for place in OWNERS_FILES if place in paths), None)
    if wanted not in paths:
        told = f"codeowners = {wanted!r}: the base commit has no such file; write a path, or 'auto'"
        raise UsageProblem(told, ("shard", "codeowners"))
    return wanted


def match_owners(text: str, paths: Iterable[str]) -> Mapping[str, str]:
    """The owners of each path, as in `@core @infra`; empty for those that nobody owns."""
    rules = [*_rules(text)][::-1]
    return {path: next((rule.owners for rule in rules if rule.pattern.match(path)), "") for path in paths}


def _rules(text: str) -> Iterator[_Rule]:
    """The rules in order; lines that are none, such as negated patterns, are left out as the forges do."""
    default = ""
    for line in text.splitlines():
        section = _SECTION.fullmatch(line.strip())
        if section:
            default = " ".join(section["owners"].split())
            continue
        words = _WORD.findall(line)
        if not words or words[0].startswith(("#", "!")):
            continue
        pattern = _compiled(words[0])
        if pattern is not None:
            yield _Rule(pattern, " ".join(_owners(words[1:])) or default)


def _owners(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        if word.startswith("#"):
            return
        yield word


def _compiled(glob: str) -> re.Pattern[str] | None:
    """What fits the glob: as in .gitignore, but `dir/*` does not reach into directories below `dir`."""
    try:
        compiled = GitIgnoreSpecPattern(glob).regex
    except (GitIgnorePatternError, re.error):
        return None
    if compiled is None:
        return None
    if "/" in glob and glob.endswith("/*"):
        return re.compile(compiled.pattern.rpartition("(?:")[0] + "$")
    return compiled
