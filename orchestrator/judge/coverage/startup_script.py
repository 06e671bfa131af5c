"""The script with which every Python of a covered run begins, and which afterwards gathers what they saw.

It is never imported here: its text goes into the sandbox, where each Python finds it as its `sitecustomize`. There
coverage.py lies beside it. Run as a program it prints which lines ran.
"""

from __future__ import annotations

import json
import os
import sys

PATHS: list[str] = []
"""What is put after this text gives its value: the files to be watched, relative to the directory of the command."""
_QUIET = ("no-data-collected", "module-not-measured", "trace-changed", "already-imported", "no-ctracer", "no-sysmon")
_GLOB = "*?[]"


def start_coverage(place: str, root: str, paths: list[str]) -> None:
    """Watch these files from now on, until this Python ends."""
    try:
        import coverage
    except Exception:  # noqa: BLE001 -- a Python that is too old for it runs on without
        return
    include = [f"{root}/{path}" for path in paths]
    if not set(_GLOB).isdisjoint("".join(paths)):
        include = [f"{root}/*"]
    watch = coverage.Coverage(
        data_file=f"{place}/data", data_suffix=True, auto_data=True, include=include, config_file=False
    )
    watch.set_option("run:disable_warnings", list(_QUIET))
    watch.start()
    with open(f"{place}/started", "a"):  # noqa: PTH123
        pass


def collect_lines_run(place: str, root: str, paths: list[str]) -> dict[str, object]:
    """Return if any Python was watched, and for each file the lines that ran."""
    import coverage

    lines: dict[str, list[int]] = {}
    if any(name.startswith("data.") for name in os.listdir(place)):  # noqa: PTH208
        whole = coverage.Coverage(data_file=f"{place}/data", config_file=False)
        whole.combine([place])
        data = whole.get_data()
        for name in data.measured_files():
            path = os.path.relpath(name, root)
            if path in paths:
                lines[path] = sorted(data.lines(name) or [])
    return {"started": os.path.exists(f"{place}/started"), "lines": lines}  # noqa: PTH110


def main() -> None:
    """Begin, or gather, as we were called."""
    place = os.environ.get("ORCHESTRATE_COVERED", "")
    root = os.path.realpath(os.environ.get("ORCHESTRATE_COVERED_ROOT", "."))
    if __name__ == "__main__":
        json.dump(collect_lines_run(place, root, PATHS), sys.stdout)
    elif place:
        start_coverage(place, root, PATHS)
