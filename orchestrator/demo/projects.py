"""The projects of the demo: a real package from the user's own index, or the bundled sample."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from orchestrator.demo.published_package import (
    create_environment,
    create_first_commit,
    download_source,
    install_packages,
)

_CLICK = "click==7.1.2"
_TOOLS = ("flynt==1.0.6", "pytest<8")
ReportLine = Callable[[str], None]


@dataclass(frozen=True)
class DemoProject:
    """A git repository to demonstrate on, with what is known of the outcome."""

    name: str
    root: Path
    recipe: str
    landed: int
    rejected: tuple[str, ...]


def create_real_project(directory: Path, say: ReportLine) -> DemoProject:
    """Create click 7.1.2 with its tests and a virtual environment, below `directory`.

    Raises:
        IndexUnreachable: it could not be fetched; says what pip said.
    """
    root = directory / "click"
    say(f"fetching {_CLICK} from your package index …")
    download_source(create_environment(directory / "venv"), _CLICK, root)
    say("making a virtual environment with click, pytest and flynt …")
    install_packages(create_environment(root / ".venv"), *_TOOLS, "--no-build-isolation", "-e", str(root))
    create_first_commit(root)
    return DemoProject("click 7.1.2", root, "click.toml", landed=33, rejected=("src/click/formatting.py",))


def create_sample_project(directory: Path) -> DemoProject:
    """Return the sample shop, copied below `directory`; needs nothing but Python."""
    root = directory / "shop"
    with resources.as_file(resources.files("orchestrator.demo") / "sample") as sample:
        shutil.copytree(sample, root, ignore=shutil.ignore_patterns("__pycache__"))
    create_first_commit(root)
    return DemoProject("the bundled sample shop", root, "sample.toml", landed=8, rejected=("shop/templates.py",))
