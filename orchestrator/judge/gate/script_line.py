"""The line by which a verifier's script runs: twice in one checkout, the second time as released software runs."""

import shlex

UNREADABLE_EXIT = 97
"""The exit code of the line where `sh` cannot read the script."""
_RELEASED = {"PYTHONOPTIMIZE": "1", "NODE_ENV": "production", "CARGO_PROFILE_DEV_DEBUG_ASSERTIONS": "false"}
"""Variables by which assertions and what is only for developers are left out."""


def build_script_line(script: str) -> str:
    """Return a shell line that exits 0 if a script does so twice, one after the other.

    The second run finds what the first one left behind, has another hash seed, and runs as released software does. Both
    print each command before it runs, with its values.
    """
    text = shlex.quote(script)
    released = " ".join(f"{name}={value}" for name, value in _RELEASED.items())
    first = f"sh -e -x -c {text}"
    second = f"echo 'again, with {released}' && env -u PYTHONHASHSEED {released} sh -e -x -c {text}"
    return f"sh -n -c {text} || exit {UNREADABLE_EXIT}; {first} && {second}"
