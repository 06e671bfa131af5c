"""What an ACP agent asks for: its files, permission and terminals, each held against tiers and the policy."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from orchestrator.agent.guests.acp_requests import AgentFiles, RequestRules, answer_permission
from orchestrator.agent.guests.acp_terminals import AgentTerminals, TerminalWish
from orchestrator.config.policy_file import parse_rule_set
from orchestrator.domain.ids import TaskId
from orchestrator.domain.policy.decision import PolicyDecision, decide_policy
from orchestrator.domain.policy.rules import HostRules, PolicyActor, PolicySubject, RuleSet
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.errors import ToolRefused
from orchestrator.ports.hands import CommandEnding, CommandResult, OutputEnd, ShellCommand
from tests.doubles.workspace import InMemoryWorkspace

OPTIONS = {"y": "allow_once", "n": "reject_once"}


class TextGuard:
    """A guard on one text; what is asked about is refused, and noted in `asked`."""

    hash = "x"
    asks_before_landing = True

    def __init__(self, text: str = "") -> None:
        self.rule_sets: Sequence[RuleSet] = (parse_rule_set(text, "user", "policy.toml"),)
        self.asked: list[str] = []

    async def take_changes(self) -> None:
        """Nothing changes."""

    def decide_subject(self, actor: PolicyActor, subject: PolicySubject) -> PolicyDecision:
        return decide_policy(self.rule_sets, actor, subject)

    async def find_refusal(self, actor: PolicyActor, task: TaskId, subjects: Sequence[PolicySubject]) -> str | None:
        for subject in subjects:
            decision = self.decide_subject(actor, subject)
            if decision.effect == "ask":
                self.asked.append(str(subject))
            if not decision.is_allowed:
                return f"{decision.effect}: {subject}"
        return None

    def build_host_rules(self, actor: PolicyActor) -> HostRules | None:
        return None


def rules(tier: Tier = Tier.REGISTRIES, policy: str = "") -> RequestRules:
    """The rules on what a worker's agent asks for."""
    return RequestRules(PolicyActor(role="worker"), TaskId("a"), tier, TextGuard(policy))


@pytest.mark.parametrize(
    ("kind", "tier", "answer"),
    [("edit", 1, "y"), ("execute", 1, "y"), ("fetch", 1, "n"), ("fetch", 2, "y"), ("switch_mode", 3, "n")],
)
async def test_permission_is_a_matter_of_tiers(kind: str, tier: int, answer: str) -> None:
    assert (await answer_permission(rules(Tier(tier)), kind, (), OPTIONS)).option == answer


@pytest.mark.parametrize(
    ("policy", "kind", "paths", "refusal"),
    [
        ('tools = "shell"', "execute", (), "tool shell"),
        ('tools = "shell"', "edit", ("a.py",), ""),
        ('tools = "edit"', "delete", ("a.py",), "tool edit on a.py"),
        ('tools = "edit"\npaths = "infra/**"', "edit", ("a.py", "infra/x"), "tool edit on infra/x"),
        ('writes = "infra/**"', "move", ("a.py", "infra/x"), "write infra/x"),
        ('writes = "infra/**"', "read", ("infra/x",), ""),
        ('tools = "fetch"', "fetch", (), "tool fetch"),
    ],
)
@pytest.mark.parametrize("effect", ["deny", "ask"])
async def test_a_wish_for_permission_is_held_against_the_policy_and_waits_for_nobody(
    effect: str, policy: str, kind: str, paths: Sequence[str], refusal: str
) -> None:
    held = rules(policy=f'[[rule]]\neffect = "{effect}"\n{policy}\n')
    answer = await answer_permission(held, kind, paths, OPTIONS)
    assert answer == (("n", f"{effect}: {refusal}") if refusal else ("y", ""))


async def test_no_option_that_fits_is_a_refusal() -> None:
    assert await answer_permission(rules(Tier.COMMANDS), "fetch", (), {"y": "allow_once"}) == (
        None,
        "not to be had at tier 1",
    )
    assert (await answer_permission(rules(), "edit", (), {"n": "reject_once"})).option == "n"


async def test_files_outside_the_workspace_are_not_read_or_written() -> None:
    files = AgentFiles(InMemoryWorkspace({"a.txt": b"one\ntwo\nthree\n"}), "/src/project", rules())
    assert await files.read_text("/src/project/a.txt", 2, 1) == "two\n"
    for path in ("/etc/passwd", "/src/project/../x", "a.txt", "/src/project2/a", "/src/project"):
        with pytest.raises(ToolRefused, match="outside the workspace"):
            await files.read_text(path, None, None)
        with pytest.raises(ToolRefused, match="outside the workspace"):
            await files.write_text(path, "x")


@pytest.mark.parametrize("path", ["/src/project/infra/x", "/src/project/src/../infra//x", "/src/project/./infra/x"])
async def test_files_are_held_against_the_policy_however_they_are_written(path: str) -> None:
    workspace = InMemoryWorkspace({"infra/x": b"1"})
    denies = '[[rule]]\neffect = "deny"\nwrites = "infra/**"\n[[rule]]\neffect = "ask"\ntools = "read"\n'
    files = AgentFiles(workspace, "/src/project", rules(policy=denies))
    with pytest.raises(ToolRefused, match="deny: write infra/x"):
        await files.write_text(path, "2")
    with pytest.raises(ToolRefused, match="ask: tool read on infra/x"):
        await files.read_text(path, None, None)
    assert workspace.files == {"infra/x": b"1"}


