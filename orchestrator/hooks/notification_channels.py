"""The ways to tell somebody: a command, this machine's desktop, a web hook. Each gives what went wrong, if so."""

import html
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
from anyio import to_thread

from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.hooks.host_command import run_on_host

_DETAIL_CHARS = 500
_WORDS_CHARS = 1_000
_SHOWN = 5
_NOTIFY = 'IFS= read -r title; exec notify-send --app-name=orchestrate -- "$title" "$(cat)"'
_FINE = range(200, 300)
NotificationPayload = Mapping[str, Any]
"""The object of `docs/notifications.md`."""


async def notify_by_command(command: str, told: NotificationPayload, root: Path, timeout_s: float) -> str:
    """Run the user's command with the object on its standard input."""
    return await _run(command, json.dumps(told, ensure_ascii=False), root, timeout_s)


async def notify_on_desktop(told: NotificationPayload, root: Path, timeout_s: float) -> str:
    """Show it by `notify-send`, whose text may hold mark-up: ours holds none."""
    title = f"Orchestrate: {to_one_line(told['goal'], 80)}"
    body = html.escape("\n".join(_lines(told)), quote=False)
    return await _run(_NOTIFY, f"{title}\n{body}", root, timeout_s)


async def _run(command: str, said: str, root: Path, timeout_s: float) -> str:
    ran = await run_on_host(command, said, root, timeout_s)
    problem = ran.problem or (f"exit code {ran.exit_code}" if ran.exit_code else "")
    return f"{problem} {ran.stderr.strip()[-_DETAIL_CHARS:]}".strip() if problem else ""


async def post_to_webhook(
    variable: str, told: NotificationPayload, timeout_s: float, environ: Mapping[str, str] = os.environ
) -> str:
    """Post `{"text": …}` to the URL in a variable of the environment, as Slack and many others take it.

    The URL is a secret: nothing that is given names more of it than its host. Redirections are not followed.
    """
    url = environ.get(variable, "")
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return f"{variable} holds no URL that begins with https:// or http://"
    title = f"Orchestrate {told['run']}: {to_one_line(told['goal'], 200)}"
    # No chat may take what stands there for a mention or a link.
    body = json.dumps({"text": html.escape("\n".join((title, *_lines(told))), quote=False)})
    with anyio.move_on_after(timeout_s):
        return await to_thread.run_sync(_post, url, body, timeout_s, abandon_on_cancel=True)
    return f"{parts.hostname} did not answer within {timeout_s:g} s"


def _post(url: str, body: str, timeout_s: float) -> str:
    from http.client import HTTPConnection, HTTPException, HTTPSConnection  # few runs have a webhook

    parts = urlsplit(url)
    host = parts.hostname or ""
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    try:
        connection = kind(host, parts.port, timeout=timeout_s)
        try:
            place = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            connection.request("POST", place, body.encode(), {"Content-Type": "application/json"})
            status = connection.getresponse().status
        finally:
            connection.close()
    except (OSError, HTTPException, ValueError) as error:
        return f"{host} cannot be told: {type(error).__name__}"
    return "" if status in _FINE else f"{host} answered {status}"


def _lines(told: NotificationPayload) -> list[str]:
    """Return the newest events in words, oldest first."""
    events = told["events"]
    more = len(events) - _SHOWN + told["left_out"]
    lines = [to_one_line(event["text"], _WORDS_CHARS // _SHOWN) for event in events[-_SHOWN:]]
    return [f"({more} more before)", *lines] if more > 0 else lines
