"""An HTTP client is loaded by the runs that need one, and by nothing else."""

import subprocess
import sys

_LOADED = """
import sys
import orchestrator.doctor.checks, orchestrator.app.wiring, orchestrator.cli.setup.doctor, orchestrator.cli.run.start
print(" ".join(sys.modules))
"""


def test_what_opens_runs_loads_no_http_client() -> None:
    loaded = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True, check=True).stdout.split()
    assert "orchestrator.forge.factory" in loaded
    assert [name for name in loaded if name in {"httpx", "orchestrator.forge.github.http_client"}] == []
