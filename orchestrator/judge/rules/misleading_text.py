"""Added text that misleads: it speaks to reviewers, is not seen by readers, looks like another name, is a secret.

It is told, never obeyed. A change is judged by what it does, so the same change with and without text to reviewers has
the same verdict.
"""

import tokenize
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from orchestrator.domain.judging.verdict import Finding, RuleId
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.files.changed_file import AddedLine, ChangedFile, group_by_path
from orchestrator.judge.files.classification import is_example_content
from orchestrator.judge.rules.change_facts import ChangeFacts, build_flag
from orchestrator.judge.source import reviewer_addresses
from orchestrator.judge.source.python_syntax import tokenize_python
from orchestrator.redact.token_patterns import TOKEN_RULES

_LOOK_LATIN = frozenset("аеорсухіјѕһԁԛԝАВЕКМНОРСТХІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧο")
"""Letters of other scripts that look like Latin ones in every typeface."""
_BEYOND_ASCII = compile_lazily(rb"[\x80-\xff]")


def check_confusable_identifiers(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each such name where it stands first, unless the file had it on the base; none blocks."""
    for file in facts.files:
        if not file.is_python or file.after is None or not _BEYOND_ASCII.search(file.after):
            continue
        known = _find_names(file.before or b"")
        for name, line in _find_names(file.after).items():
            problem = _describe_problem(name)
            if problem and name not in known:
                text = f"{file.path}:{line} has the name {ascii(name)[1:-1]}, which {problem}"
                yield build_flag(RuleId.IDENTIFIER, text, file.path, line)


def _find_names(source: bytes) -> dict[str, int]:
    """Return names that are not plain ASCII, with the line of each where it stands first."""
    names: dict[str, int] = {}
    for token in tokenize_python(source) or ():
        if token.type == tokenize.NAME and not token.string.isascii():
            names.setdefault(token.string, token.start[0])
    return names


def _describe_problem(name: str) -> str:
    letters = list(filter(str.isalpha, name))
    if _LOOK_LATIN.isdisjoint(letters):
        plain = unicodedata.normalize("NFKC", name)
        return f"Python takes for {plain}" if plain.isascii() else ""
    if _LOOK_LATIN.issuperset(letters):
        return "looks like one in Latin letters, and is none"
    scripts = sorted({unicodedata.name(letter, "").partition(" ")[0] for letter in letters} - {""})
    if len(scripts) > 1 and "LATIN" in scripts:
        return f"mixes {' and '.join(map(str.capitalize, scripts))} letters"
    return ""


_ADVICE = ": take it out, and read it from the environment in its place"
_UNMARKED_KINDS = frozenset({"jwt", "authorization", "url-password"})
"""Kinds without a maker's mark: what looks like one may well be a sample."""


class _Token(NamedTuple):
    """A token in an added line; `text` is never told."""

    kind: str
    line: int
    text: str


def check_credentials(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each token in added lines that no changed file held before; it blocks outside of samples."""
    for path, lines in group_by_path(facts.lines).items():
        found = dict.fromkeys((token.kind, token.line) for token in _find_tokens(lines) if _is_new(token, facts.files))
        for kind, number in found:
            is_certain = kind not in _UNMARKED_KINDS and not is_example_content(path)
            text = f"{path}:{number} holds what looks like a {kind}"
            yield facts.build_finding(RuleId.CREDENTIAL, text, path, number, advice=_ADVICE, is_severe=is_certain)


def _is_new(token: _Token, files: Sequence[ChangedFile]) -> bool:
    """Return False if a changed file held the token on the base already: then it was moved."""
    content = token.text.encode()
    return not any(content in file.before for file in files if file.before)


def _find_tokens(lines: Sequence[AddedLine]) -> Iterator[_Token]:
    text = "\n".join(line.text for line in lines)
    taken: list[tuple[int, int]] = []
    for rule in TOKEN_RULES:
        for start, end in rule.find_spans(text):
            if not any(start < other_end and other_start < end for other_start, other_end in taken):
                taken.append((start, end))
                yield _Token(rule.kind, lines[text.count("\n", 0, start)].number, text[start:end])


_MAX_LINE_CHARS = 10_000


def check_prompt_injection(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each file's name and each added line that speaks to reviewers; none of them blocks."""
    for file in facts.files:
        if not file.is_deleted and reviewer_addresses.has_name_for_reviewers(file.path):
            name = reviewer_addresses.escape_hidden_text(file.path)
            text = f"the name of {name} speaks to whoever reviews it; it instructs nobody"
            yield build_flag(RuleId.ADDRESSED, text, name)
    for line in facts.lines:
        if reviewer_addresses.addresses_reviewers(line.text[:_MAX_LINE_CHARS]):
            where = f"{line.path}:{line.number}"
            text = f"{where} speaks to whoever reviews it; it is part of the change and instructs nobody"
            yield build_flag(RuleId.ADDRESSED, text, line.path, line.number)


def check_hidden_characters(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each added line with such a character; none of them blocks."""
    for line in facts.lines:
        hidden = reviewer_addresses.find_hidden_character(line.text[:_MAX_LINE_CHARS])
        if hidden is not None:
            name = unicodedata.name(hidden, "a control character")
            text = f"{line.path}:{line.number} holds U+{ord(hidden):04X} ({name}), which a reader does not see"
            yield build_flag(RuleId.HIDDEN_TEXT, text, line.path, line.number)
