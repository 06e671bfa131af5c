"""The packages of the extra `hosts`, which nothing needs where no host joins."""

from importlib.util import find_spec

from orchestrator.errors import EnvironmentProblem

_PACKAGES = ("cryptography", "distributed")


def require_hosts_extra() -> None:
    """Make sure that the packages of the extra are installed. Loads none of them.

    Raises:
        EnvironmentProblem: they are not.
    """
    for package in _PACKAGES:
        if not _is_installed(package):
            raise EnvironmentProblem(
                f"hosts need the package {package}, which is not installed: pip install 'orchestrate-goals[hosts]'"
            )


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False
