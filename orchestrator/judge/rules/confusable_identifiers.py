"""Names in Python code that a reader takes for others: letters of two scripts in one, or letters of the wrong one."""

import tokenize
import unicodedata
from collections.abc import Iterator

from orchestrator.domain.judging.rules import RuleId
from orchestrator.domain.judging.verdict import Finding
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.source.python_syntax import tokenize_python

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
                yield Finding(rule=RuleId.IDENTIFIER, text=text, path=file.path, line=line, is_blocking=False)


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
