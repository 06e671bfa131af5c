"""Commands about hosts, as an engine takes them from the inbox of a run."""

from datetime import UTC, datetime
from pathlib import Path

from orchestrator.domain.commands.definitions import Cordon, InboxCommand
from orchestrator.domain.event.hosts import HostJoined
from orchestrator.domain.event.run import EngineStarted
from orchestrator.engine.control.command_consumer import CommandConsumer
from orchestrator.journal.inbox import Inbox
from orchestrator.journal.journal import Journal, SystemClock


async def test_a_cordon_marks_its_host_and_one_of_an_unknown_host_is_recorded_as_refused(tmp_path: Path) -> None:
    journal, inbox = Journal(tmp_path, SystemClock()), Inbox(tmp_path / "inbox")
    try:
        started = EngineStarted(epoch=journal.epoch, pid=1, host="h", version="0")
        await journal.append(started, HostJoined(name="build-1", slots=4))
        for key, host in (("k1", "build-1"), ("k2", "build-9")):
            command = Cordon(host=host)
            inbox.send_command(InboxCommand(key=key, at=datetime.now(UTC), by="anna", command=command))
        await CommandConsumer(journal, inbox).take_pending_commands()
        taken, hosts = journal.state.taken_commands, journal.state.hosts.records
    finally:
        journal.close()
    assert (taken["k1"], hosts["build-1"].status) == ("", "cordoned")
    assert "no host 'build-9'" in taken["k2"]
    assert list(hosts) == ["build-1"]
