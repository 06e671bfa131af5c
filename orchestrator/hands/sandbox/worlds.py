"""Drawing worlds: user, machine and places as the commands of one workspace see them, from lists of believable values.

Candidates and bases are judged in the same kind of world as workers work in, and hardly ever twice in the same.
"""

import secrets
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from orchestrator.domain.sandbox.world import World

EXCHANGE_FOLDERS = (
    *("/mnt/results", "/mnt/out", "/srv/artifacts", "/srv/reports", "/var/spool/ci", "/var/opt/build", "/opt/results"),
    *("/data/out", "/data/reports", "/media/shared", "/run/lock/ci", "/run/build"),
)
"""Places for the files that commands hand back, one in each world. No sandbox has such a directory anyway."""
_OBJECT_FOLDERS = (
    *("/srv/git/objects", "/var/lib/git/objects", "/mnt/mirror/objects", "/var/cache/git/objects"),
    *("/data/git/objects", "/opt/git/objects", "/media/mirror/objects", "/run/mirror/objects"),
)
_USERS = (
    *("dev", "ci", "builder", "runner", "alex", "sam", "robin", "jo", "kim", "pat", "lee", "noor", "maria", "ivan"),
    *("chen", "app", "work", "code"),
)
_HOSTS = ("build", "devbox", "ci", "node", "laptop", "ws", "runner", "vm", "pc", "box")
_BRANCHES = ("main", "main", "master", "develop", "trunk", "devel")
_TEMPORARY = ("/tmp/work", "/tmp/t", "/tmp/scratch", "/tmp/user", "/tmp/build", "/tmp/session")
_UIDS: tuple[int, ...] = (*range(1000, 1012), 1100, 1200, 1500, 2000, 2001, 5000, 10001, 20001)
_REMEMBERED_UIDS = 10


class WorldDraw:
    """Draws worlds of one process; no uid comes again before half of them were drawn.

    Args:
        home: the home directory that every world has, because tool chains lie in it; None if it may differ.
        ids: the uid and gid of every world where commands have no user namespace of their own; then TMPDIR is `/tmp`.
        taken: paths inside at which something else stands.
    """

    def __init__(self, home: str | None, ids: tuple[int, int] | None = None, taken: Sequence[Path] = ()) -> None:
        self._home = home
        self._ids = ids
        self._taken = tuple(map(str, taken))
        self._recent_uids: list[int] = []
        self._random = secrets.SystemRandom()

    def draw_world(self) -> World:
        """Return a world that differs from the last ones in all that can differ."""
        user = self._random.choice(_USERS)
        home, temporary = self._home, "/tmp"
        if home is None:
            home = self._draw_free_path([f"/home/{user}", f"/home/{user}", f"/srv/home/{user}", f"/export/{user}"])
        uid, gid = self._ids or self._draw_ids()
        if self._ids is None:
            temporary = self._random.choice(_TEMPORARY)
        return World(
            uid=uid,
            gid=gid,
            user=user,
            host=f"{self._random.choice(_HOSTS)}-{self._random.randrange(1, 100)}",
            home=home,
            temporary=temporary,
            exchange=self._draw_free_path(EXCHANGE_FOLDERS),
            objects=self._draw_free_path(_OBJECT_FOLDERS),
            branch=self._random.choice(_BRANCHES),
            hash_seed=self._random.randrange(1, 2**32),
        )

    def _draw_ids(self) -> tuple[int, int]:
        free = [uid for uid in _UIDS if uid not in self._recent_uids]
        uid: int = self._random.choice(free)
        self._recent_uids = [*self._recent_uids, uid][-_REMEMBERED_UIDS:]
        return uid, uid

    def _draw_free_path(self, paths: Sequence[str]) -> str:
        """Return one of the paths beside which nothing that commands need is mounted."""
        free = [path for path in paths if not any(_overlap(path, taken) for taken in self._taken)]
        return self._random.choice(free or paths)


def _overlap(first: str, second: str) -> bool:
    one, other = PurePosixPath(first), PurePosixPath(second)
    return one.is_relative_to(other) or other.is_relative_to(one)
