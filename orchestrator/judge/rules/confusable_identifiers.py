"""Names in Python code that a reader takes for others: letters of two scripts in one, or letters of the wrong one."""

import re
import tokenize
import unicodedata
from collections.abc import Iterator, Sequence

from orchestrator.domain.judging.verdict import Finding
from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.source.python_syntax import tokenize_python

_LOOK_LATIN = frozenset("аеорсухіјѕһԁԛԝАВЕКМНОРСТХІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧο")
"""Letters of other scripts that look like Latin ones in every typeface."""
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")


def check_confusable_identifiers(files: Sequence[ChangedFile]) -> Iterator[Finding]:
    """A finding for each name of that kind where it stands first, unless the file had it on the base. Blocks."""
    for file in files:
        if not file.is_python or file.after is None or not _BEYOND_ASCII.search(file.after):
            continue
        known = {name for name, _ in _names(file.before or b"")}
        for name, line in _names(file.after):
            if name not in known and (problem := _problem(name)):
                known.add(name)
                text = f"{file.path}:{line} has the name {ascii(name)[1:-1]}, which {problem}"
                yield Finding(rule="identifier", text=text, is_blocking=False)


def _names(source: bytes) -> Iterator[tuple[str, int]]:
    """Names that are not plain ASCII, with their lines."""
    for token in tokenize_python(source) or ():
        if token.type == tokenize.NAME and not token.string.isascii():
            yield token.string, token.start[0]


def _problem(name: str) -> str:
    letters = [letter for letter in name if letter.isalpha()]
    if _LOOK_LATIN.isdisjoint(letters):
        plain = unicodedata.normalize("NFKC", name)
        if plain.isascii():
            return f"Python takes for {plain}"
        return ""
    if _LOOK_LATIN.issuperset(letters):
        return "looks like one in Latin letters, and is none"
    scripts = sorted({script for letter in letters if (script := _script(letter))})
    if len(scripts) > 1 and "LATIN" in scripts:
        return f"mixes {' and '.join(map(str.capitalize, scripts))} letters"
    return ""


def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]
