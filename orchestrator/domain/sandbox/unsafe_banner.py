"""The words for a run whose commands have no sandbox around them: said wherever such a run shows."""

UNSAFE_BANNER = "UNSAFE: no sandbox. Commands run as you, with your files and your network (--unsafe-no-sandbox)."
