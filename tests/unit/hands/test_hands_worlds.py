"""Worlds: each workspace sees another user and machine, all of its commands the same."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.purpose import Purpose
from orchestrator.domain.sandbox.world import World
from orchestrator.hands.policy import GrantedFolder, SandboxGrant
from orchestrator.hands.sandbox.worlds import WorldDraw

LOOK = (
    "id -u; id -g; whoami; hostname; cat /etc/hostname; echo ~; echo $TMPDIR; echo $PYTHONHASHSEED; "
    "git branch --show-current; git config user.name; stat -c %u README.md .git $TMPDIR ~"
)


def shown(world: World) -> list[str]:
    who = [world.uid, world.gid, world.user, world.host, world.host, world.home, world.temporary, world.hash_seed]
    return [str(part) for part in (*who, world.branch, world.user, *[world.uid] * 4)]


@pytest.mark.sandbox
async def test_all_commands_of_a_workspace_see_its_world_and_another_workspace_has_another(
    yard: Any, shell_in: Any
) -> None:
    head, worlds = yard.git("rev-parse", "HEAD"), []
    async with yard.hands() as hands:
        environment = hands.environment_hash
        for _ in range(2):
            workspace = await hands.open_workspace(head, Purpose("test"))
            for _ in range(2):
                ran = await shell_in(workspace, LOOK)
                assert ran.output.split() == shown(workspace.world)
                assert ran.result.world == workspace.world
            worlds.append(workspace.world)
            await workspace.close()
    assert worlds[0].uid != worlds[1].uid
    async with yard.hands() as again:
        assert again.environment_hash == environment


@pytest.mark.sandbox
async def test_the_place_of_files_that_are_handed_back_is_there_for_every_command(workspace: Any, shell: Any) -> None:
    plain = await shell(f"touch {workspace.world.exchange}/x; ls -A {workspace.world.exchange}")
    assert plain.output == "x\n"
    asked = await shell('echo made > "$MADE"; ls -A "${MADE%/*}"', files={"MADE": "made.txt"})
    assert (asked.output, asked.result.files) == ("made.txt\n", {"MADE": b"made\n"})


@pytest.mark.parametrize(
    "leaving", ["true", "echo x > $PLACE/.left", "mkdir $PLACE/left", "chmod 711 $PLACE", "rm -rf $PLACE/*"]
)
async def test_every_command_finds_an_empty_directory_for_its_files_whatever_the_one_before_left(
    shell: Any, leaving: str
) -> None:
    await shell(f'PLACE="${{MADE%/*}}"; {leaving}', files={"MADE": "made.txt"})
    found = await shell('ls -A "${MADE%/*}"; stat -c %a "${MADE%/*}"; echo made > "$MADE"', files={"MADE": "made.txt"})
    assert (found.output, found.result.files) == ("700\n", {"MADE": b"made\n"})


@pytest.mark.sandbox
async def test_home_stays_where_tool_chains_lie_in_it(yard: Any) -> None:
    tools = yard.home / ".tools"
    tools.mkdir()
    async with yard.hands(SandboxGrant(read_only=(GrantedFolder(path=str(tools)),))) as hands:
        for _ in range(3):
            workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
            assert workspace.world is not None
            assert workspace.world.home == str(yard.home)


def test_no_user_comes_again_soon_and_no_place_is_drawn_where_something_stands() -> None:
    draw = WorldDraw(None, None, [Path("/srv"), Path("/home/dev/project")])
    worlds = [draw.draw_world() for _ in range(200)]
    for first, second in pairwise(worlds):
        assert first.uid != second.uid
    places = {place for world in worlds for place in (world.exchange, world.objects, world.home)}
    assert not [place for place in places if place.startswith("/srv") or place == "/home/dev"]
    assert len({world.exchange for world in worlds}) > 5


def test_where_users_cannot_differ_all_else_does() -> None:
    worlds = [WorldDraw("/root", (7, 8)).draw_world() for _ in range(20)]
    assert {(world.uid, world.gid, world.home, world.temporary) for world in worlds} == {(7, 8, "/root", "/tmp")}
    assert len({world.host for world in worlds}) > 1
