"""Choosing a handful of mutants of a change: spread over its lines and the operators, and always the same ones."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import libcst as cst

from orchestrator.judge.behaviour.replaying import list_recorded_modules
from orchestrator.judge.files.changed_file import AddedLine, ChangedFile, group_by_path
from orchestrator.judge.mutation.mutant import Mutant, build_mutant
from orchestrator.judge.mutation.sites import TELLING, MutationSite, find_sites
from orchestrator.judge.source.python_syntax import parse_python

_MAX_BYTES = 256 * 1024


class _Place(NamedTuple):
    """A changed line with what can be altered on it."""

    path: str
    source: bytes
    module: cst.Module
    sites: list[MutationSite]


def choose_mutants(files: Sequence[ChangedFile], lines: Sequence[AddedLine], limit: int) -> tuple[Mutant, ...]:
    """Return at most `limit` mutants of the added lines of a change's Python product code. Blocks."""
    places = _list_places(files, lines)
    used = Counter[str]()
    chosen: list[Mutant] = []
    while places and len(chosen) < limit:
        for group in _divide(places):
            for place in _spread(group, limit - len(chosen)):
                site = min(place.sites, key=lambda one: one.preference + 2 * used[one.operator])
                place.sites.remove(site)
                mutant = _build(place, site)
                if mutant and mutant.description not in (one.description for one in chosen):
                    used[site.operator] += 1
                    chosen.append(mutant)
        places = [place for place in places if place.sites]
    return tuple(sorted(chosen, key=lambda one: (one.path, one.line)))


def _list_places(files: Sequence[ChangedFile], lines: Sequence[AddedLine]) -> list[_Place]:
    """Return the changed lines on which something can be altered, in the order of paths and lines."""
    added = group_by_path(lines)
    wanted = set(list_recorded_modules(files))
    places = []
    for file in sorted(files, key=lambda one: one.path):
        if file.path in wanted and file.path in added and file.path.isprintable():
            places += _list_places_of_file(file, {line.number for line in added[file.path]})
    return places


def _list_places_of_file(file: ChangedFile, numbers: set[int]) -> list[_Place]:
    source = file.after or b""
    if len(source) > _MAX_BYTES or parse_python(source) is None:
        return []
    try:
        module = cst.parse_module(source.decode())
        sites = find_sites(module, numbers)
    except (cst.ParserSyntaxError, UnicodeDecodeError, RecursionError):
        return []
    by_line: dict[int, list[MutationSite]] = {}
    for site in sites:
        by_line.setdefault(site.line, []).append(site)
    return [_Place(file.path, source, module, by_line[number]) for number in sorted(by_line)]


def _divide(places: Sequence[_Place]) -> tuple[list[_Place], list[_Place]]:
    """Return the lines that decide or reckon, and all others."""
    telling, others = [], []
    for place in places:
        if any(site.preference < TELLING for site in place.sites):
            telling.append(place)
        else:
            others.append(place)
    return telling, others


def _spread(places: Sequence[_Place], count: int) -> list[_Place]:
    """Return so many places, as far from each other as they can be."""
    if len(places) <= count:
        return list(places)
    return [places[(2 * number + 1) * len(places) // (2 * count)] for number in range(count)]


def _build(place: _Place, site: MutationSite) -> Mutant | None:
    """Return the mutant of a site; None if that would be no Python, or no other program."""
    try:
        mutated = place.module.deep_replace(site.node, site.mutated)
    except (cst.CSTValidationError, TypeError):
        return None
    if not isinstance(mutated, cst.Module):
        return None
    changed = mutated.code.encode()
    if changed == place.source or parse_python(changed) is None:
        return None
    codes = (place.module.code_for_node(site.node), place.module.code_for_node(site.mutated))
    return build_mutant(place.path, site.line, codes, (place.source, changed))
