"""The command lines that CI configuration runs, read from its lines: nothing else in it names files that are run."""

import re
from collections.abc import Iterator

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.files.path_globs import PathGlobs

_CONFIGURATIONS = PathGlobs(
    (
        *("/.github/workflows/**", "/.github/actions/**", "/.gitlab-ci.yml", "/.gitlab/**", "/.circleci/**"),
        *("/.travis.yml", "/azure-pipelines.yml"),
    )
)
_KEY = compile_lazily(
    r"^(?P<indent>[ ]*)(?P<dash>-[ ]+)?"
    r"(?P<key>run|script|before_script|after_script|before_install|install|command|commands|bash)"
    r":[ ]*(?P<value>.*)$"
)
_BLOCK = compile_lazily(r"[|>][-+0-9]*(?:\s+#.*)?$")


def is_ci_configuration(path: str) -> bool:
    """Return True if a CI system reads a file as the description of its jobs."""
    return _CONFIGURATIONS.match_file(path)


def iterate_ci_commands(text: str) -> Iterator[str]:
    """Yield the values of keys that hold commands: on the same line, as a block of lines, or as a list."""
    inside: int | None = None
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip(" "))
        if inside is not None and (not line.strip() or indent > inside or _is_listed(line, indent, inside)):
            yield re.sub(r"^-\s+", "", line.strip())
            continue
        inside = None
        if found := _KEY.match(line):
            value = found["value"].strip()
            inside = len(found["indent"]) + len(found["dash"] or "")
            if value and not _BLOCK.match(value):
                yield value.strip("'\"")


def _is_listed(line: str, indent: int, inside: int) -> bool:
    """Return True for an entry of a list that stands right below its key, as YAML allows."""
    return indent == inside and line.lstrip().startswith("- ")
