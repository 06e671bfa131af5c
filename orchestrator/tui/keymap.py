"""The keys that hold everywhere: what each does, how it is remapped, and which command does the same; key hints."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from textual.binding import Binding, BindingType

from orchestrator.errors import UsageProblem
from orchestrator.report.rows.activity import Activity


@dataclass(frozen=True)
class GlobalKey:
    """A key by name (`[tui.keys]` names it so), what it is bound to, and what it does in words.

    `keys` are separated by commas, as Textual names them. `command` is the verb of the command line that does the same.
    """

    id: str
    keys: str
    action: str
    words: str
    command: str = ""
    has_priority: bool = False


@dataclass(frozen=True)
class HelpRow:
    """A key as people see it, what it does, and the command that does the same; empty where there is none."""

    key: str
    words: str
    command: str = ""

    @property
    def text(self) -> str:
        """All of it in lower case, for searching."""
        return f"{self.key} {self.words} {self.command}".lower()


_PAUSE, _RETRY = "orchestrate pause RUN", "orchestrate retry RUN TASK --note TEXT"
_APPROVE = "orchestrate approve RUN QUESTION"
_REJECT = "orchestrate reject RUN QUESTION"
_SEND_BACK = "orchestrate send-back RUN QUESTION --note TEXT"
GLOBAL_KEYS = (
    *(GlobalKey(f"tab-{number}", number, f"tab('{number}')", f"tab {number}", "") for number in "123456"),
    GlobalKey("next-tab", "right_square_bracket", "turn(1)", "next tab"),
    GlobalKey("previous-tab", "left_square_bracket", "turn(-1)", "previous tab"),
    GlobalKey("filter", "slash", "filter", "filter; recalls the last one", "orchestrate status --filter EXPR"),
    GlobalKey("back", "escape", "back", "back; clears the filter"),
    GlobalKey("stream", "L", "stream", "print all lines of what is in front, and follow", "orchestrate logs --follow"),
    GlobalKey("copy", "y", "copy", "copy what is selected or chosen, also to a file"),
    GlobalKey("help", "question_mark,f1", "help", "all keys"),
    GlobalKey("palette", "colon,ctrl+p", "palette", "type a command", "orchestrate VERB"),
    GlobalKey("approve", "a", "act('approve')", "answer yes to what is asked", _APPROVE),
    GlobalKey("edit-plan", "e", "edit_plan", "change a plan in $EDITOR and approve it", f"{_APPROVE} --edit"),
    GlobalKey("send-back", "b", "act('send-back')", "send back, with a note and commented lines", _SEND_BACK),
    GlobalKey("reject", "d", "act('reject')", "answer no, with a note", f"{_REJECT} --reason TEXT"),
    GlobalKey("pause", "p", "act('pause')", "pause the run, or go on", f"{_PAUSE}; orchestrate continue RUN"),
    GlobalKey("tell", "m", "act('tell')", "say something to whoever works on it", 'orchestrate tell RUN TASK "TEXT"'),
    GlobalKey("retry", "r", "act('retry')", "try again, with a note to the worker", _RETRY),
    GlobalKey("give-up", "x", "act('give-up')", "cancel a task; leave a file out", "orchestrate cancel RUN TASK"),
    GlobalKey("stop-call", "K", "act('stop-call')", "stop the command it waits for", "orchestrate stop-call RUN TASK"),
    GlobalKey("hold", "H", "act('hold')", "hold a shard, or release it", "orchestrate migrate hold RUN SHARD"),
    GlobalKey("rollback", "U", "act('rollback')", "take back a shard", "orchestrate migrate rollback RUN SHARD"),
    GlobalKey("publish", "P", "act('publish')", "open the pull requests now", "orchestrate migrate publish RUN"),
    GlobalKey("editor", "o", "open('editor')", "open a copy of the worktree in $EDITOR"),
    GlobalKey("shell", "exclamation_mark", "open('shell')", "a shell in a copy of the worktree"),
    GlobalKey("review", "S", "review", "send what was said of lines", f"{_SEND_BACK}; {_RETRY}"),
    GlobalKey("undo", "u", "undo", "take back what was just given"),
    GlobalKey("replay-hold", "full_stop", "replay('hold')", "in a recording: hold it, or go on"),
    GlobalKey("replay-faster", "greater_than_sign", "replay('faster')", "in a recording: twice as fast"),
    GlobalKey("replay-slower", "less_than_sign", "replay('slower')", "in a recording: half as fast"),
    GlobalKey("replay-end", "ctrl+end", "replay('end')", "in a recording: to its end"),
    GlobalKey("detach", "q", "detach", "leave; the run goes on", "orchestrate watch RUN comes back"),
    GlobalKey("leave", "Q", "leave", "leave, drain or stop", _PAUSE),
    GlobalKey("interrupt", "ctrl+c", "interrupt", "twice: leave, drain or stop", has_priority=True),
    GlobalKey(
        "suspend", "ctrl+z", "suspend_process", "put the dashboard to sleep; the shell's fg wakes it", has_priority=True
    ),
)
_OLD_NAMES = {"deny": "reject"}
"""The names of keys in `[tui.keys]` that have changed."""
_DEFAULT_KEYS: dict[str, str] = {key.id: key.keys for key in GLOBAL_KEYS}
FOOTER_KEYS = (("/", "filter"), (":", "command"), ("?", "help"), ("q", "detach"))
"""The keys that the last line always names."""
PLAYBACK_KEYS = ((".", "hold"), ("< >", "speed"))
"""The keys that it names as well while a recording is played."""
_PASSED_ON = frozenset({"back", "copy"})
"""Keys that a part of a view may take first: they mean the same there, and come here where it has no use for them."""
_HINTS: Mapping[Activity, Sequence[tuple[str, str]]] = {
    Activity.ASK: (("a", "approve"), ("d", "reject"), ("b", "send back")),
    Activity.STALL: (("K", "stop the command"), ("x", "cancel")),
    Activity.FAIL: (("r", "retry"), ("o", "editor")),
    Activity.STOP: (("r", "retry"),),
}
"""The keys that help where something stands, shown while the cursor is on it."""
_NEXT_PART = HelpRow("tab", "next part of the view; shift+tab: the one before")
_SHOWN = {
    "slash": "/", "question_mark": "?", "colon": ":", "escape": "esc", "right_square_bracket": "]",
    "left_square_bracket": "[", "full_stop": ".", "greater_than_sign": ">", "less_than_sign": "<",
    "space": "space", "enter": "enter", "exclamation_mark": "!", "vertical_line": "|", "asterisk": "*",
    "right_curly_bracket": "}", "left_curly_bracket": "{", "left": "←", "right": "→", "up": "↑", "down": "↓",
}  # fmt: skip


def parse_shown_key(shown_key: str) -> str:
    """Return Textual's name of a key that is shown to people; empty for several at once."""
    if " " in shown_key.strip():
        return ""
    return next((name for name, shown in _SHOWN.items() if shown == shown_key), shown_key)


