"""JSON models of a retrospective: `orchestrate.retro/1`."""

from orchestrator.report.read_model import Document, ReadModel


class RetroCost(ReadModel):
    """A cost; `usd` is None if part of it has no known price."""

    usd: float | None
    tokens: int
    calls: int


class RetroCause(ReadModel):
    """A cause with the number of decisions of a row that had it, and the places of some in their journals."""

    cause: str
    count: int
    examples: tuple[str, ...]


class RetroRow(ReadModel):
    """All decisions under one prompt by one model and variant; `lost` is what went into what did not land."""

    role: str
    prompt: str
    sha: str
    model: str
    variant: str | None
    decisions: int
    landed: int
    sent_back: int
    causes: tuple[RetroCause, ...]
    spent: RetroCost
    lost: RetroCost


class RetroEvidence(ReadModel):
    """One place in a journal that a finding rests on."""

    run: str
    seq: int
    task: str
    session: str
    text: str


class RetroFinding(ReadModel):
    """A cause that keeps coming under one prompt. `low` is the lower bound of its rate, from 0 to 1.

    `is_current` tells that the prompt still has this wording.
    """

    role: str
    prompt: str
    sha: str
    is_current: bool
    cause: str
    tasks: int
    all_tasks: int
    runs: int
    all_runs: int
    low: float
    models: tuple[str, ...]
    recipes: tuple[str, ...]
    lost: RetroCost
    evidence: tuple[RetroEvidence, ...]


class RetroTried(ReadModel):
    """A decision that was asked again; `cause` is None for a healthy one."""

    run: str
    seq: int
    session: str
    turn: int
    cause: str | None
    result: str
    recorded: str
    new: str


class RetroProposal(ReadModel):
    """A proposed change of a prompt; `diff` is empty where there is none, and `reason` says why."""

    prompt: str
    causes: tuple[str, ...]
    state: str
    reason: str
    verdict: str
    diff: str
    tried: tuple[RetroTried, ...]


class RetroSetting(ReadModel):
    """A proposed setting; values are TOML. Tasks are first attempts."""

    key: str
    old: str
    new: str
    variant: str
    usual_tasks: int
    usual_landed: int
    variant_tasks: int
    variant_landed: int


class RetroDocument(Document, schema="orchestrate.retro/1"):
    """The output of `retro`. `unread` are runs that could not be read, with the reason.

    `estimate` is what proposing and trying was expected to cost, None where no model was to be asked; `spent` is what
    it cost. `stopped` says why it ended early, empty if it did not. `out` is the directory that was written.
    """

    runs: tuple[str, ...]
    unread: tuple[str, ...]
    rows: tuple[RetroRow, ...]
    findings: tuple[RetroFinding, ...]
    settings: tuple[RetroSetting, ...]
    proposals: tuple[RetroProposal, ...]
    estimate: RetroCost | None
    spent: RetroCost
    stopped: str
    out: str | None
    exit: int
