"""What light verbs cost: CPU time of a whole process, median of many, against the bounds of DESIGN section 7.

    python -m bench.startup

Leaves with 1 if a bound is passed, or if a verb loads what it must not.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROUNDS = 9
BOUNDS_MS = {"--version": 80.0, "status --json": 150.0}
FORBIDDEN = ("litellm", "textual", "git", "openai")
LOADED = """
import json, sys
sys.argv = ["orchestrate", *sys.argv[1:]]
from orchestrator.cli.main import main
try:
    main()
except SystemExit:
    print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})), file=sys.stderr)
"""


def cpu_ms(words: Sequence[str]) -> float:
    """User and system time of one process, in milliseconds."""
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(words)} exits {process.returncode}")
    return (used.ru_utime + used.ru_stime) * 1000


def loaded(arguments: Sequence[str]) -> set[str]:
    """The top-level modules that a verb loads."""
    done = subprocess.run([sys.executable, "-c", LOADED, *arguments], capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


def main() -> None:
    """Measure on a finished scripted run, print a table, judge."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "demo"
        orchestrate = [sys.executable, "-m", "orchestrator"]
        demo = [*orchestrate, "demo", "--kind", "goal", "--dir", str(place)]
        subprocess.run(demo, check=True, stderr=subprocess.DEVNULL)
        where = ["--repo", str(place / "shop"), "--state", str(place / "state")]
        verbs = {"--version": ["--version"], "status --json": ["status", "--json", *where]}
        idle = statistics.median(cpu_ms([sys.executable, "-c", "pass"]) for _ in range(ROUNDS))
        print(f"python alone: {idle:.0f} ms CPU\n{'verb':16} {'median':>8} {'max':>8} {'bound':>8} {'ratio':>6}")
        judged = [_judge(name, [*orchestrate, *words], words) for name, words in verbs.items()]
    sys.exit(0 if all(judged) else 1)


def _judge(name: str, command: Sequence[str], words: Sequence[str]) -> bool:
    times = [cpu_ms(command) for _ in range(ROUNDS)]
    median, bound = statistics.median(times), BOUNDS_MS[name]
    print(f"{name:16} {median:6.0f}ms {max(times):6.0f}ms {bound:6.0f}ms {median / bound:6.2f}")
    wrong = loaded(words) & set(FORBIDDEN)
    if wrong:
        print(f"  loads {', '.join(sorted(wrong))}")
    return median < bound and not wrong


if __name__ == "__main__":
    main()
