"""The agent of a host: whatever it is asked, in whichever order, it answers, and nothing leads out of its store."""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import HostLost, UsageProblem
from orchestrator.hands.hosts import messages
from orchestrator.hands.hosts.agent.hidden_places import find_visible_folder, require_hidden_place
from orchestrator.hands.hosts.agent.host_agent import HostAgent, HostIdentity
from orchestrator.hands.hosts.agent.host_store import HostStore
from orchestrator.hands.hosts.links import ask_host
from orchestrator.hands.policy import SandboxGrant
from tests.doubles.host_links import InProcessLink, run_agent

CALLS = [kind.model_fields["call"].default for kind in messages.list_request_kinds()]
OID, UPLOAD, FINGERPRINT = "c" * 40, "a" * 32, "b" * 64
MIRROR = {"key": "m", "hash_name": "sha1", "head": OID, "tags": {"refs/tags/v1": OID}}
_WORDS = ["", "m", "..", "../../out", "/etc/passwd", "a\0b", OID, UPLOAD, FINGERPRINT, "refs/heads/x", "é\udcff", "-x"]
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([*_WORDS, None, True, -1, 0, 2**70, 1.5, [], ["m", ".."], {}, {"m": ".."}, [OID], MIRROR]),
    st.text(max_size=4),
)
FIELDS = sorted({name for kind in messages.list_request_kinds() for name in kind.model_fields if name != "call"})
PLAUSIBLE: list[dict[str, Any]] = [
    {"call": "open-mirror", "mirror": MIRROR, "wanted": [OID]},
    {"call": "send-content", "upload": UPLOAD, "offset": 0, "content": "eHh4"},
    {"call": "store-pack", "upload": UPLOAD, "mirror": "m"},
    {"call": "store-borrowed", "upload": UPLOAD, "fingerprint": FINGERPRINT},
    {"call": "find-borrowed", "fingerprints": [FINGERPRINT]},
    {"call": "find-missing", "mirror": "m", "wanted": [OID]},
    {"call": "open-workspace", "environment": "none", "commit": OID, "purpose": "x"},
    {"call": "open-environment", "key": "k", "mirror": "none", "place": "/x", "grant": {}},
    {"call": "start-command", "workspace": "none", "call_id": "c", "command": {"line": "true"}},
    {"call": "dismiss", "reason": "x"},
]
REQUESTS = st.one_of(
    st.sampled_from(PLAUSIBLE),
    st.builds(
        lambda base, changed: {**base, **changed},
        st.sampled_from(PLAUSIBLE),
        st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=2),
    ),
    st.builds(
        lambda call, fields: {**fields, "call": call},
        st.sampled_from(CALLS),
        st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5),
    ),
)
TEXTS = st.one_of(REQUESTS.map(json.dumps), st.text(max_size=20), st.just('{"call":'))


async def ask_all(place: Path, texts: list[str]) -> None:
    """Ask an agent all of it, and see that it is as before."""
    async with run_agent(place / "store", "one") as agent:
        for text in texts:
            reply = json.loads(await agent.answer_text(text))
            assert isinstance(reply, dict), text
        hello = await ask_host(InProcessLink(agent), messages.Greet())
        assert hello.name == "one"


@pytest.mark.attack(77)
@given(st.lists(TEXTS, max_size=8))
@settings(max_examples=40, deadline=None)
def test_no_request_in_any_order_ends_the_agent_or_writes_outside_of_its_store(texts: list[str]) -> None:
    with TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "file").write_text("mine")
        anyio.run(ask_all, place, texts)
        assert {entry.name for entry in place.iterdir()} <= {"store", "file"}
        assert (place / "file").read_text() == "mine"


def _send(**changed: Any) -> str:
    return json.dumps({"call": "send-content", "upload": UPLOAD, "offset": 0, "content": "eHh4", **changed})


