"""What an ACP agent asks for: files of its workspace, and permission, which rules give or refuse without a person."""

from collections.abc import Mapping
from posixpath import normpath

from orchestrator.domain.sandbox.tier import Tier
from orchestrator.errors import ToolRefused
from orchestrator.ports.hands import Workspace

_MAX_FILE_BYTES = 8 * 1024 * 1024
_NEEDED_TIER: Mapping[str, Tier] = {"fetch": Tier.REGISTRIES, "execute": Tier.COMMANDS}
"""The tier that an agent needs to have for what it asks leave for; what is not here it may do in its sandbox anyway."""
_REFUSED_KINDS = frozenset({"switch_mode"})
"""What nobody gives leave for: an agent that asks less, because it was put into another mode, is told less."""


class AgentFiles:
    """The files of a workspace as an agent names them: by absolute paths below `cwd`, the directory that it runs in."""

    def __init__(self, workspace: Workspace, cwd: str) -> None:
        self._workspace = workspace
        self._cwd = cwd.rstrip("/")

    async def read_text(self, path: str, line: int | None, limit: int | None) -> str:
        """Return a file's text; with `line` (from 1) and `limit` only so many lines from there.

        Raises:
            ToolRefused: it lies outside the workspace, or is no text that can be read.
        """
        content = await self._workspace.read_file(self._make_relative(path), _MAX_FILE_BYTES)
        text = content.decode("utf-8", "replace")
        if line is None and limit is None:
            return text
        first = max((line or 1) - 1, 0)
        lines = text.splitlines(keepends=True)[first:]
        return "".join(lines if limit is None else lines[:limit])

    async def write_text(self, path: str, text: str) -> None:
        """Replace or create a file.

        Raises:
            ToolRefused: it lies outside the workspace, or is protected.
        """
        await self._workspace.write_file(self._make_relative(path), text.encode("utf-8", "replace"))

    def _make_relative(self, path: str) -> str:
        place = normpath(path)
        if not place.startswith(f"{self._cwd}/"):
            raise ToolRefused(f"{path} lies outside the workspace, {self._cwd}: only files in it are read and written.")
        return place.removeprefix(f"{self._cwd}/")


def choose_option(kind: str, options: Mapping[str, str], tier: Tier) -> str | None:
    """Return the id of the answer to a wish for permission; None refuses it where no option does.

    Args:
        kind: the kind of tool that the agent wants to use.
        options: the kinds of answers that it offers, by id.
        tier: how much it may reach. All of it is in its sandbox, so that leave adds nothing to what it can do.
    """
    is_allowed = tier >= _NEEDED_TIER.get(kind, Tier.FILES) and kind not in _REFUSED_KINDS
    wanted = ("allow_once", "allow_always") if is_allowed else ("reject_once", "reject_always")
    for answer in wanted:
        for name, offered in options.items():
            if offered == answer:
                return name
    return None
