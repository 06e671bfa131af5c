"""Tells somebody outside of what happens in a run: by files, each exactly once, by all other channels at most once.

What is due is every event of a configured kind behind the channel's mark in the state, so that a process that died
before it could tell is made up for by the next one. A file's mark moves after it stands, any other before it is sent.
"""

import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread

from orchestrator.config.model import NotifySettings
from orchestrator.domain.event import RecordedEvent, format_event_body
from orchestrator.domain.event.external import NotificationChannel, NotificationSending, NotificationSent
from orchestrator.errors import EnvironmentProblem, OrchestrateError
from orchestrator.hooks.notification_channels import notify_by_command, notify_on_desktop, post_to_webhook
from orchestrator.ports.effect import record_effect
from orchestrator.ports.ledger import Ledger
from worktrees.durable_files import write_durably

PAYLOAD_SCHEMA = 1
"""Of the object that is sent; `docs/notifications.md` has it."""
_MOST_EVENTS = 100
"""Most that one object tells of; what is older stands in the journal."""
DescribeEvent = Callable[[RecordedEvent], str]


def list_channels(settings: NotifySettings) -> tuple[NotificationChannel, ...]:
    """Return those that are configured."""
    wanted: tuple[tuple[NotificationChannel, str | bool], ...] = (
        *(("command", settings.command.strip()), ("dir", settings.dir)),
        *(("desktop", settings.desktop), ("webhook", settings.webhook_env)),
    )
    return tuple(channel for channel, value in wanted if value)


class Notifier:
    """Sends while `alive`, from `begin` on; what is left is sent before `alive` ends. A listener of the journal."""

    def __init__(self, settings: NotifySettings, ledger: Ledger, root: Path, describe: DescribeEvent) -> None:
        self._settings = settings
        self._ledger = ledger
        self._root = root
        self._describe = describe
        self._due = {channel: deque[RecordedEvent]() for channel in list_channels(settings)}
        self._begun = anyio.Event()
        self._closing = anyio.Event()
        self._news = anyio.Event()

    def queue_event(self, recorded: RecordedEvent) -> None:
        """Queue an event if it is of a kind to be told of and behind the channel's mark."""
        if recorded.event.kind not in self._settings.on:
            return
        for channel, due in self._due.items():
            if recorded.seq > self._ledger.state.notified_through.get(channel, 0):
                due.append(recorded)
        self._tell_loops()

    def start_sending(self) -> None:
        """Allow sending: nothing that an earlier process began is open any more."""
        self._begun.set()

    @asynccontextmanager
    async def run_senders(self, earlier: Iterable[RecordedEvent]) -> AsyncIterator[None]:
        """Send while the block lasts; `earlier` is what was recorded before it."""
        for recorded in earlier:
            self.queue_event(recorded)
        tasks = anyio.create_task_group()
        await tasks.__aenter__()  # by hand: an exception of the block must not come out wrapped in a group
        for channel in self._due:
            tasks.start_soon(self._follow, channel)
        try:
            yield
        finally:
            self._begun.set()
            self._closing.set()
            self._tell_loops()
            await tasks.__aexit__(None, None, None)

    def _tell_loops(self) -> None:
        self._news.set()
        self._news = anyio.Event()

    async def _follow(self, channel: NotificationChannel) -> None:
        await self._begun.wait()
        due = self._due[channel]
        while True:
            is_last = self._closing.is_set()
            news = self._news
            if due:
                await self._send(channel)
                if channel != "dir":
                    with anyio.move_on_after(self._settings.quiet_s):
                        await self._closing.wait()
            if is_last:
                return
            await news.wait()

    async def _send(self, channel: NotificationChannel) -> None:
        """Send what is due; what could not be sent as a file stays due, and the journal says why."""
        due = self._due[channel]
        try:
            if channel != "dir":
                batch = list(due)
                due.clear()
                await self._tell(channel, batch)
                return
            while due:
                await self._tell(channel, [due[0]])
                due.popleft()
        except OrchestrateError:
            return

    async def _tell(self, channel: NotificationChannel, batch: Sequence[RecordedEvent]) -> None:
        sending = self._build_sending(channel, batch[-1])
        async with record_effect(self._ledger, sending) as happening:
            problem = await self._deliver(channel, self._build_payload(sending.notification, batch))
            happening.done = NotificationSent(
                key=sending.key,
                channel=channel,
                through=sending.through,
                is_sent=not problem,
                detail=self._ledger.redact_text(problem),
            )

    async def _deliver(self, channel: NotificationChannel, payload: dict[str, Any]) -> str:
        """Send the payload; return what went wrong, empty if nothing did."""
        settings = self._settings
        match channel:
            case "dir":
                text = json.dumps(payload, ensure_ascii=False, indent=1)
                await to_thread.run_sync(_write_durably, Path(settings.dir), f"{payload['key']}.json", text)
                return ""
            case "desktop":
                return await notify_on_desktop(payload, self._root, settings.timeout_s)
            case "webhook":
                return await post_to_webhook(settings.webhook_env, payload, settings.timeout_s)
            case _:
                return await notify_by_command(settings.command, payload, self._root, settings.timeout_s)

    def _build_sending(self, channel: NotificationChannel, last: RecordedEvent) -> NotificationSending:
        return NotificationSending(
            key=self._ledger.build_next_key(f"notification/{channel}/{last.seq}"),
            channel=channel,
            notification=f"{self._ledger.state.run.run}-{last.seq}",
            through=last.seq,
        )

    def _build_payload(self, key: str, batch: Sequence[RecordedEvent]) -> dict[str, Any]:
        run = self._ledger.state.run
        return {
            "schema": PAYLOAD_SCHEMA,
            "key": key,
            "run": run.run,
            "goal": run.goal,
            "repository": run.repository,
            "branch": run.branch,
            "left_out": max(len(batch) - _MOST_EVENTS, 0),
            "events": list(map(self._build_event_object, batch[-_MOST_EVENTS:])),
        }

    def _build_event_object(self, recorded: RecordedEvent) -> dict[str, Any]:
        return {
            "seq": recorded.seq,
            "at": recorded.at.isoformat(),
            "kind": recorded.event.kind,
            "task": recorded.event.task,
            "text": self._describe(recorded),
            "event": json.loads(format_event_body(recorded.event)),
        }


def _write_durably(directory: Path, name: str, text: str) -> None:
    """Write a file whole or not at all; one that stands is the same already."""
    directory = directory.expanduser()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if (directory / name).exists():
            return
        write_durably(directory / name, text.encode("utf-8", "surrogateescape"), mode=0o666)
    except OSError as error:
        raise EnvironmentProblem(f"no notification can be written to {directory}: {error.strerror}") from error
