"""The checks of agents of other makers: are their programs there, and the credentials that they are to get?"""

import shutil
from collections.abc import Iterator
from pathlib import Path

from orchestrator.agent.guests.program import find_missing_credentials
from orchestrator.config.engines import LOOP, EngineSettings
from orchestrator.config.model import Config
from orchestrator.doctor.finding import DoctorFinding
from orchestrator.domain.sandbox.tier import Tier


def check_engines(config: Config) -> Iterator[DoctorFinding]:
    """Yield a finding for each engine that a worker is to use. Blocks; nothing is started."""
    used = dict.fromkeys(name for _, name in config.roles.worker.iterate_engines() if name != LOOP)
    for name in used:
        engine = config.engines[name]
        problems = [*_find_program_problems(engine), *find_missing_credentials(engine)]
        if problems:
            yield DoctorFinding(f"engine {name}", False, f"{'; '.join(problems)}: see docs/engines.md")
        else:
            yield DoctorFinding(f"engine {name}", True, _describe_engine(engine))


def _find_program_problems(engine: EngineSettings) -> Iterator[str]:
    program = str(Path(engine.command[0]).expanduser())
    if shutil.which(program) is None:
        yield f"there is no program {engine.command[0]}"
    for folder in engine.read_only:
        if not Path(folder).expanduser().exists():
            yield f"there is no directory {folder} (read_only)"


def _describe_engine(engine: EngineSettings) -> str:
    """Return in words what the user hands over to an engine."""
    held = [*engine.env, *(file.path for file in engine.files)]
    reach = ", ".join(engine.hosts) or "no host"
    if engine.tier == Tier.EVERYTHING:
        reach = "the whole network"
    credentials = ", ".join(held) or "no credentials of yours"
    return f"{engine.protocol}, tier {int(engine.tier)}: reaches {reach}, holds {credentials}"
