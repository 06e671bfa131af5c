"""Pull requests on GitHub: opened once whatever is lost on the way, and nobody else's are touched."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.domain.ids import CommitId, RunId
from orchestrator.errors import EnvironmentProblem, PersonNeeded, ProviderDown
from orchestrator.forge.github.endpoint import RepositoryEndpoint
from orchestrator.forge.github.http_client import open_connection
from orchestrator.forge.github.retry import RetryAdvice
from orchestrator.forge.markers import MAX_TEXT_CHARS, build_marker
from tests.running.forge import (
    ALL_RIGHTS,
    TOKEN,
    Answer,
    Asked,
    FakeForge,
    Fault,
    bad_gateway,
    fake_forge,
    lost,
    primary_limit,
    secondary_limit,
    unreachable,
)
from tests.running.hostile_http import Flood, HostileServer, gzip_bomb
from tests.unit.forge.hosting import BRANCH, RUN, ahead, client, head, proposable, proposal


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return proposable(tmp_path_factory.mktemp("forge"))


@pytest.fixture
def forge(remote: Path, tmp_path: Path) -> Iterator[FakeForge]:
    with fake_forge(shutil.copytree(remote, tmp_path / "remote.git")) as forge:
        yield forge


async def test_a_pull_request_is_opened_with_its_mark_labels_and_as_a_draft(forge: FakeForge) -> None:
    async with client(forge) as github:
        opened = await github.open_pull_request(proposal(forge, labels=("migration",), draft=True, group="@core"))
    (pull,) = forge.hosted.pulls.values()
    assert (opened.ref, opened.url) == ("octo/demo#1", f"{forge.url}/octo/demo/pull/1")
    assert pull["body"] == f"<!-- orchestrate:run={RUN};group=@core;kind=pr -->\nIt is better.\n\n- one"
    assert (pull["title"], pull["head"]["ref"], pull["base"]["ref"], pull["draft"]) == ("Better", BRANCH, "main", True)
    assert pull["labels"] == [{"name": "migration"}]


async def test_opening_it_again_changes_nothing_and_opening_it_with_other_words_updates_it(forge: FakeForge) -> None:
    async with client(forge) as github:
        first = await github.open_pull_request(proposal(forge))
        assert await github.open_pull_request(proposal(forge)) == first
        assert forge.writes == ["POST /pulls"]
        ahead(forge)
        assert await github.open_pull_request(proposal(forge, title="Best", body="more", labels=("x",))) == first
    assert forge.writes[1:] == ["PATCH /pulls/1", "POST /issues/1/labels"]
    (pull,) = forge.hosted.pulls.values()
    assert (pull["title"], pull["body"]) == ("Best", f"{build_marker(RUN, 'pr')}\nmore")


async def test_without_a_target_of_the_run_it_is_meant_for_the_repositorys_own_branch(forge: FakeForge) -> None:
    async with client(forge) as github:
        await github.open_pull_request(proposal(forge, target=""))
    assert forge.hosted.pulls[1]["base"]["ref"] == "main"


@pytest.mark.parametrize(
    "fault",
    [
        lost(),
        bad_gateway(happens=True),
        bad_gateway(),
        bad_gateway(503),
        unreachable(),
        secondary_limit(0),
        secondary_limit(0, 429),
        primary_limit(-2),
    ],
    ids=lambda fault: f"{fault.answer.status if fault.answer else 'closed'}-{fault.happens}",
)
async def test_it_is_opened_once_whatever_becomes_of_the_answer(forge: FakeForge, fault: Fault) -> None:
    for method in ("GET", "POST"):
        forge.fault(fault, method, "/pulls$")
    async with client(forge) as github:
        opened = await github.open_pull_request(proposal(forge))
    assert ([*forge.hosted.pulls], opened.ref) == ([1], "octo/demo#1")


async def test_a_list_that_does_not_show_it_yet_does_not_bring_a_second_one(forge: FakeForge) -> None:
    """GitHub's lists lag behind what it has made: it then says that there is one already."""
    forge.fault(lost(), "POST", "/pulls$")
    forge.fault(Fault(answer=answer([])), "GET", "/pulls$", times=2)
    async with client(forge) as github:
        assert (await github.open_pull_request(proposal(forge))).ref == "octo/demo#1"
    assert forge.writes == ["POST /pulls", "POST /pulls"]


