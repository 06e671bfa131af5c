"""One hosted repository: its pull requests and what was said of commits, in memory, beside a real bare repository."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.running.forge.faults import Answer
from tests.running.projects import git

ALL_RIGHTS: Mapping[str, str] = {
    "contents": "write",
    "pull_requests": "write",
    "issues": "write",
    "checks": "read",
    "statuses": "read",
    "metadata": "read",
}
_NOW = "2026-11-22T10:00:00Z"
_LONGEST = {"body": 65_536, "title": 256}
_RUNNING = ("queued", "in_progress")


class Refusal(Exception):
    """What GitHub answers in place of doing it."""

    def __init__(self, status: int, message: str, *errors: Mapping[str, str], headers: Mapping[str, str] = {}) -> None:
        value = {"message": message, "status": str(status), "documentation_url": "https://docs.github.com/rest"}
        self.answer = Answer(status, value | ({"errors": [*errors]} if errors else {}), headers)


def invalid(resource: str, **error: str) -> Refusal:
    """A 422 about one field."""
    return Refusal(422, "Validation Failed", {"resource": resource, "code": "custom", **error})


@dataclass
class Hosted:
    """`pulls` by number, `comments` by id with the number they are on, `runs` and `statuses` by commit.

    `required` are the names of checks without which nothing is merged.
    """

    path: Path
    name: str
    url: str = ""
    default_branch: str = "main"
    pulls: dict[int, dict[str, Any]] = field(default_factory=dict)
    comments: dict[int, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    runs: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    statuses: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)

    @property
    def owner(self) -> str:
        return self.name.partition("/")[0]

    def tip(self, branch: str) -> str | None:
        """The commit of a branch."""
        words = ["git", "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}"]
        done = subprocess.run(words, cwd=self.path, capture_output=True, text=True, check=False)
        return done.stdout.strip() or None

    def require_commit(self, commit: str) -> None:
        """Refuse to tell of a commit that nobody pushed."""
        if subprocess.run(
            ["git", "cat-file", "-e", commit], cwd=self.path, capture_output=True, check=False
        ).returncode:
            raise Refusal(422, f"No commit found for SHA: {commit}")

    def check(self, commit: str, name: str, state: str, summary: str = "") -> None:
        """An app's check of a commit is now `queued`, `in_progress`, or has come to this conclusion."""
        runs = self.runs.setdefault(commit, {})
        number = runs[name]["id"] if name in runs else 1 + sum(map(len, self.runs.values()))
        page = f"{self.url}/{self.name}/runs/{number}"
        runs[name] = {
            "id": number,
            "head_sha": commit,
            "name": name,
            "status": state if state in _RUNNING else "completed",
            "conclusion": None if state in _RUNNING else state,
            "html_url": page,
            "details_url": page,
            "output": {"title": summary or None, "summary": None, "text": None, "annotations_count": 0},
        }

    def status(self, commit: str, context: str, state: str, description: str = "") -> None:
        """Somebody sets a status of a commit: `pending`, `success`, `failure` or `error`."""
        self.statuses.setdefault(commit, {})[context] = {
            "context": context,
            "state": state,
            "description": description,
            "target_url": None,
        }

    def pull(self, number: int) -> dict[str, Any]:
        """A pull request as it is now: while it is open its ends are where their branches are."""
        if number not in self.pulls:
            raise Refusal(404, "Not Found")
        pull = self.pulls[number]
        if pull["state"] == "open":
            for end in ("head", "base"):
                pull[end]["sha"] = self.tip(pull[end]["ref"]) or pull[end]["sha"]
        return pull

    def create(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Open a pull request, with GitHub's reasons why not."""
        if missing := [name for name in ("title", "head", "base") if not body.get(name)]:
            raise Refusal(422, "Invalid request.", *({"message": f'"{name}" wasn\'t supplied.'} for name in missing))
        head, base = str(body["head"]).removeprefix(f"{self.owner}:"), str(body["base"])
        commits = {"head": self.tip(head), "base": self.tip(base)}
        for end, commit in commits.items():
            if commit is None:
                raise Refusal(422, "Validation Failed", {"resource": "PullRequest", "field": end, "code": "invalid"})
        _require_short(body)
        if any(pull["state"] == "open" and pull["head"]["ref"] == head for pull in self.pulls.values()):
            raise invalid("PullRequest", message=f"A pull request already exists for {self.owner}:{head}.")
        if not git(self.path, "rev-list", f"{commits['base']}..{commits['head']}"):
            raise invalid("PullRequest", message=f"No commits between {base} and {head}")
        number = len(self.pulls) + 1
        self.pulls[number] = self._new(number, body, self._end(head, commits["head"]), self._end(base, commits["base"]))
        return self.pulls[number]

    def update(self, number: int, body: Mapping[str, Any]) -> dict[str, Any]:
        """Change title, text or state."""
        pull = self.pull(number)
        _require_short(body)
        pull |= {name: body[name] for name in ("title", "body", "state") if name in body}
        return pull

    def merge(self, number: int, body: Mapping[str, Any]) -> dict[str, Any]:
        """Merge by a merge commit, with GitHub's reasons why not."""
        pull = self.pull(number)
        head, base = pull["head"]["sha"], pull["base"]["sha"]
        if pull["state"] != "open":
            raise Refusal(405, "Pull Request is not mergeable")
        if body.get("sha") not in {None, head}:
            raise Refusal(409, "Head branch was modified. Review and try the merge again.")
        if pull["draft"]:
            raise Refusal(405, "Pull Request is still a draft")
        green = {name for name, run in self.runs.get(head, {}).items() if run["conclusion"] == "success"}
        if waiting := sorted(self.required - green):
            raise Refusal(405, f'Required status check "{waiting[0]}" is expected.')
        merged = self._merged(pull, head, base)
        pull |= {"state": "closed", "merged_at": _NOW, "closed_at": _NOW, "merge_commit_sha": merged}
        return {"sha": merged, "merged": True, "message": "Pull Request successfully merged"}

    def say(self, number: int, body: Mapping[str, Any]) -> dict[str, Any]:
        """Comment on a pull request."""
        self.pull(number)
        _require_short(body)
        key = len(self.comments) + 1
        self.comments[key] = number, {"id": key, "body": body["body"], "user": {"login": "orchestrate[bot]"}}
        return self.comments[key][1]

    def _merged(self, pull: Mapping[str, Any], head: str, base: str) -> str:
        words = ["git", "merge-tree", "--write-tree", base, head]
        done = subprocess.run(words, cwd=self.path, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Refusal(405, "Pull Request is not mergeable")
        title = f"Merge pull request #{pull['number']} from {self.owner}/{pull['head']['ref']}"
        tree = done.stdout.strip()
        merged = git(self.path, "commit-tree", tree, "-p", base, "-p", head, "-m", title)
        git(self.path, "update-ref", f"refs/heads/{pull['base']['ref']}", merged, base)
        return merged

    def _end(self, branch: str, commit: str | None) -> dict[str, Any]:
        named = {"label": f"{self.owner}:{branch}", "ref": branch, "sha": commit}
        return named | {"user": {"login": self.owner}, "repo": {"full_name": self.name}}

    def _new(
        self, number: int, body: Mapping[str, Any], head: Mapping[str, Any], base: Mapping[str, Any]
    ) -> dict[str, Any]:
        return {
            "id": 1000 + number,
            "number": number,
            "url": f"{self.url}/repos/{self.name}/pulls/{number}",
            "html_url": f"{self.url}/{self.name}/pull/{number}",
            "state": "open",
            "title": body["title"],
            "body": body.get("body"),
            "draft": bool(body.get("draft")),
            "labels": [],
            "head": dict(head),
            "base": dict(base),
            "user": {"login": "orchestrate[bot]"},
            "created_at": _NOW,
            "closed_at": None,
            "merged_at": None,
            "merge_commit_sha": None,
        }


def _require_short(body: Mapping[str, Any]) -> None:
    for name, longest in _LONGEST.items():
        if len(body.get(name) or "") > longest:
            raise invalid("Issue", field=name, message=f"{name} is too long (maximum is {longest} characters)")
