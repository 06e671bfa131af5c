"""Events of the policy: which rules decide from here on."""

from orchestrator.domain.event.base import Event
from orchestrator.domain.text.blob_text import Text


class PolicyLoaded(Event, kind="policy.loaded"):
    """The policy that decides from here on: at the first event of its kind, and whenever the user's file has changed.

    `policy` is a hash of both texts. `text` is that of the user's file, `path` where it lies; `project` is the text of
    the project's file at the run's base. A text is empty where there is no such file.
    """

    policy: str
    path: str = ""
    text: Text = Text()
    project: Text = Text()
