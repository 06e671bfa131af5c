"""The jobs of the workflow file, each script run by bash as it stands, on fresh clones of a remote and a fake forge."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import Any
from uuid import uuid4

import pytest

from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.workflows import ROLES, RoleModel, WorkflowValues, render_workflow
from tests.running.actions import Actions
from tests.running.forge import TOKEN, FakeForge, fake_forge
from tests.running.goals import one
from tests.running.projects import GATE, calculator, git
from tests.running.scripts import write_script

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]

READS = "ghs_" + "7r" * 18
MODEL_KEY = "sk-" + "4m" * 20
PERMISSION = 'case "$2" in */collaborators/*) echo "${RIGHT:-write}" ;; esac'
TRAP = Path(gettempdir()) / f"pwned-{uuid4().hex}"
TRICK = f"x\"; touch '{TRAP}'; $(touch {TRAP}) `touch {TRAP}` ${{{{ secrets.TEAM_KEY }}}}\n- item"
ISSUE = {"number": 1, "title": "make it better", "body": TRICK}


@dataclass
class Yard:
    """A repository on a forge with the workflow in it."""

    actions: Actions
    forge: FakeForge

    def labelled(self, **issue: Any) -> Any:
        payload = {"issue": ISSUE | issue, "label": {"name": "orchestrate"}, "sender": {"login": "ann"}}
        return self.actions.event("issues", payload)

    def commented(self, text: str, association: str = "MEMBER", **issue: Any) -> Any:
        comment = {"body": text, "author_association": association}
        return self.actions.event(
            "issue_comment", {"issue": ISSUE | issue, "comment": comment, "sender": {"login": "ann"}}
        )

    def refs(self) -> list[str]:
        return git(self.actions.remote, "for-each-ref", "--format=%(refname)").splitlines()


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    with a_yard(tmp_path, one("a")) as yard:
        yield yard


class a_yard:
    """The yard while the block lasts, with these replies of the models."""

    def __init__(self, place: Path, replies: Sequence[ScriptedReply], **env: str) -> None:
        repo = calculator(place / "repo")
        (repo / "orchestrate.toml").write_text(f'schema = 1\n[gate]\ncommand = "{GATE}"\nreport = "unittest"\n')
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "-m", "configured")
        git(place, "clone", "-q", "--bare", str(repo), str(place / "remote.git"))
        self.place, self.replies, self.env = place, replies, env

    def __enter__(self) -> Yard:
        model = write_script(self.place / "script.json", self.replies)
        models = tuple(RoleModel(role, model, key_env="TEAM_KEY", secrets=("TEAM_KEY",)) for role in ROLES)
        self.served = fake_forge(self.place / "remote.git")
        forge = self.served.__enter__()
        actions = Actions(
            self.place,
            self.place / "remote.git",
            render_workflow("github", WorkflowValues("orchestrate==1", 19_800, "10", models)),
            secrets={"TEAM_KEY": MODEL_KEY},
            tokens={"read": READS, "write": TOKEN},
            env={"ORCHESTRATE__PR__URL": forge.url, "ORCHESTRATE__PR__REPOSITORY": "octo/demo", **self.env},
        )
        actions.orchestrate()
        actions.program("gh", PERMISSION)
        return Yard(actions, forge)

    def __exit__(self, *error: Any) -> None:
        self.served.__exit__(*error)


@pytest.mark.slow
def test_a_label_becomes_a_pull_request_that_the_issue_is_told_of_and_no_words_become_a_script(yard: Yard) -> None:
    done = yard.labelled()
    assert list(done) == ["work", "publish"], done["work"].said
    assert (done["work"].result, done["publish"].result) == ("success", "success"), (
        done["work"].said + done["publish"].said
    )
    (pull,) = yard.forge.hosted.pulls.values()
    assert pull["title"].startswith("make it better")
    assert f"refs/heads/{pull['head']['ref']}" in yard.refs()
    assert {"refs/orchestrate/ci/issue-1"} < set(yard.refs())
    ((number, comment),) = yard.forge.hosted.comments.values()
    assert number == 1
    assert pull["html_url"] in comment["body"]
    assert not TRAP.exists()
    assert [words[:2] for _, words in yard.actions.calls("gh")] == [
        ["api", "repos/octo/demo/collaborators/ann/permission"]
    ]
    artifact = yard.actions.place / "artifacts1"
    held = b"".join(file.read_bytes() for file in artifact.rglob("*") if file.is_file())
    assert not [secret for secret in (MODEL_KEY, READS, TOKEN) if secret.encode() in held]
    assert TOKEN not in done["work"].said
    assert MODEL_KEY not in done["publish"].said


@pytest.mark.slow
def test_what_is_published_again_opens_nothing_twice(yard: Yard) -> None:
    yard.labelled()
    again = yard.commented("/orchestrate resume")
    said = again["work"].said + again["publish"].said
    assert (again["work"].result, again["publish"].result) == ("success", "success"), said
    assert len(yard.forge.hosted.pulls) == 1
    assert len(yard.forge.hosted.comments) == 1


@pytest.mark.slow
def test_a_job_whose_time_is_over_starts_the_next_one_which_ends_the_run(tmp_path: Path) -> None:
    first, *rest = one("a")
    with a_yard(tmp_path, [first.model_copy(update={"delay_s": 3.0}), *rest]) as yard:
        inputs = {"goal": "make it better", "time_limit": "1s", "issue": "", "budget_usd": "", "resume_run": ""}
        done = yard.actions.event("workflow_dispatch", {"inputs": inputs})
        assert (done["work"].result, done["publish"].result) == ("success", "success"), done["publish"].said
        ((token, words),) = [call for call in yard.actions.calls("gh") if call[1][:2] == ["workflow", "run"]]
        assert token == TOKEN
        given = dict(word.split("=", 1) for word in words if "=" in word)
        assert words[2] == "orchestrate.yml"
        assert yard.forge.hosted.pulls == {}
        following = yard.actions.event("workflow_dispatch", {"inputs": given | {"time_limit": "5m"}})
        assert following["publish"].result == "success", following["work"].said + following["publish"].said
        assert len(yard.forge.hosted.pulls) == 1


@pytest.mark.extended
def test_a_goal_that_begins_like_an_option_is_planned(yard: Yard) -> None:
    done = yard.actions.event("workflow_dispatch", {"inputs": {"goal": "- make it better", "dry_run": "true"}})
    assert done["work"].results["Plan only"] == "success", done["work"].said


def test_who_may_not_write_starts_nothing(yard: Yard) -> None:
    yard.actions.env = {**yard.actions.env, "RIGHT": "read"}
    done = yard.labelled()
    assert list(done) == ["work"]
    assert done["work"].result == "failure"
    assert "ann may not write to this repository (has: read)" in done["work"].said
    assert yard.refs() == ["refs/heads/main"]


@pytest.mark.parametrize(
    ("text", "association", "issue"),
    [
        ("/orchestrate run", "NONE", {}),
        ("/orchestrate stop", "CONTRIBUTOR", {}),
        ("/orchestrate run", "OWNER", {"pull_request": {"url": "x"}}),
        ("please /orchestrate run", "OWNER", {}),
        ("thank you", "OWNER", {}),
    ],
)
def test_a_comment_of_a_stranger_on_a_pull_request_or_about_something_else_starts_no_job(
    yard: Yard, text: str, association: str, issue: dict[str, Any]
) -> None:
    assert yard.commented(text, association, **issue) == {}


def test_another_label_starts_no_job(yard: Yard) -> None:
    payload = {"issue": ISSUE, "label": {"name": "bug"}, "sender": {"login": "ann"}}
    assert yard.actions.event("issues", payload) == {}


@pytest.mark.slow
def test_nothing_that_came_of_it_is_red(yard: Yard) -> None:
    done = yard.actions.event("workflow_dispatch", {"inputs": {"goal": "", "resume_run": "7f3a"}})
    assert list(done) == ["work"], "there is nothing to publish"
    assert done["work"].result == "failure"
    assert "'7f3a' is carried on by no key" in done["work"].said


def test_a_workflow_that_does_not_say_what_to_install_says_so(yard: Yard) -> None:
    yard.actions.workflow = yard.actions.workflow.replace('"orchestrate==1"', '""')
    done = yard.labelled()
    assert done["work"].result == "failure"
    assert "ORCHESTRATE_PACKAGE" in done["work"].said


def test_stop_ends_the_other_runs_of_the_issue_and_status_tells_of_them(yard: Yard) -> None:
    listing = """case "$*" in
*databaseId*) printf '1\\n41\\n' ;;
*conclusion*) echo '- completed success, today: https://forge.example/41' ;;
*collaborators*) echo admin ;;
esac"""
    yard.actions.program("gh", listing)
    done = yard.commented("/orchestrate stop")
    assert list(done) == ["answer"]
    assert done["answer"].result == "success", done["answer"].said
    calls = [words for _, words in yard.actions.calls("gh")]
    assert [words[2] for words in calls if words[:2] == ["run", "cancel"]] == ["41"], "and not the run that answers"
    assert yard.commented("/orchestrate status")["answer"].result == "success"
    said = [words for _, words in yard.actions.calls("gh") if "repos/octo/demo/issues/1/comments" in words]
    assert len(said) == 2
