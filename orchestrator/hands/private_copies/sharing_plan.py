"""The way in which each borrowed path is given to workspaces: mounted, behind a front, or as a copy."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from orchestrator.domain.paths.dependencies import is_dependency_pattern
from orchestrator.hands.private_copies.output_copies import is_small
from orchestrator.hands.private_copies.package_fronts import PackageFront, create_package_front, is_package_folder
from orchestrator.hands.private_copies.stale_outputs import find_shared_outputs
from orchestrator.hands.toolchain.shared_paths import is_shared_name


@dataclass(frozen=True)
class SharingPlan:
    """Borrowed names, each with the directory below which it lies, by the way they are given.

    Attributes:
        mounted: shown read-only.
        fronts: shown behind links, with caches of each workspace's own.
        copied: copied into each workspace before its first command.
        outputs: those of them that were built from the project's sources.
        left_out: files that no copy holds.
    """

    mounted: Mapping[str, Path] = field(default_factory=dict)
    fronts: tuple[PackageFront, ...] = ()
    copied: Mapping[str, Path] = field(default_factory=dict)
    outputs: frozenset[str] = frozenset()
    left_out: frozenset[Path] = frozenset()


def prepare_sharing(
    shared: Mapping[str, Path], writable: Sequence[str], left_out: Iterable[Path], folder: Path
) -> SharingPlan:
    """Sort what workspaces borrow, and make the fronts below `folder`. Blocks.

    Args:
        shared: borrowed names, each with the directory below which it lies.
        writable: patterns of what is to be copied however large it is, as `writable` under `[env]`.
        left_out: files that no copy may hold.
        folder: a directory of ours for the fronts; it need not exist.

    Raises:
        OSError: a directory of packages cannot be read.
    """
    mounted, copied, fronts = dict[str, Path](), dict[str, Path](), list[PackageFront]()
    for number, (name, base) in enumerate(shared.items()):
        is_dependency = is_dependency_pattern(PurePosixPath(name).name)
        if is_shared_name(name, writable) or (not is_dependency and is_small(base / name)):
            copied[name] = base
        elif is_package_folder(name) and (base / name).is_dir():
            fronts.append(create_package_front(name, base, folder / str(number)))
        else:
            mounted[name] = base
    return SharingPlan(mounted, tuple(fronts), copied, find_shared_outputs(shared), frozenset(left_out))
