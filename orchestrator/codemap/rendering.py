"""The text of a map: files in the order of their rank with the heads of their best symbols, never over its budget."""

from collections import Counter
from collections.abc import Iterable, Sequence

from orchestrator.codemap.ranking import RankedFile
from orchestrator.domain.text.listing import format_count
from orchestrator.domain.text.sanitization import to_one_line

BYTES_PER_TOKEN = 3
"""Code has more bytes in a token, so that a map has rather fewer tokens than it may."""
_TAIL_BYTES = 160
_FOLDER_SHARE = 0.15
_MAX_FOLDERS = 20
_PATH_CHARS = 200
_SYMBOLS_BY_PLACE = ((3, 10), (10, 6), (60, 4))
_FEWEST_SYMBOLS = 3


class _BoundedLines:
    """Lines that together take at most so many bytes."""

    def __init__(self, room: int) -> None:
        self._room = room
        self.lines: list[str] = []

    def add_lines(self, lines: Sequence[str]) -> bool:
        """Add all of the lines, or none where they do not fit."""
        size = sum(map(measure_bytes, lines)) + len(lines)
        if size > self._room:
            return False
        self._room -= size
        self.lines += lines
        return True


def measure_bytes(text: str) -> int:
    """Return the size of a text in UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))


def count_tokens(text: str) -> int:
    """Return an upper estimate of how many tokens a text takes."""
    return -(-measure_bytes(text) // BYTES_PER_TOKEN)


def render_map(ranked: Sequence[RankedFile], paths: Iterable[str], readable: int, tokens: int) -> str:
    """Return the map of at most so many tokens; empty where not even its first lines fit.

    Args:
        ranked: the parsed files, most important first.
        paths: all paths that the map is of, also of files that nobody can parse.
        readable: how many of them could be parsed.
        tokens: the budget.
    """
    room = tokens * BYTES_PER_TOKEN
    text = _BoundedLines(room - _TAIL_BYTES)
    counted = Counter(map(_get_top_folder, paths))
    head = f"{format_count(counted.total(), 'file')}: {format_count(readable, 'source')}, {len(ranked):,} parsed"
    if not text.add_lines([head]):
        return ""
    _add_folders(text, counted, int(room * _FOLDER_SHARE))
    shown = 0
    for place, file in enumerate(ranked):
        if not _add_file(text, file, _limit_symbols(place, len(ranked))):
            break
        shown += 1
    if shown < len(ranked) or len(ranked) < readable:
        text.lines.append(
            f"[not shown: {len(ranked) - shown:,} parsed files of lower rank, {readable - len(ranked):,} not parsed]"
        )
    return "\n".join(text.lines)


def _get_top_folder(path: str) -> str:
    folder, slash, _ = path.partition("/")
    return folder + slash if slash else "."


def _add_folders(text: _BoundedLines, counted: Counter[str], room: int) -> None:
    """Add one line of the folders at the top with how many files lie in each, if there are several."""
    if len(counted) < 2:
        return
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    words: list[str] = []
    for folder, count in ordered[:_MAX_FOLDERS]:
        word = f"{to_one_line(folder, _PATH_CHARS)} {count:,}"
        room -= measure_bytes(word) + 2
        if room < 0:
            break
        words.append(word)
    if words:
        text.add_lines([f"Files by folder: {', '.join(words)}"])


def _limit_symbols(place: int, count: int) -> int:
    """Return how many symbols a file shows; one that stands alone shows all that there is room for."""
    if count == 1:
        return 10_000
    for last, limit in _SYMBOLS_BY_PLACE:
        if place < last:
            return limit
    return _FEWEST_SYMBOLS


def _add_file(text: _BoundedLines, file: RankedFile, limit: int) -> bool:
    """Add a file with its best symbols, with fewer where there is no room, at least with one; False if none fits."""
    path = to_one_line(file.path, _PATH_CHARS)
    most = min(limit, len(file.symbols))
    while True:
        if text.add_lines([path, *_list_symbols(file, most)]):
            return True
        if most <= 1:
            return False
        most //= 2


def _list_symbols(file: RankedFile, limit: int) -> list[str]:
    """Return the heads of a file's best symbols in the order of the file, and how many are left out."""
    places = sorted(range(len(file.symbols)), key=lambda place: (-file.weights[place], place))[:limit]
    lines = []
    for place in sorted(_add_holders(file, places)):
        symbol = file.symbols[place]
        lines.append(f"{'  ' * (symbol.depth + 1)}{symbol.line}: {symbol.signature}")
    left = len(file.symbols) - len(lines)
    if left:
        lines.append(f"  … {left:,} more")
    return lines


def _add_holders(file: RankedFile, places: Sequence[int]) -> set[int]:
    """Return the places, and those of the definitions that hold them."""
    wanted, found = set(places), set(places)
    holders: list[int] = []
    for place, symbol in enumerate(file.symbols):
        del holders[symbol.depth :]
        if place in wanted:
            found.update(holders)
        holders.append(place)
    return found
