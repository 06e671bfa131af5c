"""The colours of the dashboard: safe for the colour-blind (blue, orange, grey; never red against green), and legible.

Every state is a word as well; colours only help. Without colour (NO_COLOR) Textual makes greys of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from rich.style import Style
from textual.theme import Theme

_STATE = "state-"
"""The prefix of states' names in rows: `state-ask` looks as `ask` does."""
BOLD_STYLES = frozenset({"title", "ask", "stall", "fail", "warn", "key", "chosen"})
_SHARED = {"": "text", "queue": "dim", "stop": "dim", "pause": "dim", "context": "text", "money": "text"}
_SAME = {
    "ask": "orange", "stall": "orange", "warn": "orange", "fail": "vermillion", "bad": "vermillion",
    "removed": "orange", "added": "blue", "run": "blue", "think": "blue", "test": "blue", "accent": "blue",
    "bar": "blue", "key": "blue", "chosen": "blue", "judge": "purple", "merge": "purple", "retry": "yellow",
    "done": "green", "good": "green", "title": "text", "dim": "grey", "muted": "grey",
}  # fmt: skip


@dataclass(frozen=True)
class ColourScheme:
    """Colours by name, as `#rrggbb`.

    They are seen on the `background`, on the `raised_background`, and on the `selected_background`. `edge` is the
    colour of the frames of panels without the focus.
    """

    name: str
    is_dark: bool
    background: str
    raised_background: str
    selected_background: str
    edge: str
    colours: Mapping[str, str]

    def get_colour(self, style: str) -> str:
        """Return the colour of a style; the text's for an unknown one."""
        own = style.removeprefix(_STATE)
        name = _SHARED.get(own, own)
        return self.colours.get(_SAME.get(name, name), self.colours["text"])

    def build_theme(self) -> Theme:
        """Return the same colours as a theme for Textual's own widgets."""
        return Theme(
            name=self.name,
            dark=self.is_dark,
            primary=self.colours["blue"],
            secondary=self.colours["purple"],
            accent=self.colours["blue"],
            warning=self.colours["orange"],
            error=self.colours["vermillion"],
            success=self.colours["green"],
            foreground=self.colours["text"],
            background=self.background,
            surface=self.background,
            panel=self.raised_background,
            variables={
                "border-blurred": self.edge,
                "text-muted": self.colours["grey"],
                "text-disabled": self.colours["grey"],
                "primary-muted": self.selected_background,
                "surface-lighten-2": self.raised_background,
            },
        )


DARK_SCHEME = ColourScheme(
    "orchestrate-dark", True, "#101418", "#1c232b", "#1d3341", "#66717c",
    {"text": "#e6e6e6", "grey": "#9aa4ae", "blue": "#56b4e9", "orange": "#e69f00", "vermillion": "#f0793a",
     "green": "#3dbb95", "purple": "#d494b8", "yellow": "#f0e442"},
)  # fmt: skip
LIGHT_SCHEME = ColourScheme(
    "orchestrate-light", False, "#ffffff", "#eef1f4", "#d9e8f2", "#7f8891",
    {"text": "#1a1d21", "grey": "#5a626b", "blue": "#005a94", "orange": "#8a5a00", "vermillion": "#a63f00",
     "green": "#00664b", "purple": "#8a3f6b", "yellow": "#6b6000"},
)  # fmt: skip
COLOUR_SCHEMES = {palette.name: palette for palette in (DARK_SCHEME, LIGHT_SCHEME)}
STYLE_NAMES = tuple(sorted({*_SHARED, *_SAME}))
"""The names of styles that views may use."""


@cache
def get_theme_style(name: str, theme: str = DARK_SCHEME.name) -> Style:
    """Return a style of a theme by name, for strips and cells."""
    colour = COLOUR_SCHEMES.get(theme, DARK_SCHEME).get_colour(name)
    return Style(color=colour, bold=name.removeprefix(_STATE) in BOLD_STYLES)
