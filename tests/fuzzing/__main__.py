"""The command: `python -m tests.fuzzing [--minutes M | --cases N] [--seed S] [TARGET…]`, or `--again FILE`."""

import argparse
import importlib
import os
import pkgutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from tests.fuzzing.case_process import adopt_orphans
from tests.fuzzing.session import Session, read_finding
from tests.fuzzing.targets import TARGETS

_PACKAGES = ("litellm", "orchestrator", "worktrees", "roles", "prompts")
"""The packages that cases import. They are loaded once before, with all modules below."""


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; all if none is named")
    parser.add_argument("--minutes", type=float, help="how long in all; each target has the same share")
    parser.add_argument("--cases", type=int, default=50, help="how many of each target, if no time is given")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dir", type=Path, help="where findings are written; a new directory if none is named")
    parser.add_argument("--again", type=Path, metavar="FILE", help="run the input of a finding once more")
    return parser.parse_args()


def _load_modules() -> None:
    """Import all that cases could import, so that none has to."""
    for package in map(importlib.import_module, _PACKAGES):
        if package.__name__ == "litellm":
            continue
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if ".sample" not in module.name and not module.name.endswith(("__main__", "_worker")):
                importlib.import_module(module.name)


def _run() -> int:
    given = _parse()
    unknown = sorted(set(given.targets) - set(TARGETS))
    if unknown:
        print(f"no target is called {', '.join(unknown)}; there are {', '.join(TARGETS)}", file=sys.stderr)
        return 2
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    _load_modules()
    adopt_orphans()
    directory = given.dir or Path(tempfile.mkdtemp(prefix="fuzzing-"))
    directory.mkdir(parents=True, exist_ok=True)
    session = Session(given.seed, directory.resolve())
    if given.again:
        return _run_again(session, given.again)
    chosen = [TARGETS[name] for name in given.targets or TARGETS]
    share_s = (given.minutes or 0) * 60 / len(chosen)
    begun = time.monotonic()
    with suppress(KeyboardInterrupt):  # what was found until then is told
        if given.minutes:
            session.run_targets(chosen, lambda _cases, used_s: used_s >= share_s)
        else:
            session.run_targets(chosen, lambda cases, _used_s: cases >= given.cases)
    for line in session.render_lines():
        print(line)
    print(f"seed {given.seed}, {time.monotonic() - begun:.0f} s, in {session.directory}")
    return 1 if session.findings else 0


def _run_again(session: Session, path: Path) -> int:
    name, given = read_finding(path)
    session.prepare([TARGETS[name]])
    failure = session.run_given(TARGETS[name], given)
    if failure is None:
        print("it does not fail any more")
        return 0
    print(f"{failure.text}\n{failure.signature}")
    return 1


if __name__ == "__main__":
    sys.exit(_run())
