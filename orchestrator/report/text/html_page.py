"""Pages of HTML that need nothing else: no script, no font, no picture from elsewhere.

Every word that is put on one is escaped, and has no control characters.
"""

from collections.abc import Iterable, Iterator
from html import escape

from orchestrator.domain.text.sanitization import strip_controls

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --curve: #2563eb; --mark: #d97706; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 64rem; padding: 0 1rem; }
body { overflow-wrap: anywhere; } h3 { font-size: 1rem; margin: 1rem 0 .25rem; }
.wide { overflow-x: auto; margin: .5rem 0 1.5rem; } table { border-collapse: collapse; width: 100%; font-size: 13px; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .5rem; text-align: left; vertical-align: top; }
th, td { min-width: 4.5rem; } td.m { min-width: 8rem; } td.l { min-width: 14rem; }
th { overflow-wrap: normal; } td { white-space: pre-wrap; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; min-width: 2.5rem; overflow-wrap: normal; }
svg { width: 100%; min-width: 34rem; height: auto; } svg text { font-size: 11px; fill: currentColor; }
.grid { stroke: var(--line); } .curve { fill: none; stroke: var(--curve); stroke-width: 2; }
.ideal { stroke: currentColor; stroke-dasharray: 5 4; opacity: .6; }
line.mark { stroke: var(--mark); stroke-dasharray: 2 3; } circle.mark { fill: var(--mark); }
rect.attempt { fill: var(--curve); } rect.planning { fill: var(--mark); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: 12px; } details { margin: .25rem 0 .25rem 1rem; }
details.task { border-top: 1px solid var(--line); padding: .25rem 0; margin: 0; } .said { white-space: pre-line; }
blockquote { white-space: pre-wrap; border-left: 3px solid var(--line); margin: 0 0 1rem; padding-left: 1rem; }
@media print { details { break-inside: avoid; } body { margin: 0; } }
.big { font-size: 1.25rem; } .unsafe { color: #b91c1c; font-weight: 600; }
"""
_CHARS = 20_000
_MIDDLING, _LONG = 12, 40
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def render_page(title: str, parts: Iterable[str]) -> str:
    """The whole page; `parts` are HTML already, the title is not."""
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape_html(title)}</title><style>{_STYLE}</style></head><body>",
            *parts,
            "</body></html>",
            "",
        )
    )


def escape_html(value: object) -> str:
    """Anything as text of a page or of an attribute; of what nobody would read to its end, the beginning."""
    text = str(value)
    if len(text) > _CHARS:
        more = f"… and {len(text) - _CHARS:,} characters more"
    else:
        more = ""
    return escape(strip_controls(text[:_CHARS])) + more


def render_scrollable(element: str) -> str:
    """Something that may be wider than the page, which is then moved sideways by itself; empty for nothing."""
    if element:
        return f'<div class="wide">{element}</div>'
    return ""


def render_html_table(title: str, heads: Iterable[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """A table; nothing without rows, and no column without a word. Heads that begin with `#` are columns of numbers."""
    made, columns = [[str(cell) for cell in row] for row in rows], list(heads)
    if not made:
        return
    kept = [place for place in range(len(columns)) if any(row[place] for row in made)]
    made, columns = [[row[place] for place in kept] for row in made], [columns[place] for place in kept]
    kinds = [_column(head, [row[place] for row in made]) for place, head in enumerate(columns)]
    yield f"<h2>{escape_html(title)}</h2>"
    cells = zip(columns, kinds, strict=True)
    yield (
        '<div class="wide"><table><thead><tr>'
        + "".join(f"<th{kind}>{escape_html(head.lstrip('#'))}</th>" for head, kind in cells)
        + "</tr></thead>"
    )
    yield "<tbody>"
    for row in made:
        yield (
            "<tr>"
            + "".join(f"<td{kind}>{escape_html(cell)}</td>" for cell, kind in zip(row, kinds, strict=True))
            + "</tr>"
        )
    yield "</tbody></table></div>"


def _column(head: str, cells: Iterable[str]) -> str:
    """The class of a column: numbers, or how long the longest words in it are, or none."""
    if head.startswith("#"):
        return ' class="n"'
    longest = max(map(len, cells), default=0)
    if longest > _LONG:
        return ' class="l"'
    if longest > _MIDDLING:
        return ' class="m"'
    return ""
