"""The ratchet of suppressions: a change may not silence more of what linters, type checkers and coverage have to say.

Counted over the whole change, so that code can be moved and edited together with what it silences already.
"""

import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from orchestrator.domain.judging.rules import RuleId
from orchestrator.domain.judging.verdict import Finding
from orchestrator.domain.text.listing import join_limited
from orchestrator.judge.files.changed_file import ChangedFile, subtract_known
from orchestrator.judge.files.classification import is_sample
from orchestrator.judge.files.path_protection import is_test_path
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.source.python_syntax import tokenize_python
from orchestrator.judge.source.suppression_patterns import PYTHON_SUPPRESSIONS, SuppressionKind, get_suppression_kinds

_OF_EVERYTHING = " of everything"
_MAX_SHOWN = 10


class _Suppression(NamedTuple):
    """A comment that silences a tool; by `text`, its line without white space, it is known wherever it is moved.

    `kind` ends in ` of everything` if it names nothing in particular.
    """

    kind: str
    text: str
    path: str
    line: int


_ByKind = dict[str, list[_Suppression]]


def check_suppressions(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a blocking finding for each kind of suppression of which the change leaves more than there were.

    What a granted file gained is free; what it lost makes up for others only as far as it gained none itself.
    """
    bound, granted = [], []
    for file in facts.files:
        if facts.is_granted(file.path):
            granted.append(file)
        else:
            bound.append(file)
    added, removed = _compare_suppressions(bound)
    spare = _count_losses(granted)
    increase = {kind: len(found) - len(removed.get(kind, ())) - spare[kind] for kind, found in sorted(added.items())}
    for kind, count in increase.items():
        is_covered = kind.endswith(_OF_EVERYTHING) and increase.get(kind.removesuffix(_OF_EVERYTHING), 0) > 0
        if count > 0 and not is_covered:
            yield _build_finding(kind, added[kind], count)


def _count_losses(files: Sequence[ChangedFile]) -> Counter[str]:
    added, removed = _compare_suppressions(files)
    losses = Counter[str]()
    for kind, found in removed.items():
        losses[kind] = max(0, len(found) - len(added.get(kind, ())))
    return losses


def _build_finding(kind: str, found: Sequence[_Suppression], increase: int) -> Finding:
    places = join_limited([f"{one.path}:{one.line}" for one in found], _MAX_SHOWN)
    count = f"{increase} more" if increase > 1 else "one more"
    what = f"{places} silences a tool ({count} `{kind}` than on the base), which the plan did not grant"
    path, line = "", None
    if len(found) == 1:
        path, line = found[0].path, found[0].line
    return Finding(rule=RuleId.SUPPRESSION, text=f"{what}: mend what it hides", path=path, line=line, is_blocking=True)


def _compare_suppressions(files: Sequence[ChangedFile]) -> tuple[_ByKind, _ByKind]:
    """Return what these files hold now and did not, and what they held and do not; moved lines are in neither."""
    before: list[_Suppression] = []
    after: list[_Suppression] = []
    for file in files:
        before += _find_suppressions(file.path, file.before)
        after += _find_suppressions(file.path, file.after)
    return _subtract_suppressions(after, before), _subtract_suppressions(before, after)


def _subtract_suppressions(left: Sequence[_Suppression], right: Iterable[_Suppression]) -> _ByKind:
    rest: _ByKind = {}
    for one in subtract_known(left, right, lambda one: (one.kind, one.text)):
        rest.setdefault(one.kind, []).append(one)
    return rest


def _find_suppressions(path: str, content: bytes | None) -> Iterator[_Suppression]:
    """Yield each suppression under its kind, and one of everything under that as well: it takes no other's place."""
    kinds = get_suppression_kinds(path)
    if not content or not kinds or is_sample(path):
        return
    for number, comment, line in _find_comments(content, kinds, is_python=kinds is PYTHON_SUPPRESSIONS):
        text = "".join(line.split())
        for kind in kinds:
            if kind.name == "ts expect error" and is_test_path(path):
                continue  # there it is an assertion: it fails where there is no error
            for match in kind.pattern.finditer(comment):
                yield _Suppression(kind.name, text, path, number)
                if match.groupdict().get("only") is None and "only" in kind.pattern.groupindex:
                    yield _Suppression(kind.name + _OF_EVERYTHING, text, path, number)


def _find_comments(content: bytes, kinds: Sequence[SuppressionKind], is_python: bool) -> Iterator[tuple[int, str, str]]:
    """Yield line number, comment and whole line where something could be silenced; of Python only real comments."""
    lines = _find_suspects(content.decode("utf-8", "replace"), kinds)
    tokens = tokenize_python(content) if lines and is_python else None
    if tokens is None:
        yield from ((number, line, line) for number, line in lines.items())
        return
    for token in tokens:
        number = token.start[0]
        if token.type == tokenize.COMMENT and number in lines:
            yield number, token.string, lines[number]


def _find_suspects(text: str, kinds: Sequence[SuppressionKind]) -> dict[int, str]:
    """Return the lines that hold a pattern of these kinds, by their numbers."""
    patterns = [kind.pattern for kind in kinds if kind.pattern.search(text)]
    suspects: dict[int, str] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if any(pattern.search(line) for pattern in patterns):
            suspects[number] = line
    return suspects