REFUSED = {
    "a mirror of dots": json.dumps({"call": "open-mirror", "mirror": {**MIRROR, "key": ".."}, "wanted": []}),
    "a mirror with a slash": json.dumps({"call": "open-mirror", "mirror": {**MIRROR, "key": "a/b"}, "wanted": []}),
    "a mirror with a line end": json.dumps({"call": "open-mirror", "mirror": {**MIRROR, "key": "a\n"}, "wanted": []}),
    "an upload with a slash": _send(upload="../" + "a" * 29),
    "an upload with a line end": _send(upload=UPLOAD + "\n"),
    "a part before the beginning": _send(offset=-1),
    "a part that is too large": _send(content="A" * (messages.CHUNK_BYTES * 4 // 3 + 8)),
    "a pack elsewhere": json.dumps({"call": "store-pack", "upload": "../../key.pem", "mirror": "m"}),
    "an archive elsewhere": json.dumps(
        {"call": "store-borrowed", "upload": "../../key.pem", "fingerprint": FINGERPRINT}
    ),
    "a fingerprint of dots": json.dumps({"call": "store-borrowed", "upload": UPLOAD, "fingerprint": ".." * 32}),
    "a look for a fingerprint elsewhere": json.dumps({"call": "find-borrowed", "fingerprints": ["../../key.pem"]}),
    "something borrowed from elsewhere": json.dumps({**PLAUSIBLE[7], "borrowed": {".venv": "/etc"}}),
    "an unknown call": '{"call": "run-anything"}',
    "no call": "{}",
    "no object": "[]",
    "no JSON": "call",
    "a hundred megabytes": '"' + "x" * 100_000_000 + '"',
    "a deep nesting": "[" * 200_000,
    "a number without an end": '{"call": "greet", "patience_s": 1e999}',
}


@pytest.mark.attack(77)
@pytest.mark.parametrize("request_name", REFUSED)
async def test_what_no_brain_asks_is_refused_in_words(request_name: str, tmp_path: Path) -> None:
    async with run_agent(tmp_path / "store", "one") as agent:
        reply = messages.decode_reply(await agent.answer_text(REFUSED[request_name]), messages.DoneReply)
        assert isinstance(reply, messages.Failure)
        assert reply.kind in ("unknown-call", "environment")
        assert (await ask_host(InProcessLink(agent), messages.Greet())).name == "one"
    assert not (tmp_path / "store").exists()


async def test_a_host_and_a_brain_of_other_versions_can_still_greet(tmp_path: Path) -> None:
    async with run_agent(tmp_path, "one", version="9") as agent:
        text = await agent.answer_text('{"call": "greet", "said_in_a_later_version": 1}')
    fields = json.dumps({**json.loads(text), "said_in_a_later_version": 1})
    hello = messages.decode_reply(fields, messages.Hello)
    assert isinstance(hello, messages.Hello)
    assert hello.version == "9"


async def test_a_host_that_is_greeted_no_more_notices_after_the_patience_it_was_told(tmp_path: Path) -> None:
    async with run_agent(tmp_path, "one") as agent:
        link, began = InProcessLink(agent), anyio.current_time()
        async with anyio.create_task_group() as tasks:
            found: list[float] = []

            async def hear_silence() -> None:
                found.append(await agent.wait_for_silence())

            await ask_host(link, messages.Greet(patience_s=0.3))
            tasks.start_soon(hear_silence)
            for _ in range(6):
                await anyio.sleep(0.1)
                await ask_host(link, messages.Greet(patience_s=0.3))
            assert found == [], "the control: it was greeted all the time"
        assert found[0] >= 0.3
        assert anyio.current_time() - began >= 0.9


@dataclass
class SlowAgent(HostAgent):
    """Answers only once it may go on."""

    go_on: anyio.Event = field(default_factory=anyio.Event)

    async def answer_request(self, request: messages.HostRequest[Any]) -> messages.HostReply:
        await self.go_on.wait()
        return messages.DoneReply()


async def test_what_comes_of_a_request_is_no_result_once_the_host_ends_everything(tmp_path: Path) -> None:
    heard: list[str] = []
    async with anyio.create_task_group() as tasks:
        agent = SlowAgent(HostIdentity("one", 1, "test"), HostStore(tmp_path), tasks)

        async def ask() -> None:
            try:
                heard.append(await agent.answer_text('{"call": "greet"}'))
            except HostLost:
                heard.append("lost")

        tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        await agent.close()
        agent.go_on.set()
    assert heard == ["lost"]
    with pytest.raises(HostLost):
        await agent.answer_text('{"call": "greet"}')


async def test_a_run_without_a_sandbox_finds_no_host(tmp_path: Path) -> None:
    async with run_agent(tmp_path, "one") as agent:
        link = InProcessLink(agent)
        mirror = messages.Mirror.model_validate({**MIRROR, "tags": {}})
        await ask_host(link, messages.OpenMirror(mirror=mirror, wanted=()))
        asked = messages.OpenEnvironment(
            key="k", mirror="m", place="/x", grant=SandboxGrant(without_sandbox=True), probe="true"
        )
        with pytest.raises(UsageProblem, match="has no sandbox"):
            await ask_host(link, asked)


def test_a_place_that_every_command_sees_is_no_place_for_a_key_or_a_store(tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    require_hidden_place(hidden, "--certs")
    (tmp_path / "link").symlink_to("/usr/share")
    for place in (
        Path("/usr/share/hosts"),
        Path("/lib/hosts"),
        Path(sys.base_prefix, "x"),
        tmp_path / "link" / "host.pem",
    ):
        with pytest.raises(UsageProblem, match="take another directory for --certs"):
            require_hidden_place(place, "--certs")


def test_a_place_is_found_behind_links_of_either_side(tmp_path: Path) -> None:
    (tmp_path / "real" / "certs").mkdir(parents=True)
    (tmp_path / "way").symlink_to(tmp_path / "real")
    assert find_visible_folder(tmp_path / "way" / "certs", [tmp_path / "real"]) == tmp_path / "real"
    assert find_visible_folder(tmp_path / "real" / "certs", [tmp_path / "way"]) == tmp_path / "way"
    assert find_visible_folder(tmp_path / "real", [tmp_path / "real" / "certs"]) is None