def build_bindings() -> list[BindingType]:
    """Build the global keys for Textual; `build_keymap` refers to their ids."""
    return [
        Binding(key.keys, key.action, key.words, show=False, priority=key.has_priority, id=f"tui.{key.id}")
        for key in GLOBAL_KEYS
    ]


def build_keymap(wanted: Mapping[str, str]) -> dict[str, str]:
    """Return `[tui.keys]` as Textual's keymap.

    Raises:
        UsageProblem: it names something that has no key, or one key twice.
    """
    wanted = _rename_old_keys(wanted)
    if unknown := sorted(set(wanted) - set(_DEFAULT_KEYS)):
        raise UsageProblem(f"[tui.keys] knows no {', '.join(unknown)}; there are {', '.join(_DEFAULT_KEYS)}")
    used: dict[str, str] = {}
    for name, keys in (_DEFAULT_KEYS | dict(wanted)).items():
        for one in keys.split(","):
            if one in used:
                raise UsageProblem(f"[tui.keys] gives {one!r} to {used[one]} and to {name}: choose another for one")
            used[one] = name
    return {f"tui.{name}": keys for name, keys in wanted.items()}


def _rename_old_keys(wanted: Mapping[str, str]) -> dict[str, str]:
    """Return `[tui.keys]` with the names that keys have now."""
    return {_OLD_NAMES.get(name, name): keys for name, keys in wanted.items()}


def format_keys(keys: str) -> str:
    """Return keys for people: `?/f1`, `ctrl+c`."""
    return "/".join(_SHOWN.get(key, key) for key in keys.split(","))


def build_help_rows(
    own: Sequence[tuple[str, str]], bound: Mapping[str, str], wanted: Mapping[str, str]
) -> list[HelpRow]:
    """List every key that holds now: of the view in front, of the part that has the focus, then the global ones.

    Args:
        own: the keys that the view names, with what they do.
        bound: the keys that the view and its part take for themselves, with what they do.
        wanted: `[tui.keys]`.
    """
    keys_by_id = _DEFAULT_KEYS | _rename_old_keys(wanted)
    passed_on = ",".join(map(keys_by_id.__getitem__, _PASSED_ON)).split(",")
    bound = {key: words for key, words in bound.items() if key not in passed_on}
    global_rows = []
    for key in GLOBAL_KEYS:
        if not bound.keys() >= set(keys_by_id[key.id].split(",")):
            global_rows.append(HelpRow(format_keys(keys_by_id[key.id]), key.words, key.command))
    global_names = {(format_keys(keys), name.replace("-", " ")) for name, keys in keys_by_id.items()}
    own_rows = [HelpRow(*key) for key in own if key not in global_names]
    return [*own_rows, *_list_unnamed_keys(own, bound), _NEXT_PART, *global_rows]


def _list_unnamed_keys(own: Sequence[tuple[str, str]], bound: Mapping[str, str]) -> list[HelpRow]:
    """List keys that the view does not name, such as those that move the cursor: a row for all that do the same."""
    named = set(re.split("[ /]", " ".join(keys for keys, _ in own)))
    alike: dict[str, list[str]] = {}
    for key, words in bound.items():
        if format_keys(key) not in named:
            alike.setdefault(words.lower(), []).append(format_keys(key))
    return [HelpRow("/".join(names), words) for words, names in alike.items()]


def get_key_hints(activity: Activity) -> Sequence[tuple[str, str]]:
    """Return the keys for a thing that asks, stalls or failed; none for what goes its way."""
    return _HINTS.get(activity, ())