@pytest.mark.parametrize("body", ["Mine.", None, build_marker("20261122-100000-ffff", "pr") + "\nanother run's"])
async def test_a_pull_request_of_somebody_else_on_the_branch_needs_a_person_and_is_left_alone(
    forge: FakeForge, body: str | None
) -> None:
    forge.hosted.create({"title": "Theirs", "head": BRANCH, "base": "main", "body": body})
    async with client(forge) as github:
        with pytest.raises(PersonNeeded, match=r"/pull/1 is open for .* this run did not open it"):
            await github.open_pull_request(proposal(forge))
        for act in (
            github.close_pull_request("octo/demo#1", "no"),
            github.merge_pull_request("octo/demo#1", head(forge)),
        ):
            with pytest.raises(PersonNeeded, match="is not this run's"):
                await act
    assert forge.writes == []
    assert (forge.hosted.pulls[1]["body"], forge.hosted.pulls[1]["state"]) == (body, "open")


async def test_a_mark_further_down_in_a_text_is_somebodys_words(forge: FakeForge) -> None:
    forge.hosted.create({"title": "x", "head": BRANCH, "base": "main", "body": f"see\n{build_marker(RUN, 'pr')}"})
    async with client(forge) as github:
        with pytest.raises(PersonNeeded):
            await github.open_pull_request(proposal(forge))


async def test_one_that_was_closed_at_this_commit_stays_closed_and_a_new_commit_gets_a_new_one(
    forge: FakeForge,
) -> None:
    async with client(forge) as github:
        first = await github.open_pull_request(proposal(forge))
        forge.hosted.update(1, {"state": "closed"})
        assert await github.open_pull_request(proposal(forge, title="Other")) == first
        assert (forge.hosted.pulls[1]["title"], forge.hosted.pulls[1]["state"]) == ("Better", "closed")
        ahead(forge)
        assert (await github.open_pull_request(proposal(forge))).ref == "octo/demo#2"


async def test_a_text_that_is_too_long_is_cut_with_a_word(forge: FakeForge) -> None:
    async with client(forge) as github:
        await github.open_pull_request(proposal(forge, body="é" * 70_000))
        await github.open_pull_request(proposal(forge, body="é" * 70_000))
    body = forge.hosted.pulls[1]["body"]
    assert (len(body), body.endswith("`orchestrate report` has all of it.*")) == (MAX_TEXT_CHARS, True)
    assert forge.writes == ["POST /pulls"]


async def test_check_runs_and_statuses_are_one_list_page_after_page(forge: FakeForge) -> None:
    commit = head(forge)
    for number in range(150):
        forge.hosted.check(commit, f"unit {number}", "success")
    forge.hosted.check(commit, "lint", "failure", "2 errors\x1b[31m")
    forge.hosted.check(commit, "e2e", "in_progress")
    forge.hosted.check(commit, "deploy", "action_required")
    forge.hosted.check(commit, "cut off", "cancelled")
    forge.hosted.check(commit, "endless", "timed_out")
    forge.hosted.status(commit, "ci/old", "error", "it broke")
    forge.hosted.status(commit, "ci/slow", "pending")
    async with client(forge) as github:
        found = {check.name: check for check in await github.list_checks("octo/demo#1", commit)}
    assert {name: check.state for name, check in found.items() if not name.startswith("unit")} == {
        "lint": "failed",
        "e2e": "pending",
        "deploy": "pending",
        "cut off": "pending",
        "endless": "failed",
        "ci/old": "failed",
        "ci/slow": "pending",
    }
    assert [check.state for name, check in found.items() if name.startswith("unit")] == ["passed"] * 150
    assert (found["lint"].summary, found["ci/old"].summary) == ("failure: 2 errors[31m", "error: it broke")
    assert found["lint"].url.startswith(f"{forge.url}/octo/demo/runs/")


async def test_polling_costs_nothing_until_something_changes(forge: FakeForge) -> None:
    commit = head(forge)
    forge.hosted.check(commit, "ci", "queued")
    async with client(forge) as github:
        states = [(await github.list_checks("octo/demo#1", commit))[0].state for _ in range(5)]
        spent = forge.spent
        forge.hosted.check(commit, "ci", "success")
        states += [(await github.list_checks("octo/demo#1", commit))[0].state]
    assert (states, spent) == (["pending"] * 5 + ["passed"], 2)
    assert [asked.status for asked in forge.asked].count(304) == 9


@pytest.mark.parametrize("fault", [None, lost(), bad_gateway(happens=True), bad_gateway(), secondary_limit(0)])
async def test_it_is_merged_once_at_the_very_commit_whatever_becomes_of_the_answer(
    forge: FakeForge, fault: Fault | None
) -> None:
    async with client(forge) as github:
        ref = (await github.open_pull_request(proposal(forge))).ref
        if fault:
            forge.fault(fault, "PUT", "/merge$")
        merged = await github.merge_pull_request(ref, head(forge))
        assert merged == head(forge, "main")
        assert await github.merge_pull_request(ref, head(forge)) == merged


