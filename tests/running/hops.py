"""Jobs of a CI system: each has a fresh clone of one remote, an empty state directory and an empty home."""

import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.running.cli import COMMAND, Finished, environment, orchestrate
from tests.running.killing import kill_engines
from tests.running.projects import git


@dataclass
class Ci:
    """A remote, and the jobs that clone it. `words` are what each job says of the run."""

    place: Path
    words: Sequence[str]
    jobs: list["CiJob"] = field(default_factory=list)

    @classmethod
    def of(cls, repository: Path, place: Path, words: Sequence[str]) -> "Ci":
        """A bare remote with what the repository has."""
        place.mkdir(parents=True, exist_ok=True)
        git(place, "clone", "-q", "--bare", str(repository), str(place / "remote.git"))
        return cls(place, words)

    @property
    def remote(self) -> Path:
        """The bare repository."""
        return self.place / "remote.git"

    def job(self) -> "CiJob":
        """The next job's machine."""
        home = self.place / f"job{len(self.jobs) + 1}"
        home.mkdir()
        git(home, "clone", "-q", str(self.remote), str(home / "clone"))
        self.jobs.append(CiJob(home, self.words))
        return self.jobs[-1]

    def expire(self, stale_after: str) -> None:
        """Wait until a job that died counts as dead."""
        time.sleep(float(stale_after.removesuffix("s")) + 0.2)

    def refs(self) -> dict[str, str]:
        """What the remote has."""
        lines = git(self.remote, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(line.split(" ") for line in lines)


@dataclass(frozen=True)
class CiJob:
    """A machine that is thrown away afterwards."""

    home: Path
    words: Sequence[str]

    @property
    def clone(self) -> Path:
        """The checkout."""
        return self.home / "clone"

    @property
    def env(self) -> dict[str, str]:
        """As GitHub's runners have it."""
        files = {"GITHUB_OUTPUT": str(self.home / "output"), "GITHUB_STEP_SUMMARY": str(self.home / "summary.md")}
        return environment(self.home, GITHUB_ACTIONS="true", **files)

    def run(self, *more: str, words: Sequence[str] | None = None) -> Finished:
        """The job's one step, to its end."""
        return orchestrate(*self._line(more, words), cwd=self.clone, env=self.env)

    def begin(self, *more: str) -> subprocess.Popen[bytes]:
        """The same without waiting for it."""
        with (self.home / "said").open("wb") as said:
            return subprocess.Popen(
                [*COMMAND, *self._line(more, None)],
                cwd=self.clone,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )

    def kill_after(self, seconds: float, *more: str) -> bool:
        """The job whose machine dies after so many seconds; whether it was still at work then."""
        process = self.begin(*more)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kill_engines(self.home)
            return True
        return False

    def _line(self, more: Sequence[str], words: Sequence[str] | None) -> list[str]:
        said = self.words if words is None else words
        return ["ci", "run", *said, "--state", str(self.home / "state"), *more]

    @property
    def outputs(self) -> dict[str, str]:
        """What the steps after it can read."""
        lines = (self.home / "output").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)
