"""Histories in one process each: the line of first parents between two commits, and where other commits left a line."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.records import encode_lines

_FIELDS = ("%H", "%T", "%P")
_VALUES = "\x1f"
_BOUNDARY = "-"


class LineCommit(NamedTuple):
    """A commit of a line; `trailers` has the values of each trailer that was asked for, none where it has none."""

    commit: str
    tree: str
    parents: tuple[str, ...]
    trailers: tuple[tuple[str, ...], ...] = ()


class ForkPoint(NamedTuple):
    """Where a commit left the history of another one, and the trees of both."""

    base_tree: str
    tree: str


async def read_first_parents(git: Git, base: str, tip: str, trailers: Sequence[str] = ()) -> list[LineCommit]:
    """Return the commits on the line of first parents from after `base` to `tip`, oldest first.

    Raises:
        GitError: one of them is no commit.
    """
    fields = list(_FIELDS)
    for name in trailers:
        fields.append(f"%(trailers:key={name},valueonly,unfold,separator=%x1f)")
    form = "%x00".join(fields)
    listing = await git.run_text(
        "log", "--first-parent", "--reverse", "-z", f"--format={form}", "--end-of-options", f"{base}..{tip}"
    )
    width, values = len(fields), listing.removesuffix("\0").split("\0")
    if not listing:
        return []
    return [_build_commit(values[start : start + width]) for start in range(0, len(values), width)]


def _build_commit(fields: Sequence[str]) -> LineCommit:
    commit, tree, parents, *trailers = fields
    return LineCommit(commit, tree, tuple(parents.split()), tuple(map(_split_values, trailers)))


def _split_values(text: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, text.split(_VALUES))))


async def find_fork_points(git: Git, line: str, commits: Sequence[str], *, absorbs: bool = False) -> list[ForkPoint]:
    """Return where each commit left the history of `line`, with one process unless it merged in between.

    With `absorbs` the history holds the earlier ones of `commits`, too.

    Raises:
        GitError: one of them is no commit, or has no history in common with the line.
    """
    graph, absorbed = await _read_graph(git, line, commits), set[str]()
    found = []
    for commit in commits:
        way = list(_follow_line(graph, commit, absorbed))
        base = way[-1]
        if len(graph[base].parents) > 1 and base not in absorbed:
            base = await _find_merge_base(git, line, commit)
        found.append(ForkPoint(await _get_tree(git, graph, base), graph[commit].tree))
        if absorbs:
            absorbed.update(way)
    return found


class _GraphCommit(NamedTuple):
    """A commit with its tree; without parents where it belongs to the history of the line."""

    tree: str
    parents: tuple[str, ...]


async def _read_graph(git: Git, line: str, commits: Sequence[str]) -> Mapping[str, _GraphCommit]:
    given = encode_lines([f"^{line}", *commits])
    listing = await git.run_text("log", "--boundary", "--format=%m %H %T %P", "--stdin", stdin=given)
    graph = {}
    for record in listing.splitlines():
        mark, commit, tree, *parents = record.split(" ")
        is_outside = mark == _BOUNDARY
        graph[commit] = _GraphCommit(tree, () if is_outside else tuple(filter(None, parents)))
    for commit in set(commits).difference(graph):  # the line holds it whole
        graph[commit] = _GraphCommit(await git.run_text("rev-parse", "--verify", f"{commit}^{{tree}}"), ())
    return graph


def _follow_line(graph: Mapping[str, _GraphCommit], commit: str, absorbed: set[str]) -> Iterator[str]:
    """Yield a commit and those before it, to the first that belongs to the line or has more than one parent."""
    yield commit
    while len(graph[commit].parents) == 1 and commit not in absorbed:
        (commit,) = graph[commit].parents
        yield commit


async def _find_merge_base(git: Git, line: str, commit: str) -> str:
    base = await git.run_text("merge-base", line, commit, ok=(0, 1))
    if not base:
        raise GitError(f"{commit} has no history in common with {line}", ("merge-base",), 1)
    return base


async def _get_tree(git: Git, graph: Mapping[str, _GraphCommit], commit: str) -> str:
    known = graph.get(commit)
    if known:
        return known.tree
    return await git.run_text("rev-parse", "--verify", f"{commit}^{{tree}}")
