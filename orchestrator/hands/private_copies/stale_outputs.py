"""Find shared outputs of the user's that were built from something that a commit has changed."""

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from orchestrator.domain.paths.dependencies import is_dependency_pattern

_COMPILED = frozenset(
    (".so", ".pyd", ".dylib", ".dll", ".node", ".a", ".o", ".lib", ".exe", ".class", ".jar", ".wasm", ".rlib", ".beam")
)
_BUILT_FOLDERS = frozenset(("build", "_build", "dist", "out", "target"))
_SOURCES = frozenset(
    (
        *(".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".inc", ".inl", ".m", ".mm", ".cu", ".cuh", ".s"),
        *(".pyx", ".pxd", ".pxi", ".f", ".for", ".f90", ".f95", ".f03", ".f08", ".rs", ".go", ".zig", ".d", ".swift"),
        *(".java", ".kt", ".kts", ".scala", ".cs", ".ts", ".tsx", ".mts", ".cts", ".proto", ".i", ".y", ".l", ".asm"),
    )
)
_BUILD_FILES = frozenset(
    (
        *("setup.py", "setup.cfg", "pyproject.toml", "makefile", "gnumakefile", "cmakelists.txt", "meson.build"),
        *("cargo.toml", "cargo.lock", "build.rs", "go.mod", "build.zig", "sconstruct", "configure", "configure.ac"),
        *("build.gradle", "pom.xml", "tsconfig.json", "package.json", "build.py", "justfile", "ninja.build"),
    )
)
_MOST_LOOKED_AT = 2_000


def find_shared_outputs(shared: Mapping[str, Path]) -> frozenset[str]:
    """Return those of the borrowed names that were built from sources: compiled files, and directories of such. Blocks.

    `shared` are names, each with the directory below which it lies.
    """
    found = set()
    for name, base in shared.items():
        path = base / name
        if is_dependency_pattern(path.name):
            continue
        if path.is_dir():
            if path.name in _BUILT_FOLDERS or _holds_compiled_file(path):
                found.add(name)
        elif path.suffix.lower() in _COMPILED:
            found.add(name)
    return frozenset(found)


def _holds_compiled_file(folder: Path) -> bool:
    for number, path in enumerate(folder.rglob("*")):
        if path.suffix.lower() in _COMPILED:
            return True
        if number == _MOST_LOOKED_AT:
            return False
    return False


def select_stale_outputs(outputs: Iterable[str], changed: Iterable[str]) -> frozenset[str]:
    """Return those of the outputs that may have been built from one of the changed paths.

    That is every one as soon as a file of a compiled language or of a build has changed, and else what has the name of
    a changed file (`fast.cpython-312.so` of `fast.py`). A build that compiles anything else is not seen.
    """
    outputs, stems = frozenset(outputs), set()
    for path in map(PurePosixPath, changed):
        if path.suffix.lower() in _SOURCES or path.name.lower() in _BUILD_FILES:
            return outputs
        stems.add(_get_stem(path))
    stale = set()
    for output in outputs:
        if _get_stem(PurePosixPath(output)) in stems:
            stale.add(output)
    return frozenset(stale)


def _get_stem(path: PurePosixPath) -> str:
    return path.name.partition(".")[0].removeprefix("lib")
