"""The map of one repository: read its tree, choose files, take their symbols from the cache or parse them, rank, draw.

What is drawn depends on the tree, the base's history, the question and the versions of the grammars alone. The cache
saves time and changes nothing.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import metadata

from anyio import to_thread

from orchestrator.codemap.file_choice import ChosenFiles, TreeFile, choose_files, find_language, is_parsable
from orchestrator.codemap.focus import Focus, read_focus
from orchestrator.codemap.languages import GRAMMARS
from orchestrator.codemap.map_cache import MapCache
from orchestrator.codemap.ranking import rank_files
from orchestrator.codemap.rendering import render_map
from orchestrator.codemap.symbol_extraction import SourceSymbols
from orchestrator.codemap.symbol_processes import Source, decode_symbols, extract_all_symbols
from orchestrator.errors import ToolRefused
from worktrees.git import Git
from worktrees.object_store.trees import TreeEntry, list_tree, read_blobs

_FORMAT = "1"
"""Of symbols and maps: to be raised when the same tree gives another map."""


class RepositoryMapper:
    """Draws maps of the trees of one repository."""

    def __init__(self, git: Git, kept: MapCache) -> None:
        self._git = git
        self._kept = kept

    async def draw_map(
        self, tree: str, history: str, commits: Mapping[str, int], texts: Sequence[str], path: str, tokens: int
    ) -> str:
        """Return the map of a tree in at most so many tokens.

        Args:
            tree: the id of the tree.
            history: the commit whose history `commits` is of: how often each path changed lately.
            texts: what the map is for, in words.
            path: a folder or a file, empty for all.
            tokens: the budget.

        Raises:
            ToolRefused: no file lies at or below the path.
            GitError: there is no such tree.
        """
        focus = read_focus(texts)
        key = _build_map_key(tree, history, focus, path, tokens)
        stored = await to_thread.run_sync(self._kept.read_entries, (key,))
        if key in stored:
            return stored[key].decode("utf-8", "surrogatepass")
        entries = await list_tree(self._git, tree, (path,) if path else ())
        if path and not entries:
            raise ToolRefused(f"there is no file at or below {path!r}")
        chosen = await to_thread.run_sync(_choose_entries, entries, focus, commits)
        known, is_whole = await self._collect_symbols(chosen.files)
        drawn = await to_thread.run_sync(_draw_files, entries, chosen, known, focus, tokens)
        if is_whole:
            await to_thread.run_sync(self._kept.write_entries, {key: drawn.encode("utf-8", "surrogatepass")})
        return drawn

    async def _collect_symbols(self, files: Sequence[TreeFile]) -> tuple[dict[str, SourceSymbols], bool]:
        """Return the symbols of files by the ids of their blobs, and True if none is missing; what is new is kept.

        A parser can fail because the machine is busy, so what it failed on is tried again the next time.
        """
        keys = {}
        for file in files:
            keys[file.oid] = f"symbols {_read_versions()} {file.language} {file.oid}"
        known = await to_thread.run_sync(_read_symbols, self._kept, keys)
        fresh, is_whole = {}, True
        for file in files:
            if file.oid not in known:
                fresh[file.oid] = file.language
        if fresh:
            contents = await read_blobs(self._git, list(fresh))
            sources = []
            for oid, content in contents.items():
                if b"\0" not in content:
                    sources.append(Source(oid, fresh[oid], content))
            found = await extract_all_symbols(sources)
            await to_thread.run_sync(_write_symbols, self._kept, keys, found)
            known |= found
            is_whole = len(found) == len(sources)
        return known, is_whole


def _choose_entries(entries: Sequence[TreeEntry], focus: Focus, commits: Mapping[str, int]) -> ChosenFiles:
    files = []
    for entry in entries:
        language = find_language(entry.path)
        if language is not None and is_parsable(entry.mode, entry.size):
            files.append(TreeFile(entry.path, entry.oid, entry.size or 0, language))
    return choose_files(files, focus, commits)


def _draw_files(
    entries: Sequence[TreeEntry],
    chosen: ChosenFiles,
    known: Mapping[str, SourceSymbols],
    focus: Focus,
    tokens: int,
) -> str:
    ranked = rank_files(chosen, known, focus)
    paths = []
    for entry in entries:
        paths.append(entry.path)
    return render_map(ranked, paths, chosen.readable, tokens)


def _build_map_key(tree: str, history: str, focus: Focus, path: str, tokens: int) -> str:
    asked = [_read_versions(), tree, history, focus.words, sorted(focus.identifiers), sorted(focus.names), path, tokens]
    return f"map {hashlib.sha256(json.dumps(asked).encode()).hexdigest()}"


@cache
def _read_versions() -> str:
    """Return a hash of all that makes the same source give other symbols."""
    found = [_FORMAT, metadata.version("tree-sitter")]
    for grammar in sorted(set(GRAMMARS.values())):
        found.append(f"{grammar.package} {metadata.version(grammar.package)}")
    return hashlib.sha256("\n".join(found).encode()).hexdigest()[:16]


def _read_symbols(kept: MapCache, keys: Mapping[str, str]) -> dict[str, SourceSymbols]:
    stored = kept.read_entries(keys.values())
    known = {}
    for oid, key in keys.items():
        if key in stored:
            try:
                known[oid] = decode_symbols(json.loads(stored[key]))
            except (ValueError, TypeError):
                continue
    return known


def _write_symbols(kept: MapCache, keys: Mapping[str, str], found: Mapping[str, SourceSymbols]) -> None:
    entries = {}
    for oid, symbols in found.items():
        entries[keys[oid]] = json.dumps(symbols, separators=(",", ":")).encode()
    kept.write_entries(entries)
