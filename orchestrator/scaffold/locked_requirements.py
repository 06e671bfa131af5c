"""The packages that a CI job installs, each in one version with the hashes of its files: pip refuses any other file.

pip itself resolves them, by the user's own configuration of indexes, for the Python and the machines of the jobs. So no
address of an index stands in the file.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, requires

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.errors import EnvironmentProblem
from orchestrator.workflows import DISTRIBUTION, JOB_PYTHON

_MACHINES = ("x86_64", "aarch64")
_GLIBC = range(39, 16, -1)
"""The minor versions of glibc 2 that the jobs' systems can load, newest first."""
_TIMEOUT_S = 600
Resolution = Mapping[tuple[str, str], frozenset[str]]
"""Name and version of each package, with the SHA-256 of its files."""


def lock_requirements(package: str) -> str:
    """Return the text of a requirements file for pip's `--require-hashes`. Takes up to a minute.

    `package` is what the jobs install. One from an index is in the file with all that it needs; one from a git server
    is pinned by its commit, so that the file has what this installation needs.

    Raises:
        EnvironmentProblem: pip is not there, or cannot resolve them.
    """
    wanted = list_wanted_requirements(package)
    found: dict[tuple[str, str], set[str]] = {}
    for machine in _MACHINES:
        for key, hashes in _resolve(wanted, machine).items():
            found.setdefault(key, set()).update(hashes)
    names = [name for name, _ in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise EnvironmentProblem(f"there is no one version for all machines of: {', '.join(twice)}")
    return "\n".join(_render_lines(found)) + "\n"


def list_wanted_requirements(package: str) -> list[str]:
    """Return the package if an index has it, else what this installation needs.

    Raises:
        EnvironmentProblem: the package is not installed here.
    """
    try:
        if package and Requirement(package).url is None:
            return [package]
    except InvalidRequirement:
        pass  # an address of a git server
    try:
        needed = requires(DISTRIBUTION) or []
    except PackageNotFoundError as error:
        raise EnvironmentProblem(f"{DISTRIBUTION} is not installed, so nobody knows what it needs") from error
    wanted = []
    for line in needed:
        marker = Requirement(line).marker
        if marker is None or marker.evaluate({"extra": ""}):
            wanted.append(line)
    return wanted


def _resolve(wanted: Sequence[str], machine: str) -> Resolution:
    """Return what pip would install on a machine of this kind."""
    words = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--dry-run"]
    words += ["--ignore-installed", "--report", "-", "--only-binary", ":all:", "--python-version", JOB_PYTHON]
    for minor in _GLIBC:
        words += ["--platform", f"manylinux_2_{minor}_{machine}"]
    words += ["--platform", f"manylinux2014_{machine}"]
    with tempfile.TemporaryDirectory(prefix="orchestrate-") as target:
        try:
            done = subprocess.run(
                [*words, "--target", target, *wanted], capture_output=True, text=True, check=True, timeout=_TIMEOUT_S
            )
        except subprocess.TimeoutExpired as error:
            raise EnvironmentProblem(f"pip takes more than {_TIMEOUT_S} s to find what the jobs install") from error
        except subprocess.CalledProcessError as error:
            last = next(reversed([line for line in error.stderr.splitlines() if line.strip()]), "no reason was given")
            raise EnvironmentProblem(f"pip cannot tell what is to be installed: {to_one_line(last, 300)}") from error
    found: dict[tuple[str, str], frozenset[str]] = {}
    for one in json.loads(done.stdout)["install"]:
        archive = one["download_info"].get("archive_info", {})
        if "sha256" not in archive.get("hashes", {}):
            raise EnvironmentProblem(f"the index tells no SHA-256 of {one['metadata']['name']}")
        key = str(canonicalize_name(one["metadata"]["name"])), str(one["metadata"]["version"])
        found[key] = frozenset({str(archive["hashes"]["sha256"])})
    return found


def _render_lines(found: Mapping[tuple[str, str], set[str]]) -> Iterator[str]:
    yield f"# What the jobs install, for Python {JOB_PYTHON}; `orchestrate init --ci` with --force renews it."
    for (name, version), hashes in sorted(found.items()):
        yield " \\\n    ".join((f"{name}=={version}", *(f"--hash=sha256:{one}" for one in sorted(hashes))))
