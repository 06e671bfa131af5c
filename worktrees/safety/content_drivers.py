"""The programs that a repository's own configuration wants to run on file contents, and settings that stop them."""

import re
from collections.abc import Iterable

from worktrees.safety.git_environment import Setting

LIST_DRIVERS = ("config", "--null", "--name-only", "--get-regexp", r"^(filter|merge|diff)\.")
"""The command that names them all; it ends with 1 when there are none."""

_KEY = re.compile(r"(filter|merge|diff)\.(.+)\.([a-z0-9-]+)", re.DOTALL)
_OFF = {
    # an empty command is no command, and the content passes through unchanged
    ("filter", "clean"): "",
    ("filter", "smudge"): "",
    ("filter", "process"): "",
    ("filter", "required"): "false",
    # git's own three-way merge of texts: what would be done without the driver
    ("merge", "driver"): "git merge-file --quiet --marker-size=%L %A %O %B",
    # only commands that were told to use drivers reach these; they fail then, and nothing else runs
    ("diff", "command"): "false",
    ("diff", "textconv"): "false",
}


def build_driver_overrides(listing: bytes) -> tuple[Setting, ...]:
    """Build the settings that switch off every driver named in the output of `LIST_DRIVERS`."""
    keys = listing.decode("utf-8", "surrogateescape").split("\0")
    return tuple(sorted(_build_settings(keys)))


def _build_settings(keys: Iterable[str]) -> set[Setting]:
    names = {found.group(1, 2) for key in keys if (found := _KEY.fullmatch(key))}
    return {
        (f"{kind}.{name}.{variable}", value)
        for kind, name in names
        for (off_kind, variable), value in _OFF.items()
        if kind == off_kind
    }
