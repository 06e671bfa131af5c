"""The prompts of a configuration: the shipped ones, of which the user's directory may replace some."""

from pathlib import Path

from anyio import to_thread

from orchestrator.config.model import Config
from orchestrator.errors import UsageProblem
from prompts import SHIPPED_PROMPTS, PromptError, PromptSource


async def load_configured_prompts(config: Config) -> PromptSource:
    """Return the prompts that the roles are given.

    Raises:
        UsageProblem: the directory under [prompts] cannot be used; says which file is wrong.
    """
    if not config.prompts.dir:
        return SHIPPED_PROMPTS
    try:
        return await to_thread.run_sync(_read_directory, config.prompts.dir)
    except PromptError as error:
        raise UsageProblem(f"dir under [prompts]: {error}") from error


def _read_directory(place: str) -> PromptSource:
    return PromptSource.from_directory(Path(place).expanduser())
