"""Tokens and private keys that a change would carry into the repository, known by their makers' marks."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from orchestrator.domain.judging.verdict import Finding
from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.files.classification import is_example_content
from orchestrator.judge.rules.prompt_injection import AddedLine
from orchestrator.redact.token_patterns import TOKEN_RULES

_BY_CHANCE = frozenset({"jwt", "authorization", "url-password"})
"""Kinds without a maker's mark: what looks like one may well be a sample."""
_Seen = tuple[str, int, str]
"""The kind of a token, its line, and the token itself, which is never told."""


def check_credentials(
    files: Sequence[ChangedFile], lines: Iterable[AddedLine], is_granted: Callable[[str], bool]
) -> Iterator[Finding]:
    """A finding for each token in added lines that no changed file held before; it blocks where nothing is sampled."""
    added: dict[str, list[AddedLine]] = {}
    for line in lines:
        added.setdefault(line.path, []).append(line)
    suspects = {path: seen for path, its in added.items() if (seen := list(_tokens(its)))}
    old = _old(files, {token for seen in suspects.values() for _, _, token in seen})
    for path, seen in suspects.items():
        for kind, number in dict.fromkeys((kind, number) for kind, number, token in seen if token not in old):
            is_certain, granted = kind not in _BY_CHANCE and not is_example_content(path), is_granted(path)
            is_red = is_certain and not granted
            if is_red:
                mend = ": take it out, and read it from the environment in its place"
            else:
                mend = ""
            text = f"{path}:{number} holds what looks like a {kind}{mend}"
            yield Finding(rule="credential", text=text, is_blocking=is_red, is_granted=is_certain and granted)


def _old(files: Sequence[ChangedFile], tokens: set[str]) -> frozenset[str]:
    """Those that a changed file held on the base already: they were moved."""
    before = [file.before for file in files if file.before] if tokens else []
    return frozenset(token for token in tokens if any(token.encode() in content for content in before))


def _tokens(lines: Sequence[AddedLine]) -> Iterator[_Seen]:
    text = "\n".join(line.text for line in lines)
    taken: list[tuple[int, int]] = []
    for rule in TOKEN_RULES:
        for start, end in rule.find_spans(text):
            if not any(start < other_end and other_start < end for other_start, other_end in taken):
                taken.append((start, end))
                yield rule.kind, lines[text.count("\n", 0, start)].number, text[start:end]
