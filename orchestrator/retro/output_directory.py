"""Write what a retrospective proposes into a new directory, which `[prompts] dir` can name."""

from pathlib import Path

from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.retro.report import Retrospective

PROMPTS = "prompts"
PATCH = "retro.patch"
SETTINGS = "settings.toml"


def require_new_directory(place: Path, checkout: Path) -> Path:
    """Return the absolute path of a directory that nothing is lost in. Blocks.

    Raises:
        UsageProblem: it holds something already, or lies in the checkout, which is never written to.
    """
    path = place.expanduser().absolute()
    if path.resolve().is_relative_to(checkout.resolve()):
        raise UsageProblem(f"--out {place} lies in the checkout {checkout}, which is never written to: name another")
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UsageProblem(f"--out {place} is no empty directory: name a new one")
    return path


def write_proposals(path: Path, retro: Retrospective) -> None:
    """Write the diffs, the prompts that a trial confirmed, and proposed settings. Blocks.

    Raises:
        EnvironmentProblem: the directory cannot be written.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        patch = ""
        for proposal in retro.proposals:
            if proposal.changed is not None:
                patch += f"# {proposal.name}: {proposal.state}. {' '.join(proposal.verdict.split())}\n{proposal.diff}"
            if proposal.changed is not None and proposal.state == "confirmed":
                (path / PROMPTS).mkdir(exist_ok=True)
                (path / PROMPTS / f"{proposal.name}.md").write_text(proposal.changed.source, encoding="utf-8")
        (path / PATCH).write_text(patch, encoding="utf-8")
        settings = ""
        for change in retro.settings:
            settings += f"{change.key} = {change.new}\n"
        if settings:
            (path / SETTINGS).write_text(settings, encoding="utf-8")
    except OSError as error:
        raise EnvironmentProblem(f"--out {path} cannot be written: {error.strerror or error}") from error
