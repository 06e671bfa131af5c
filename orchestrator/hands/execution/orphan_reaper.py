"""Ends sandboxes that were only half built when our process was killed.

A finished sandbox dies with us by itself. One whose bubblewrap had not yet asked the kernel for that would wait for
ever; so a small shell outside waits for our end and then looks for such ones.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SCRIPT = """
read -r _
for pause_s in 0.02 0.08 0.3; do
    for found in $(grep -lsaF -e "$1/" /proc/[0-9]*/cmdline); do
        place=${found%/cmdline}
        read -r name < "$place/comm" && [ "$name" = bwrap ] && kill -9 "${place#/proc/}"
    done
    sleep $pause_s
done
"""


@contextmanager
def run_orphan_reaper(session: Path) -> Iterator[None]:
    """Kill every bubblewrap that names something in `session` when our process ends during the block."""
    guardian = subprocess.Popen(
        ["/bin/sh", "-c", _SCRIPT, "guardian", str(session)],
        stdin=subprocess.PIPE,  # held open by us alone: it closes when we end, however that comes about
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={"PATH": "/usr/bin:/bin"},
        start_new_session=True,
    )
    with guardian:
        try:
            yield
        finally:
            guardian.kill()
