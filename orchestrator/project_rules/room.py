"""The room that rules have in a brief: what comes first stays whole, the rest is cut at the end of a line. Pure."""

from collections.abc import Iterable

from orchestrator.ports.project_rules import RuleText, SelectedRules


def limit_rules(rules: Iterable[RuleText], max_chars: int, problems: Iterable[str] = ()) -> SelectedRules:
    """Return the rules within `max_chars` characters, and the names of those that there is no room for."""
    shown, unshown, left = [], [], max_chars
    for rule in rules:
        text = cut_at_line(rule.text, left)
        if rule.text and not text:
            unshown.append(rule.path)
            continue
        left_out = len(rule.text) - len(text)
        left = 0 if left_out else left - len(text)
        shown.append(rule.model_copy(update={"text": text, "left_out_chars": left_out}))
    return SelectedRules(texts=tuple(shown), unshown=tuple(unshown), problems=tuple(problems))


def cut_at_line(text: str, max_chars: int) -> str:
    """Return a text of at most so many characters that ends with a whole line; with a whole word if it is one line."""
    if len(text) <= max_chars:
        return text
    for end in ("\n", " "):
        cut = text.rfind(end, 0, max_chars + 1)
        if cut > 0:
            return text[:cut]
    return text[: max(max_chars, 0)]
