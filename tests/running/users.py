"""Starting something as an ordinary user, where the tests themselves are run by root."""

import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[2]
NOBODY = 65534
STRANGER = 4713
"""Neither root nor whom commands run as, without an account."""


def as_a_normal_user() -> tuple[str, ...]:
    """Starts a command as an ordinary user who can read our interpreter and this repository, wherever they are."""
    if os.geteuid() != 0:
        return ()
    needed = {place: closed_above(place) for place in (Path(sys.base_prefix), Path(sys.prefix), SOURCE)}
    words = ["bwrap", "--dev-bind", "/", "/"]
    for closed in sorted({closed for closed in needed.values() if closed}):
        words += ["--tmpfs", str(closed), "--chmod", "0755", str(closed)]
    for place, closed in needed.items():
        between = [parent for parent in reversed(place.parents) if closed and closed in parent.parents]
        words += [word for one in between for word in ("--dir", str(one), "--chmod", "0755", str(one))]
        words += ["--ro-bind", str(place), str(place)] if closed else []
    return (
        *words,
        "--chdir",
        str(SOURCE),
        "--",
        "setpriv",
        "--reuid",
        str(NOBODY),
        "--regid",
        str(NOBODY),
        "--clear-groups",
    )


def closed_above(place: Path) -> Path | None:
    """The outermost directory above a place into which other users may not look."""
    return next((parent for parent in reversed(place.parents) if not parent.stat().st_mode & 0o001), None)


def run_as_another(*words: str) -> str:
    """What a command says, with its errors, that root starts as a user who has nothing to do with us."""
    try:
        done = subprocess.run(
            words, user=STRANGER, group=STRANGER, extra_groups=[], capture_output=True, text=True, check=False, cwd="/"
        )
    except PermissionError as error:
        return str(error)
    return done.stdout + done.stderr