async def test_a_target_that_moves_during_the_merge_is_tried_again(forge: FakeForge) -> None:
    words = {"message": "Base branch was modified. Review and try the merge again."}
    forge.fault(Fault(answer=answer(words, 405)), "PUT", "/merge$")
    async with client(forge) as github:
        ref = (await github.open_pull_request(proposal(forge))).ref
        assert await github.merge_pull_request(ref, head(forge)) == head(forge, "main")


async def test_what_may_not_be_merged_needs_a_person_who_is_told_why(forge: FakeForge) -> None:
    async with client(forge) as github:
        ref, judged = (await github.open_pull_request(proposal(forge))).ref, head(forge)
        forge.hosted.required = {"ci"}
        with pytest.raises(PersonNeeded, match='Required status check "ci" is expected'):
            await github.merge_pull_request(ref, judged)
        forge.hosted.required = set()
        ahead(forge, "main", "b.txt")
        with pytest.raises(PersonNeeded, match="Pull Request is not mergeable"):
            await github.merge_pull_request(ref, judged)
        theirs = ahead(forge)
        with pytest.raises(PersonNeeded, match=f"moved to {theirs[:12]}, which this run did not judge"):
            await github.merge_pull_request(ref, judged)
        forge.hosted.update(1, {"state": "closed"})
        with pytest.raises(PersonNeeded, match="was closed by somebody"):
            await github.merge_pull_request(ref, theirs)


async def test_a_head_that_moves_between_looking_and_merging_is_not_merged(forge: FakeForge) -> None:
    async with client(forge) as github:
        ref, judged, before = (await github.open_pull_request(proposal(forge))).ref, head(forge), head(forge, "main")

        def move(asked: Asked) -> None:
            if asked.line == "GET /pulls/1" and head(forge) == judged:
                ahead(forge)

        forge.heard.append(move)
        with pytest.raises(PersonNeeded, match="Head branch was modified"):
            await github.merge_pull_request(ref, judged)
    assert head(forge, "main") == before


@pytest.mark.parametrize("fault", [None, lost(), bad_gateway(happens=True), unreachable()])
async def test_it_is_closed_with_one_comment_whatever_becomes_of_the_answer(
    forge: FakeForge, fault: Fault | None
) -> None:
    async with client(forge) as github:
        ref = (await github.open_pull_request(proposal(forge))).ref
        if fault:
            forge.fault(fault, "POST", "/comments$")
            forge.fault(fault, "PATCH", "/pulls/1$")
        await github.close_pull_request(ref, "The checks failed.")
        await github.close_pull_request(ref, "The checks failed.")
        await github.close_pull_request(ref, "The checks failed: lint.")
    ((on, comment),) = forge.hosted.comments.values()
    assert (on, comment["body"]) == (1, f"{build_marker(RUN, 'closed')}\nThe checks failed: lint.")
    assert forge.hosted.pulls[1]["state"] == "closed"


@pytest.mark.parametrize(
    ("token", "rights", "said"),
    [
        ("ghs_" + "n0" * 18, None, r"does not accept the token in GITHUB_TOKEN \(Bad credentials\): put a valid one"),
        (TOKEN, {**ALL_RIGHTS, "pull_requests": "read"}, r"this permission on octo/demo: pull_requests: write"),
        (TOKEN, {}, r"has no octo/demo/pulls, or the token in GITHUB_TOKEN may not see it"),
    ],
)
async def test_a_token_that_does_not_do_is_told_with_what_to_mend_and_never_shown(
    forge: FakeForge, token: str, rights: dict[str, str] | None, said: str
) -> None:
    forge.tokens = {} if rights is None else {token: rights}
    async with client(forge, token=token) as github:
        with pytest.raises(EnvironmentProblem, match=said) as problem:
            await github.open_pull_request(proposal(forge))
    assert token not in str(problem.value)
    assert forge.hosted.pulls == {}


async def test_a_server_that_repeats_the_token_does_not_get_it_shown(forge: FakeForge) -> None:
    forge.fault(Fault(answer=answer({"message": f"no {TOKEN}\x1b[2J\nhere"}, 403)), "GET")
    async with client(forge) as github:
        with pytest.raises(EnvironmentProblem, match=r"\(no …\[2J here\)"):
            await github.open_pull_request(proposal(forge))


async def test_what_github_does_not_take_needs_a_person_who_is_told_its_words(forge: FakeForge) -> None:
    async with client(forge) as github:
        with pytest.raises(PersonNeeded, match=r"into nowhere \(422 Validation Failed; base invalid\)"):
            await github.open_pull_request(proposal(forge, target="nowhere"))


@pytest.mark.parametrize("fault", [bad_gateway(), unreachable(), secondary_limit(0)])
async def test_a_forge_that_stays_down_ends_resumably_after_bounded_tries(forge: FakeForge, fault: Fault) -> None:
    forge.fault(fault, times=100)
    async with client(forge) as github:
        with pytest.raises(ProviderDown, match=r"did not answer GET octo/demo/pulls: .*; resume the run later"):
            await github.open_pull_request(proposal(forge))
    assert len(forge.asked) == 6


