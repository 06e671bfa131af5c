"""The projects of the demo: a real package from the user's own index, or the bundled sample."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from orchestrator.demo.package import commit, environment, install, source

_CLICK = "click==7.1.2"
_TOOLS = ("flynt==1.0.6", "pytest<8")
Say = Callable[[str], None]


@dataclass(frozen=True)
class Project:
    """A git repository to demonstrate on, with what is known of the outcome."""

    name: str
    root: Path
    recipe: str
    landed: int
    rejected: tuple[str, ...]


def real_package(directory: Path, say: Say) -> Project:
    """Click 7.1.2 with its tests and a virtual environment, below `directory`.

    Raises:
        IndexUnreachable: it could not be fetched; says what pip said.
    """
    root = directory / "click"
    say(f"fetching {_CLICK} from your package index …")
    source(environment(directory / "venv"), _CLICK, root)
    say("making a virtual environment with click, pytest and flynt …")
    install(environment(root / ".venv"), *_TOOLS, "--no-build-isolation", "-e", str(root))
    commit(root)
    return Project("click 7.1.2", root, "click.toml", landed=33, rejected=("src/click/formatting.py",))


def bundled_sample(directory: Path) -> Project:
    """The sample shop, copied below `directory`; needs nothing but Python."""
    root = directory / "shop"
    with resources.as_file(resources.files("orchestrator.demo") / "sample") as sample:
        shutil.copytree(sample, root, ignore=shutil.ignore_patterns("__pycache__"))
    commit(root)
    return Project("the bundled sample shop", root, "sample.toml", landed=8, rejected=("shop/templates.py",))
