"""The world of a workspace: what the commands in it see of the machine and of its user, drawn for each workspace.

None of it decides what a sound test says, so it may differ from run to run. Code that asks for it to find out who is
looking gets another answer each time.
"""

from orchestrator.domain.frozen_model import FrozenModel


class World(FrozenModel):
    """The machine and user as commands see them; paths are those inside.

    `exchange` is where files lie that the caller wants back, `objects` where the objects of
    the repository stand, `branch` what git says is checked out.
    """

    uid: int
    gid: int
    user: str
    host: str
    home: str
    temporary: str
    exchange: str
    objects: str
    branch: str
    hash_seed: int

    @property
    def description(self) -> str:
        """One line for people."""
        return (
            f"user {self.user} ({self.uid}) on {self.host}, HOME={self.home} TMPDIR={self.temporary} "
            f"PYTHONHASHSEED={self.hash_seed}, files in {self.exchange}, branch {self.branch}"
        )