class CommandedWorkspace(InMemoryWorkspace):
    """Remembers the commands that it is to run; each prints `printed` and runs until it is killed."""

    def __init__(self, printed: bytes = b"") -> None:
        super().__init__()
        self.commands: dict[str, ShellCommand] = {}
        self.killed: list[str] = []
        self.printed = printed

    async def start_command(self, call_id: str, command: ShellCommand) -> None:
        self.commands[call_id] = command

    async def wait_for_result(self, call_id: str, timeout_s: float = 10.0) -> CommandResult | None:
        if call_id not in self.killed:
            return None
        return CommandResult(ending=CommandEnding.KILLED, exit_code=None, seconds=1, log=Path("x"), output_bytes=0)

    async def read_output(self, call_id: str, limit_bytes: int) -> OutputEnd:
        return OutputEnd(content=self.printed[-limit_bytes:], is_cut=len(self.printed) > limit_bytes)

    async def kill_command(self, call_id: str) -> None:
        self.killed.append(call_id)


def terminals(workspace: CommandedWorkspace, policy: str = "") -> AgentTerminals:
    """The terminals of an agent in a workspace."""
    held = rules(policy=policy)
    files = AgentFiles(workspace, "/src/project", held)
    return AgentTerminals(workspace, files, held, ShellCommand(line="", env={"A": "1"}, tier=Tier.REGISTRIES))


def wish(command: str, *arguments: str, folder: str | None = None, output_bytes: int | None = None) -> TerminalWish:
    """A command that an agent wants to run."""
    return TerminalWish(command, arguments, {"B": "2"}, folder, output_bytes)


async def test_a_terminal_is_a_command_of_the_workspace_with_what_its_template_has() -> None:
    workspace = CommandedWorkspace()
    opened = terminals(workspace)
    await opened.create_terminal(wish("ls -l | wc"))
    await opened.create_terminal(wish("echo", "$HOME", folder="/src/project/lib"))
    lines = [(one.line, one.cwd, one.env, one.tier) for one in workspace.commands.values()]
    assert lines == [
        ("ls -l | wc", ".", {"A": "1", "B": "2"}, Tier.REGISTRIES),
        ("echo '$HOME'", "lib", {"A": "1", "B": "2"}, Tier.REGISTRIES),
    ]


@pytest.mark.parametrize(
    ("asked", "policy", "words"),
    [
        (wish("ls", folder="/etc"), "", "outside the workspace"),
        (wish("ls"), '[[rule]]\neffect = "deny"\ntools = "shell"\n', "deny: tool shell"),
        (wish("ls"), '[[rule]]\neffect = "ask"\ntools = "shell"\n', "ask: tool shell"),
        (wish("x" * 100_001), "", "write a script"),
    ],
    ids=["outside", "denied", "asked", "long"],
)
async def test_a_terminal_that_may_not_be_is_no_command(asked: TerminalWish, policy: str, words: str) -> None:
    workspace = CommandedWorkspace()
    with pytest.raises(ToolRefused, match=words):
        await terminals(workspace, policy).create_terminal(asked)
    assert workspace.commands == {}


async def test_so_many_terminals_are_open_at_once_and_a_released_one_makes_room() -> None:
    workspace = CommandedWorkspace()
    opened = terminals(workspace)
    names = [await opened.create_terminal(wish("sleep 9")) for _ in range(16)]
    with pytest.raises(ToolRefused, match="16 terminals are open"):
        await opened.create_terminal(wish("ls"))
    await opened.release_terminal(names[0])
    assert workspace.killed == [names[0]]
    with pytest.raises(ToolRefused, match="no open terminal"):
        await opened.read_output(names[0])
    await opened.create_terminal(wish("ls"))


async def test_so_many_terminals_are_opened_in_all_and_every_one_is_killed_at_the_end() -> None:
    workspace = CommandedWorkspace()
    opened = terminals(workspace)
    for _ in range(256):
        await opened.release_terminal(await opened.create_terminal(wish("ls")))
    with pytest.raises(ToolRefused, match="256 terminals were opened"):
        await opened.create_terminal(wish("ls"))
    await opened.kill_all()
    assert set(workspace.killed) == set(workspace.commands)


async def test_the_end_of_a_terminals_output_is_told_in_whole_characters() -> None:
    opened = terminals(CommandedWorkspace("aéé".encode()))
    name = await opened.create_terminal(wish("x", output_bytes=3))
    assert await opened.read_output(name) == {"output": "é", "truncated": True}
    assert await opened.find_exit(name) is None
    await opened.kill_terminal(name)
    assert await opened.find_exit(name) == {"exitCode": None, "signal": "SIGKILL"}
    told = await opened.read_output(name)
    assert told["exitStatus"] == {"exitCode": None, "signal": "SIGKILL"}
    assert told["output"].startswith("é\n[killed")
