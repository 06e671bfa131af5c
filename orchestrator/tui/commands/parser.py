"""The commands of the palette: the verbs of the command line without the run, about what is named or else chosen."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.domain.commands.definitions import (
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
from orchestrator.domain.ids import CRITERION_ID_PATTERN
from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.run.contract import Criterion
from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.report.rows.questions import get_question_item
from orchestrator.tui.commands import builders
from orchestrator.tui.commands.arguments import CommandArguments, parse_arguments, split_words
from orchestrator.tui.subject import Subject, SubjectKind

_FAILED = frozenset({FileStatus.REJECTED, FileStatus.UNCHANGED, FileStatus.NEEDS_HUMAN})
_DIGITS = 9
"""More of them are no number of anything, and Python reads only so many."""
VerbBuilder = Callable[[CommandArguments, Sequence[Subject], RunState], list[Command]]


@dataclass(frozen=True)
class TypedVerb:
    """A verb: its words on the command line, what it does, and the options that it takes here."""

    usage: str
    summary: str
    build_commands: VerbBuilder
    options: Collection[str] = ()
    flags: Collection[str] = ()


def parse_commands(text: str, subjects: Sequence[Subject], state: RunState) -> list[Command]:
    """`retry parser "look at x"`: the commands that a line stands for.

    Args:
        text: what was typed, with or without the colon; `migrate retry` is `retry` here.
        subjects: what is chosen; it is meant where the line names nothing.
        state: the run.

    Raises:
        UsageProblem: there is no such verb, or it makes no sense with these words; as the command line says it.
    """
    given = split_words(text.strip().removeprefix(":"))
    if given[:1] in (["orchestrate"], ["migrate"]):
        if given[:2] == ["orchestrate", "migrate"]:
            given = given[2:]
        else:
            given = given[1:]
    if not given:
        raise UsageProblem(f"no command is given; there are {', '.join(TYPED_VERBS)}")
    if " ".join(given[:2]) in TYPED_VERBS:
        name = " ".join(given[:2])
    else:
        name = given[0]
    if name not in TYPED_VERBS:
        raise UsageProblem(f"no such command {given[0]!r}; there are {', '.join(TYPED_VERBS)}")
    verb = TYPED_VERBS[name]
    return verb.build_commands(
        parse_arguments(name, given[len(name.split()) :], verb.options, verb.flags), subjects, state
    )


def _approval(choice: builders.CommandBuilder) -> VerbBuilder:
    """Of `approve 1 "looked at it"`, the first word is an item, or its number in the inbox."""

    def build_answers(told: CommandArguments, subjects: Sequence[Subject], state: RunState) -> list[Command]:
        named, said = told.words[:1], told.words[1:]
        about = []
        for name in named:
            about.append(Subject("approval", get_question_item(state, name)))
        return choice(about or subjects, state, _said(told, said))

    return build_answers


def _about(choice: builders.CommandBuilder, kind: SubjectKind) -> VerbBuilder:
    """The first word is what is meant, if it can be; what follows is a note."""

    def build_for_subjects(told: CommandArguments, subjects: Sequence[Subject], state: RunState) -> list[Command]:
        named, said = told.words[:1], told.words[1:]
        if named and subjects and " " in named[0]:  # a sentence: it is said of what is chosen
            named, said = (), told.words
        if told.get_option("failed", "signature"):
            about: Sequence[Subject] = _failed(told, state)
        else:
            about = [_named(name, kind, state) for name in named] or subjects
        return choice(about, state, _said(told, said))

    return build_for_subjects


def _named(name: str, kind: SubjectKind, state: RunState) -> Subject:
    if kind == "task" and state.run.mode == "migration":
        return Subject("session" if name in state.sessions else "file", name)
    if kind == "task" and name in state.sessions:
        return Subject("session", name)
    return Subject(kind, name)


def _failed(told: CommandArguments, state: RunState) -> list[Subject]:
    wanted = told.get_option("signature").lower()
    failed = []
    for file in state.files.values():
        if file.status in _FAILED and wanted in file.signature.lower():
            failed.append(file.path)
    if not failed:
        raise UsageProblem("no file that failed fits that")
    return [Subject("file", path) for path in failed]


def _said(told: CommandArguments, words: Sequence[str]) -> str:
    return told.get_option("reason", "note") or " ".join(words)


def _retry(told: CommandArguments, subjects: Sequence[Subject], state: RunState) -> list[Command]:
    commands = _about(builders.build_retries, "task")(told, subjects, state)
    turn, attempt = _number(told, "from"), _number(told, "attempt")
    if attempt is not None and turn is None:
        raise UsageProblem("--attempt says whose turn is meant: give the turn too (--from TURN)")
    again = {"turn": turn, "attempt": attempt}
    return [one.model_copy(update=again) if isinstance(one, Retry) and turn is not None else one for one in commands]


def _number(told: CommandArguments, name: str) -> int | None:
    given = told.get_option(name)
    if given and not (given.isdecimal() and len(given) <= _DIGITS):
        raise UsageProblem(f"invalid value for '--{name}': {given!r} is not a valid integer")
    if given:
        return int(given)
    return None


def _cancel(told: CommandArguments, subjects: Sequence[Subject], state: RunState) -> list[Command]:
    """As on the command line, `cancel` without a name means the whole run."""
    if not told.words:
        return builders.build_cancellations([Subject("run", state.run.run)], state, _said(told, ()))
    name, *said = told.words
    return builders.build_cancellations([_named(name, "task", state)], state, _said(told, said))


def _shards(told: CommandArguments, subjects: Sequence[Subject], state: RunState) -> list[Command]:
    if told.get_option("all"):
        landed = []
        for shard in state.shards.values():
            if shard.commit and not shard.is_reverted:
                landed.append(shard.name)
        subjects = [Subject("shard", name) for name in landed]
    about = [Subject("shard", name) for name in told.words] or subjects
    return builders.build_rollback(about, state, told.get_option("reason"))


def _release(told: CommandArguments, subjects: Sequence[Subject], state: RunState) -> list[Command]:
    names = told.words or [subject.id for subject in subjects if subject.kind == "shard"]
    if not names:
        raise UsageProblem("missing argument 'SHARD'")
    return [ReleaseShard(shard=name) for name in names]


def _hold(told: CommandArguments, subjects: Sequence[Subject], state: RunState) -> list[Command]:
    return [
        HoldShard(shard=one.shard) if isinstance(one, ReleaseShard) else one
        for one in _about(builders.build_shard_holds, "shard")(told, subjects, state)
    ]


def _add_criterion(told: CommandArguments, _subjects: Sequence[Subject], state: RunState) -> list[Command]:
    text, must = " ".join(told.words).strip(), told.get_option("must").strip()
    if not text and not must:
        raise UsageProblem('say what is asked for: "TEXT", --must "COMMAND", or both')
    found = re.fullmatch(rf"({CRITERION_ID_PATTERN}): *(.+)", text, re.DOTALL)
    if state.contract:
        taken = state.contract.ids
    else:
        taken = frozenset()
    prefix = "must-" if must else "c"
    free = next(one for number in range(1, len(taken) + 2) if (one := f"{prefix}{number}") not in taken)
    name, words = found.groups() if found else (free, text)
    wanted = Criterion(id=name, text=words or f"`{must}` exits 0", command=must or None)
    return [AddCriterion(criterion=wanted)]


def _drop_criterion(told: CommandArguments, _subjects: Sequence[Subject], _state: RunState) -> list[Command]:
    if not told.words:
        raise UsageProblem("missing argument 'ID'")
    return [DropCriterion(id=told.words[0], reason=_said(told, told.words[1:]))]


_REASON = ("reason",)
TYPED_VERBS: Mapping[str, TypedVerb] = {
    "approve": TypedVerb("approve [ITEM]", "answer yes", _approval(builders.build_approvals), _REASON),
    "deny": TypedVerb("deny [ITEM] --reason TEXT", "answer no; the reason goes to whoever asked", _approval(builders.build_denials),
                 _REASON),
    "pause": TypedVerb("pause", "stop at the next model call or file",
                  lambda told, _chosen, _state: [Pause(reason=_said(told, told.words))], _REASON),
    "continue": TypedVerb("continue", "go on after a pause", lambda _told, _chosen, _state: [Continue()]),
    "retry": TypedVerb("retry TASK|FILE [--note TEXT]", "try again, with a note to the worker", _retry,
                  ("note", "from", "attempt", "signature"), ("failed",)),
    "cancel": TypedVerb("cancel [TASK]", "give up a task, or the whole run", _cancel, _REASON),
    "stop-call": TypedVerb("stop-call TASK [--reason TEXT]", "end the one command that an agent waits for",
                      _about(builders.build_call_stops, "task"), _REASON),
    "skip": TypedVerb("migrate skip FILE --reason TEXT", "leave a file out", _about(builders.build_cancellations, "file"), _REASON),
    "hold": TypedVerb("migrate hold SHARD", "keep a shard back", _hold, _REASON),
    "release": TypedVerb("migrate release SHARD", "let a shard go on that was held", _release),
    "rollback": TypedVerb("migrate rollback SHARD… | --all", "take back what shards have landed", _shards, _REASON,
                     ("all",)),
    "publish": TypedVerb("migrate publish [GROUP…]", "open the pull requests now",
                    lambda told, _chosen, _state: [Publish(groups=told.words)]),
    "criterion add": TypedVerb("criterion add TEXT [--must COMMAND]", "ask for one thing more", _add_criterion, ("must",)),
    "criterion drop": TypedVerb("criterion drop ID", "ask for one thing less", _drop_criterion, _REASON),
    "drain": TypedVerb("drain", "let what runs finish, begin nothing new; as Ctrl-C once",
                  lambda _told, _chosen, _state: [Stop(how="drain")]),
    "stop": TypedVerb("stop", "stop the engine at once, resumably; as Ctrl-C twice",
                 lambda _told, _chosen, _state: [Stop(how="interrupt")]),
}  # fmt: skip
"""The verbs by their names."""
