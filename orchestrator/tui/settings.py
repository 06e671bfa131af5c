"""Settings for the look and behaviour of a dashboard, from the command line and `[tui]`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.tui.theme import DARK_SCHEME


@dataclass(frozen=True)
class DashboardSettings:
    """`keys` are those of `[tui.keys]`, by what they are for.

    `bell` and `notifications` say how somebody is called; after each call it is quiet for `quiet_s` seconds.
    """

    is_read_only: bool = False
    is_ascii: bool = False
    has_animations: bool = True
    bell: bool = True
    notifications: bool = True
    quiet_s: float = 30.0
    theme: str = DARK_SCHEME.name
    keys: Mapping[str, str] = field(default_factory=dict)


DEFAULT_SETTINGS = DashboardSettings()
