"""Reads the files that `[env] deps` names, in which a project lists its dependencies, from a commit."""

import re
import tomllib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.errors import UsageProblem

VENV = ".venv"
NODE_MODULES = "node_modules"
_ENTRY = compile_lazily(r"(?P<path>[^\[\]]+?)(\[(?P<extras>[A-Za-z0-9._,\s-]+)\])?")
_FURTHER = compile_lazily(r"^\s*(?:-r|-c|--requirement|--constraint)[\s=]+(\S+)", re.MULTILINE)
_BUILT = compile_lazily(
    r"^\s*(-e\b|--editable\b|--no-binary\b|\.{0,2}/|\.{1,2}(\s|$|\[)|(git|hg|svn|bzr)\+|\S+\s*@\s*(git|hg|svn|bzr|file)\b)",
    re.MULTILINE,
)
_FORMS = "requirements files (*.txt, *.in), pyproject.toml, pyproject.toml[EXTRA], and package-lock.json are known"

ReadCommitFile = Callable[[str], Awaitable[str | None]]
"""The text of a file at its path in the commit, None where there is none."""


@dataclass
class Manifests:
    """The dependencies to install. `texts` are all files that name them, by path.

    `files` are requirements files for pip, `lines` further requirements, `folders` those with a lock file for npm.
    """

    texts: dict[str, str] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)

    @property
    def needs_python(self) -> bool:
        """True if a Python environment has to be made."""
        return bool(self.files or self.lines)


async def read_manifests(entries: Sequence[str], read: ReadCommitFile) -> Manifests:
    """Read the files that the entries name, and the files which those name in turn.

    Raises:
        UsageProblem: an entry is of no known form, a file is missing or not understood, or it asks for something that
            would have to be built.
    """
    manifests = Manifests()
    for entry in entries:
        path, extras = _parse_entry(entry)
        if path.name == "package-lock.json" and not extras:
            await _add_lock_file(path, manifests, read, entry)
        elif path.name == "pyproject.toml":
            text = await _read_required(path, read, entry)
            manifests.texts[str(path)] = text
            manifests.lines += _parse_dependencies(text, extras, entry)
        elif path.suffix in (".txt", ".in") and not extras:
            manifests.files.append(str(path))
            await _add_requirements(path, manifests, read, entry)
        else:
            raise UsageProblem(f"deps under [env] names {entry!r}: {_FORMS}", ("env", "deps", entry))
    _refuse_builds("\n".join(manifests.lines), "pyproject.toml")
    return manifests


def _parse_entry(entry: str) -> tuple[PurePosixPath, list[str]]:
    """Return the path that an entry names, and the extras in its brackets."""
    matched = _ENTRY.fullmatch(entry.strip())
    if matched is None:
        return _normalize_path(entry, entry), []
    extras = map(str.strip, (matched["extras"] or "").split(","))
    return _normalize_path(matched["path"], entry), list(filter(None, extras))


async def _add_lock_file(path: PurePosixPath, manifests: Manifests, read: ReadCommitFile, entry: str) -> None:
    manifests.texts[str(path)] = await _read_required(path, read, entry)
    package = path.with_name("package.json")
    manifests.texts[str(package)] = await _read_required(package, read, entry)
    settings = path.with_name(".npmrc")
    if (text := await read(str(settings))) is not None:
        manifests.texts[str(settings)] = text
    manifests.folders.append(str(path.parent))


async def _add_requirements(path: PurePosixPath, manifests: Manifests, read: ReadCommitFile, entry: str) -> None:
    """Add a requirements file and those that it names, each once."""
    if str(path) in manifests.texts:
        return
    text = await _read_required(path, read, entry)
    _refuse_builds(text, str(path))
    manifests.texts[str(path)] = text
    for other in _FURTHER.findall(text):
        if "://" not in other:
            await _add_requirements(_normalize_path(str(path.parent / other), entry), manifests, read, entry)


def _refuse_builds(text: str, path: str) -> None:
    if matched := _BUILT.search(text):
        line = text[matched.start() :].strip().splitlines()[0]
        message = (
            f"{path} asks for {line!r}, which would have to be built: deps under [env] installs wheels only. Leave it "
            "out there, or install it into an environment of your own, which is shared by itself"
        )
        raise UsageProblem(message, ("env", "deps"))


async def _read_required(path: PurePosixPath, read: ReadCommitFile, entry: str) -> str:
    text = await read(str(path))
    if text is None:
        raise _build_problem(entry, f"but there is no {path} in the commit the run starts from")
    return text


def _normalize_path(text: str, entry: str) -> PurePosixPath:
    parts: list[str] = []
    for part in PurePosixPath(text).parts:
        if part == ".." and parts:
            parts.pop()
        else:
            parts.append(part)
    path = PurePosixPath(*parts)
    if path.is_absolute() or ".." in path.parts or not parts:
        raise _build_problem(entry, "which leads out of the repository")
    return path


def _parse_dependencies(text: str, extras: Sequence[str], entry: str) -> list[str]:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _build_problem(entry, f"which is no TOML: {error}") from error
    project = document.get("project", {})
    if "dependencies" in project.get("dynamic", ()):
        raise _build_problem(entry, "whose dependencies are dynamic: name their file instead")
    lines = list(project.get("dependencies", ()))
    for extra in extras:
        lines.extend(_iterate_group(document, extra, entry))
    return lines


def _iterate_group(document: dict[str, Any], extra: str, entry: str) -> Iterator[str]:
    """Yield the lines of an optional group of the project, or of a dependency group of that name."""
    optional = document.get("project", {}).get("optional-dependencies", {})
    groups = document.get("dependency-groups", {})
    if extra not in optional and extra not in groups:
        known = ", ".join(sorted({*optional, *groups})) or "none"
        raise _build_problem(entry, f"but the groups there are: {known}")
    for line in optional.get(extra, groups.get(extra, ())):
        if isinstance(line, str):
            yield line
        elif isinstance(line, dict) and isinstance(line.get("include-group"), str):
            yield from _iterate_group(document, line["include-group"], entry)


def _build_problem(entry: str, words: str) -> UsageProblem:
    return UsageProblem(f"deps under [env] names {entry!r}, {words}", ("env", "deps", entry))
