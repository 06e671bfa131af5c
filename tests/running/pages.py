"""Pages of HTML as a browser sees them: what they are made of, and that nothing in them is alive."""

import re
from html.parser import HTMLParser

HOSTILE = "</details></pre><script>alert(1)</script><img src=https://evil.example/x>]]>&amp;\x1b[31m\u202e"
_VOID = {"meta", "br", "img", "link", "input", "hr", "circle", "line", "rect", "polyline"}
_ALIVE = {"script", "img", "link", "iframe", "a", "base", "object", "embed", "form"}


class Tags(HTMLParser):
    """Which elements a page has, with the values of their attributes; wrong nesting is an error."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.values: list[str] = []
        self._open: list[str] = []

    @property
    def is_closed(self) -> bool:
        """Whether every element has ended."""
        return not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.values += [f"{name}={value}" for name, value in attrs]
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            assert self._open.pop() == tag


def tags_of(page: str) -> Tags:
    """Its elements; fails if one is alive, if something comes from elsewhere, or if it is not well-formed."""
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert tags.is_closed
    assert tags.seen.isdisjoint(_ALIVE), tags.seen & _ALIVE
    assert not [value for value in tags.values if "://" in value or value.startswith("on")]
    styles = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert len(styles) == 1
    assert not re.search(r"url\(|@import", styles[0])
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e]", page)
    return tags