async def test_a_limit_that_lasts_longer_than_anybody_waits_ends_the_run_at_once_and_says_so(forge: FakeForge) -> None:
    forge.fault(primary_limit(3600), times=100)
    async with client(forge) as github:
        with pytest.raises(ProviderDown, match="its rate limit is used up"):
            await github.open_pull_request(proposal(forge))
    assert len(forge.asked) == 1


@pytest.mark.parametrize("content", [b"<html>a login page</html>", b"[{}]", b"", b'{"a": 1}'])
async def test_a_server_that_is_no_github_is_told_as_that(forge: FakeForge, content: bytes) -> None:
    forge.fault(Fault(answer=answer(content)), "GET")
    async with client(forge) as github:
        with pytest.raises(EnvironmentProblem, match=r"does not answer as GitHub's API does .*is \[pr\] url right"):
            await github.open_pull_request(proposal(forge))


async def test_an_answer_without_end_is_not_read_to_its_end(forge: FakeForge) -> None:
    forge.fault(Fault(answer=answer(b" " * (17 * 2**20))), "GET")
    async with client(forge) as github:
        with pytest.raises(EnvironmentProblem, match="answers with more than 16 MiB"):
            await github.open_pull_request(proposal(forge))


async def test_a_repository_that_has_moved_is_not_followed_with_the_token(forge: FakeForge) -> None:
    moved = answer({"message": "Moved Permanently"}, 301, Location="http://127.0.0.1:1/evil")
    forge.fault(Fault(answer=moved), "GET")
    async with client(forge) as github:
        with pytest.raises(EnvironmentProblem, match=r"octo/demo has moved: set \[pr\] repository"):
            await github.open_pull_request(proposal(forge))


@pytest.mark.parametrize(
    ("variable", "value"),
    [("ALL_PROXY", "socks5://127.0.0.1:1"), ("HTTPS_PROXY", "gopher://x"), ("SSL_CERT_FILE", "/nowhere/certs.pem")],
)
async def test_a_proxy_or_certificates_that_cannot_be_used_are_told(
    forge: FakeForge, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(EnvironmentProblem, match="see to HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE"):
        async with client(forge):
            pass


async def test_words_of_a_refusal_that_are_nested_without_end_are_none(forge: FakeForge) -> None:
    forge.fault(Fault(answer=answer(b"[" * 100_000, 422)), "GET")
    async with client(forge) as github:
        with pytest.raises(PersonNeeded, match=r"refuses GET octo/demo/commits/\w+/check-runs \(422\): see to that"):
            await github.list_checks("octo/demo#1", head(forge))


async def test_checks_of_a_commit_that_github_does_not_have_need_a_person_who_is_told(forge: FakeForge) -> None:
    async with client(forge) as github:
        with pytest.raises(PersonNeeded, match=r"422 No commit found for SHA: 0{40}"):
            await github.list_checks("octo/demo#1", CommitId("0" * 40))


async def test_two_runs_on_two_branches_do_not_meet(forge: FakeForge) -> None:
    other = RunId("20261122-100000-cd34")
    forge.hosted.check(head(forge), "ci", "success")
    ahead(forge, "main", "d.txt")
    async with client(forge) as github, client(forge, run=other) as second:
        first = await github.open_pull_request(proposal(forge))
        with pytest.raises(PersonNeeded):
            await second.open_pull_request(proposal(forge))
        assert (await github.open_pull_request(proposal(forge))) == first


def answer(value: object, status: int = 200, **headers: str) -> Answer:
    return Answer(status, value, headers)


@pytest.mark.attack(65)
@pytest.mark.parametrize("encoding", ["gzip", "br"])
async def test_an_answer_that_is_compressed_unasked_is_not_read(forge: FakeForge, encoding: str) -> None:
    bomb = Answer(200, gzip_bomb(60), {"Content-Encoding": encoding})
    forge.fault(Fault(answer=bomb), times=99)
    async with client(forge) as github:
        with pytest.raises(ProviderDown, match="compressed"):
            await github.open_pull_request(proposal(forge))


@pytest.mark.attack(65)
async def test_an_answer_that_comes_drop_by_drop_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.forge.github.http_client._WHOLE_S", 0.3)
    server = HostileServer(Flood(pieces=(b"{",), endless=b" ", pause_s=0.02))
    async with (
        server.run() as url,
        open_connection(RepositoryEndpoint(url, "octo/demo", TOKEN, "GITHUB_TOKEN")) as github,
    ):
        told = await github.send_request("GET", "/pulls", None, {})
    assert isinstance(told, RetryAdvice)
    assert "no complete answer within 0.3 s" in told.why
