"""The ratchet of suppressions: a change may not silence more of what linters, type checkers and coverage have to say.

Counted over the whole change, so that code can be moved and edited together with what it silences already.
"""

import tokenize
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from orchestrator.domain.judging.verdict import Finding
from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.files.classification import is_sample
from orchestrator.judge.files.path_protection import is_test_path
from orchestrator.judge.rules.diff_summary import join_first_items
from orchestrator.judge.source.python_syntax import tokenize_python
from orchestrator.judge.source.suppression_patterns import PYTHON_SUPPRESSIONS, SuppressionKind, get_suppression_kinds


class _Place(NamedTuple):
    """Where something is silenced; `text` is the line, by which it is known wherever it is moved."""

    path: str
    line: int
    text: str


_Found = tuple[str, _Place]
"""The name of a kind, with ` (of everything)` if it names nothing in particular, and its place."""
_EVERYTHING = " of everything"


def check_suppressions(files: Sequence[ChangedFile], is_granted: Callable[[str], bool]) -> Iterator[Finding]:
    """A blocking finding for each kind of suppression of which the change leaves more than there were. Blocks.

    What a granted file gained is free; what it lost makes up for others only as far as it gained none itself.
    """
    granted = [file for file in files if is_granted(file.path)]
    bound = [file for file in files if not is_granted(file.path)]
    new, gone = _moved_apart(bound)
    spare = _lost(*_moved_apart(granted))
    more = {kind: len(places) - len(gone.get(kind, ())) - spare[kind] for kind, places in sorted(new.items())}
    for kind, count in more.items():
        is_told = kind.endswith(_EVERYTHING) and more.get(kind.removesuffix(_EVERYTHING), 0) > 0
        if count > 0 and not is_told:
            yield Finding(rule="suppression", text=_told(kind, new[kind], count), is_blocking=True)


def _lost(new: Mapping[str, Sequence[_Place]], gone: Mapping[str, Sequence[_Place]]) -> Counter[str]:
    return Counter({kind: max(0, len(places) - len(new.get(kind, ()))) for kind, places in gone.items()})


def _told(kind: str, places: Sequence[_Place], more: int) -> str:
    where = join_first_items([f"{place.path}:{place.line}" for place in places], ", ")
    count = "one more" if more == 1 else f"{more} more"
    told = f"{where} silences a tool ({count} `{kind}` than on the base), which the plan did not grant"
    return f"{told}: mend what it hides"


_Places = dict[str, list[_Place]]


def _moved_apart(files: Sequence[ChangedFile]) -> tuple[_Places, _Places]:
    """What these files hold now and did not, and what they held and do not, by kind; moved lines are in neither."""
    before = []
    for file in files:
        for found in _found(file.path, file.before):
            before.append(found)
    after = []
    for file in files:
        for found in _found(file.path, file.after):
            after.append(found)
    return _without(after, before), _without(before, after)


def _without(these: Sequence[_Found], those: Iterable[_Found]) -> _Places:
    known = Counter((kind, place.text) for kind, place in those)
    left: _Places = {}
    for kind, place in these:
        known[kind, place.text] -= 1
        if known[kind, place.text] < 0:
            left.setdefault(kind, []).append(place)
    return left


def _found(path: str, content: bytes | None) -> Iterator[_Found]:
    """Each suppression under its kind; one of everything under that as well, so that it takes no other's place."""
    kinds = get_suppression_kinds(path)
    if not content or not kinds or is_sample(path):
        return
    for number, comment, text in _comments(content, kinds, is_python=kinds is PYTHON_SUPPRESSIONS):
        for kind in kinds:
            if kind.name == "ts expect error" and is_test_path(path):
                continue  # there it is an assertion: it fails where there is no error
            for found in kind.pattern.finditer(comment):
                place = _Place(path, number, "".join(text.split()))
                yield kind.name, place
                if found.groupdict().get("only") is None and "only" in kind.pattern.groupindex:
                    yield kind.name + _EVERYTHING, place


def _comments(content: bytes, kinds: Sequence[SuppressionKind], is_python: bool) -> Iterator[tuple[int, str, str]]:
    """Line number, comment and whole line where something could be silenced; of Python only real comments."""
    text = content.decode("utf-8", "replace")
    kinds = [kind for kind in kinds if kind.pattern.search(text)]
    lines = text.split("\n") if kinds else []
    suspects = set()
    for n, line in enumerate(lines, start=1):
        if any(kind.pattern.search(line) for kind in kinds):
            suspects.add(n)
    read = tokenize_python(content) if suspects and is_python else None
    if read is None:
        for number in sorted(suspects):
            yield (number, lines[number - 1], lines[number - 1])
        return
    for token in read:
        if token.type == tokenize.COMMENT and token.start[0] in suspects:
            yield token.start[0], token.string, lines[token.start[0] - 1]
