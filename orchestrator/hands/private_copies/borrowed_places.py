"""The places of one workspace at which it finds what it borrows: mount points, fronts and copies."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from orchestrator.hands.files.workspace_files import create_mount_points, is_fixed_mount_point, remove_mount_points
from orchestrator.hands.private_copies.output_copies import OutputCopies
from orchestrator.hands.private_copies.sharing_plan import SharingPlan
from orchestrator.hands.sandbox.backend import Mount


class PlaceMounts(NamedTuple):
    """Names to mount, each with the directory below which it lies, and mounts of the workspace's own."""

    shared: Mapping[str, Path]
    private: tuple[Mount, ...]


@dataclass
class BorrowedPlaces:
    """The places of one workspace, by the plan for all; `caches` is a directory of its own outside of it.

    `checkout` is where commands find the workspace. Outputs that are `stale` are not given to it.
    """

    plan: SharingPlan
    copies: OutputCopies
    caches: Path
    checkout: Path
    stale: frozenset[str] = frozenset()

    def prepare_places(self) -> PlaceMounts:
        """Put the copies to their places, and make all mount points; return what is to be mounted. Blocks.

        Raises:
            OSError: something cannot be copied.
        """
        self.copies.place_copies()
        owner = self.copies.owner
        shared = create_mount_points(self.copies.root, self.list_mounted(), owner)
        private: list[Mount] = []
        for front in self.plan.fronts:
            if front.name in shared:
                del shared[front.name]
                private += front.build_mounts(self.checkout, self.caches, owner)
        return PlaceMounts(shared, tuple(private))

    def clear_places(self) -> None:
        """Take away the copies and the files made to mount on, before the workspace's content is looked at. Blocks.

        Raises:
            OSError: something cannot be moved.
        """
        self.copies.take_away()
        if mounted := self.list_mounted():
            remove_mount_points(self.copies.root, mounted)

    def list_mounted(self) -> dict[str, Path]:
        """Return every name that is mounted in one way or another, with the directory below which it lies."""
        found = {}
        for name, base in self.plan.mounted.items():
            if name not in self.stale:
                found[name] = base
        for front in self.plan.fronts:
            found[front.name] = front.base
        return found

    def has_only_fixed_places(self) -> bool:
        """Return True if nothing inside can replace a mount point between its check and its use."""
        for name, base in self.list_mounted().items():
            if not is_fixed_mount_point(name, base):
                return False
        return True

    def find_lender_root(self, path: PurePosixPath) -> Path | None:
        """Return the directory to read a borrowed file below; None if the path is the workspace's own. Blocks."""
        if root := self.copies.find_root(path):
            return root
        named = {name: base for name, base in self.list_mounted().items() if path.is_relative_to(name)}
        return next(iter(create_mount_points(self.copies.root, named, self.copies.owner).values()), None)

    def is_borrowed(self, path: PurePosixPath) -> bool:
        """Return True if a path belongs to what the workspace borrows, and not to its own content. Blocks."""
        return self.copies.has_copy(path) or self.find_lender_root(path) is not None


def build_borrowed_places(
    plan: SharingPlan, root: Path, folder: Path, checkout: Path, owner: int | None, stale: frozenset[str]
) -> BorrowedPlaces:
    """Return the places of the workspace at `root`, with what it needs beside it in `folder`."""
    originals = {}
    for name, base in plan.copied.items():
        if name not in stale:
            originals[name] = base
    copies = OutputCopies(root, folder / "copies", originals, owner, plan.left_out)
    return BorrowedPlaces(plan, copies, folder / "caches", checkout, stale)
