"""The commands of the palette: the verbs of the command line without the run, about what is named or else chosen."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.domain.command import (
    AddCriterion,
    Command,
    Continue,
    DropCriterion,
    HoldShard,
    Pause,
    Publish,
    ReleaseShard,
    Retry,
    Stop,
)
from orchestrator.domain.contract import Criterion
from orchestrator.domain.ids import CRITERION_ID
from orchestrator.domain.migration import FileStatus
from orchestrator.domain.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.report.questions import item_named
from orchestrator.tui.acts import choices
from orchestrator.tui.acts.words import Typed, cut, typed
from orchestrator.tui.subject import Kind, Subject

_FAILED = frozenset({FileStatus.REJECTED, FileStatus.UNCHANGED, FileStatus.NEEDS_HUMAN})
_DIGITS = 9
"""More of them are no number of anything, and Python reads only so many."""
Make = Callable[[Typed, Sequence[Subject], RunState], list[Command]]


@dataclass(frozen=True)
class Verb:
    """A verb: its words on the command line, what it does, and the options that it takes here."""

    usage: str
    does: str
    make: Make
    options: Collection[str] = ()
    flags: Collection[str] = ()


def parse(text: str, subjects: Sequence[Subject], state: RunState) -> list[Command]:
    """`retry parser "look at x"`: the commands that a line stands for.

    Args:
        text: what was typed, with or without the colon; `migrate retry` is `retry` here.
        subjects: what is chosen; it is meant where the line names nothing.
        state: the run.

    Raises:
        UsageProblem: there is no such verb, or it makes no sense with these words; as the command line says it.
    """
    given = cut(text.strip().removeprefix(":"))
    if given[:1] in (["orchestrate"], ["migrate"]):
        given = given[2:] if given[:2] == ["orchestrate", "migrate"] else given[1:]
    if not given:
        raise UsageProblem(f"no command is given; there are {', '.join(VERBS)}")
    name = " ".join(given[:2]) if " ".join(given[:2]) in VERBS else given[0]
    if name not in VERBS:
        raise UsageProblem(f"no such command {given[0]!r}; there are {', '.join(VERBS)}")
    verb = VERBS[name]
    return verb.make(typed(name, given[len(name.split()) :], verb.options, verb.flags), subjects, state)


def _approval(choice: choices.Choice) -> Make:
    """Of `approve 1 "looked at it"`, the first word is an item, or its number in the inbox."""

    def make(told: Typed, subjects: Sequence[Subject], state: RunState) -> list[Command]:
        named, said = told.words[:1], told.words[1:]
        about = [Subject("approval", item_named(state, name)) for name in named]
        return choice(about or subjects, state, _said(told, said))

    return make


def _about(choice: choices.Choice, kind: Kind) -> Make:
    """The first word is what is meant, if it can be; what follows is a note."""

    def make(told: Typed, subjects: Sequence[Subject], state: RunState) -> list[Command]:
        named, said = told.words[:1], told.words[1:]
        if named and subjects and " " in named[0]:  # a sentence: it is said of what is chosen
            named, said = (), told.words
        if told.text("failed", "signature"):
            about: Sequence[Subject] = _failed(told, state)
        else:
            about = [_named(name, kind, state) for name in named] or subjects
        return choice(about, state, _said(told, said))

    return make


def _named(name: str, kind: Kind, state: RunState) -> Subject:
    if kind == "task" and state.run.mode == "migration":
        return Subject("session" if name in state.sessions else "file", name)
    if kind == "task" and name in state.sessions:
        return Subject("session", name)
    return Subject(kind, name)


def _failed(told: Typed, state: RunState) -> list[Subject]:
    wanted = told.text("signature").lower()
    failed = [file.path for file in state.files.values() if file.status in _FAILED and wanted in file.signature.lower()]
    if not failed:
        raise UsageProblem("no file that failed fits that")
    return [Subject("file", path) for path in failed]


def _said(told: Typed, words: Sequence[str]) -> str:
    return told.text("reason", "note") or " ".join(words)


def _retry(told: Typed, subjects: Sequence[Subject], state: RunState) -> list[Command]:
    commands = _about(choices.retry, "task")(told, subjects, state)
    turn, attempt = _number(told, "from"), _number(told, "attempt")
    if attempt is not None and turn is None:
        raise UsageProblem("--attempt says whose turn is meant: give the turn too (--from TURN)")
    again = {"turn": turn, "attempt": attempt}
    return [one.model_copy(update=again) if isinstance(one, Retry) and turn is not None else one for one in commands]


def _number(told: Typed, name: str) -> int | None:
    given = told.text(name)
    if given and not (given.isdecimal() and len(given) <= _DIGITS):
        raise UsageProblem(f"invalid value for '--{name}': {given!r} is not a valid integer")
    return int(given) if given else None


def _cancel(told: Typed, subjects: Sequence[Subject], state: RunState) -> list[Command]:
    """As on the command line, `cancel` without a name means the whole run."""
    if not told.words:
        return choices.give_up([Subject("run", state.run.run)], state, _said(told, ()))
    name, *said = told.words
    return choices.give_up([_named(name, "task", state)], state, _said(told, said))


def _shards(told: Typed, subjects: Sequence[Subject], state: RunState) -> list[Command]:
    if told.text("all"):
        landed = [shard.name for shard in state.shards.values() if shard.commit and not shard.is_reverted]
        subjects = [Subject("shard", name) for name in landed]
    about = [Subject("shard", name) for name in told.words] or subjects
    return choices.rollback(about, state, told.text("reason"))


def _release(told: Typed, subjects: Sequence[Subject], state: RunState) -> list[Command]:
    names = told.words or [subject.id for subject in subjects if subject.kind == "shard"]
    if not names:
        raise UsageProblem("missing argument 'SHARD'")
    return [ReleaseShard(shard=name) for name in names]


def _hold(told: Typed, subjects: Sequence[Subject], state: RunState) -> list[Command]:
    return [
        HoldShard(shard=one.shard) if isinstance(one, ReleaseShard) else one
        for one in _about(choices.hold, "shard")(told, subjects, state)
    ]


def _add_criterion(told: Typed, _subjects: Sequence[Subject], state: RunState) -> list[Command]:
    text, must = " ".join(told.words).strip(), told.text("must").strip()
    if not text and not must:
        raise UsageProblem('say what is asked for: "TEXT", --must "COMMAND", or both')
    found = re.fullmatch(rf"({CRITERION_ID}): *(.+)", text, re.DOTALL)
    taken = state.contract.ids if state.contract else frozenset()
    prefix = "must-" if must else "c"
    free = next(one for number in range(1, len(taken) + 2) if (one := f"{prefix}{number}") not in taken)
    name, words = found.groups() if found else (free, text)
    wanted = Criterion(id=name, text=words or f"`{must}` exits 0", command=must or None)
    return [AddCriterion(criterion=wanted)]


def _drop_criterion(told: Typed, _subjects: Sequence[Subject], _state: RunState) -> list[Command]:
    if not told.words:
        raise UsageProblem("missing argument 'ID'")
    return [DropCriterion(id=told.words[0], reason=_said(told, told.words[1:]))]


_REASON = ("reason",)
VERBS: Mapping[str, Verb] = {
    "approve": Verb("approve [ITEM]", "answer yes", _approval(choices.approve), _REASON),
    "deny": Verb("deny [ITEM] --reason TEXT", "answer no; the reason goes to whoever asked", _approval(choices.deny),
                 _REASON),
    "pause": Verb("pause", "stop at the next model call or file",
                  lambda told, _chosen, _state: [Pause(reason=_said(told, told.words))], _REASON),
    "continue": Verb("continue", "go on after a pause", lambda _told, _chosen, _state: [Continue()]),
    "retry": Verb("retry TASK|FILE [--note TEXT]", "try again, with a note to the worker", _retry,
                  ("note", "from", "attempt", "signature"), ("failed",)),
    "cancel": Verb("cancel [TASK]", "give up a task, or the whole run", _cancel, _REASON),
    "stop-call": Verb("stop-call TASK [--reason TEXT]", "end the one command that an agent waits for",
                      _about(choices.stop_call, "task"), _REASON),
    "skip": Verb("migrate skip FILE --reason TEXT", "leave a file out", _about(choices.give_up, "file"), _REASON),
    "hold": Verb("migrate hold SHARD", "keep a shard back", _hold, _REASON),
    "release": Verb("migrate release SHARD", "let a shard go on that was held", _release),
    "rollback": Verb("migrate rollback SHARD… | --all", "take back what shards have landed", _shards, _REASON,
                     ("all",)),
    "publish": Verb("migrate publish [GROUP…]", "open the pull requests now",
                    lambda told, _chosen, _state: [Publish(groups=told.words)]),
    "criterion add": Verb("criterion add TEXT [--must COMMAND]", "ask for one thing more", _add_criterion, ("must",)),
    "criterion drop": Verb("criterion drop ID", "ask for one thing less", _drop_criterion, _REASON),
    "drain": Verb("drain", "let what runs finish, begin nothing new; as Ctrl-C once",
                  lambda _told, _chosen, _state: [Stop(how="drain")]),
    "stop": Verb("stop", "stop the engine at once, resumably; as Ctrl-C twice",
                 lambda _told, _chosen, _state: [Stop(how="interrupt")]),
}  # fmt: skip
"""The verbs by their names."""
