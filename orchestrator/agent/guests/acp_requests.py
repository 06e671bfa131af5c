"""The requests of an ACP agent: for files of its workspace, and for permission, which rules give or refuse.

Each request is held against the policy as the loop's own tools are, under the names of these.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from posixpath import normpath
from typing import NamedTuple

from orchestrator.domain.ids import TaskId
from orchestrator.domain.policy.rules import PolicyActor, PolicySubject
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.errors import ToolRefused
from orchestrator.ports.hands import Workspace
from orchestrator.ports.policy import PolicyGuard

_MAX_FILE_BYTES = 8 * 1024 * 1024
_NEEDED_TIER: Mapping[str, Tier] = {"fetch": Tier.REGISTRIES, "execute": Tier.COMMANDS}
"""The tier that an agent needs to have for what it asks leave for; what is not here it may do in its sandbox anyway."""
_REFUSED_KINDS = frozenset({"switch_mode"})
"""What nobody gives leave for: an agent that asks less, because it was put into another mode, is told less."""
_TOOL_NAMES: Mapping[str, str] = {"execute": "shell", "delete": "edit", "move": "edit"}
"""The names by which the policy knows what an agent's tools do, where these are others than their kinds."""
_CHANGING_KINDS = frozenset({"edit", "delete", "move"})
_MAX_PATHS = 50


@dataclass(frozen=True)
class RequestRules:
    """The rules on what an agent asks for: who it works as, on which task, at which tier, and the policy."""

    actor: PolicyActor
    task: TaskId
    tier: Tier
    policy: PolicyGuard

    async def require_leave(self, *subjects: PolicySubject) -> None:
        """Refuse what the policy does not allow now. A question goes to the user's inbox, and nobody waits for it.

        Raises:
            ToolRefused: it is denied, or has to be asked about first.
        """
        refusal = await self.policy.find_refusal(self.actor, self.task, subjects)
        if refusal is not None:
            raise ToolRefused(refusal)


class AgentFiles:
    """The files of a workspace as an agent names them: by absolute paths below `cwd`, the directory that it runs in."""

    def __init__(self, workspace: Workspace, cwd: str, rules: RequestRules) -> None:
        self._workspace = workspace
        self._cwd = cwd.rstrip("/")
        self._rules = rules

    async def read_text(self, path: str, line: int | None, limit: int | None) -> str:
        """Return a file's text; with `line` (from 1) and `limit` only so many lines from there.

        Raises:
            ToolRefused: it lies outside the workspace, is no text that can be read, or the policy does not allow it.
        """
        place = self._make_relative(path)
        await self._rules.require_leave(PolicySubject(kind="tool", name="read", path=place))
        content = await self._workspace.read_file(place, _MAX_FILE_BYTES)
        text = content.decode("utf-8", "replace")
        if line is None and limit is None:
            return text
        first = max((line or 1) - 1, 0)
        lines = text.splitlines(keepends=True)[first:]
        return "".join(lines if limit is None else lines[:limit])

    async def write_text(self, path: str, text: str) -> None:
        """Replace or create a file.

        Raises:
            ToolRefused: it lies outside the workspace, is protected, or the policy does not allow it.
        """
        place = self._make_relative(path)
        used, written = PolicySubject(kind="tool", name="write", path=place), PolicySubject(kind="write", name=place)
        await self._rules.require_leave(used, written)
        await self._workspace.write_file(place, text.encode("utf-8", "replace"))

    def find_folder(self, path: str | None) -> str:
        """Return a directory relative to the workspace; the top for None.

        Raises:
            ToolRefused: it lies outside the workspace.
        """
        if path is None or normpath(path) == self._cwd:
            return "."
        return self._make_relative(path)

    def list_inner_paths(self, paths: Sequence[str]) -> Sequence[str]:
        """Return those paths that lie in the workspace, relative to it."""
        prefix, inner = f"{self._cwd}/", []
        for path in paths[:_MAX_PATHS]:
            place = normpath(path)
            if place.startswith(prefix):
                inner.append(place.removeprefix(prefix))
        return inner

    def _make_relative(self, path: str) -> str:
        inner = self.list_inner_paths((path,))
        if not inner:
            raise ToolRefused(f"{path} lies outside the workspace, {self._cwd}: only files in it are read and written.")
        return inner[0]


class PermissionAnswer(NamedTuple):
    """The id of the option that answers a wish; None cancels it. `refusal` says why it is refused, empty if it is not.

    A wish that is allowed has an option that says so: one without counts as refused.
    """

    option: str | None
    refusal: str


async def answer_permission(
    rules: RequestRules, kind: str, paths: Sequence[str], options: Mapping[str, str]
) -> PermissionAnswer:
    """Return the answer to a wish for permission.

    Args:
        rules: who asks. All of it is in its sandbox, so that leave adds nothing to what it can do.
        kind: the kind of tool that the agent wants to use.
        paths: the files that it names, relative to the workspace.
        options: the kinds of answers that it offers, by id.
    """
    refusal = ""
    if kind in _REFUSED_KINDS or rules.tier < _NEEDED_TIER.get(kind, Tier.FILES):
        refusal = f"not to be had at tier {int(rules.tier)}"
    else:
        try:
            await rules.require_leave(*_list_subjects(kind, paths))
        except ToolRefused as reason:
            refusal = str(reason)
    option = _find_option(options, ("reject_once", "reject_always") if refusal else ("allow_once", "allow_always"))
    if option is None and not refusal:
        refusal = "it offers no answer that allows it"
        option = _find_option(options, ("reject_once", "reject_always"))
    return PermissionAnswer(option, refusal)


def _find_option(options: Mapping[str, str], wanted: Sequence[str]) -> str | None:
    for answer in wanted:
        for name, offered in options.items():
            if offered == answer:
                return name
    return None


def _list_subjects(kind: str, paths: Sequence[str]) -> Sequence[PolicySubject]:
    """Return what the policy decides about in a wish: the tool on each path, and each path that it would change."""
    name = _TOOL_NAMES.get(kind, kind)
    subjects = []
    for path in paths or ("",):
        subjects.append(PolicySubject(kind="tool", name=name, path=path))
        if path and kind in _CHANGING_KINDS:
            subjects.append(PolicySubject(kind="write", name=path))
    return subjects
