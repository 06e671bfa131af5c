"""The places of a Python source that the operators of mutmut can alter, without those where tests have nothing to see.

Left out are annotations, imports, decorators, texts, what is logged, raised or asserted, `__repr__` and `__str__`, and
code for type checkers or for the program's start (`if __name__ == "__main__"`).
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

from orchestrator.judge.source.python_syntax import PARSER_LOCK

_PREFERENCE = (
    *("operator_swap_op", "operator_keywords", "operator_remove_unary_ops", "operator_if_exp", "operator_name"),
    *("operator_number", "operator_match", "operator_symmetric_string_methods_swap"),
    *("operator_unsymmetrical_string_methods_swap", "operator_augmented_assignment", "operator_lambda"),
    *("operator_assignment", "operator_arg_removal"),
)
"""The operators of mutmut that are used, those first whose mutants tell most; those of texts are not among them."""
TELLING = _PREFERENCE.index("operator_name")
"""The preference below which an operator alters what code decides or reckons."""
_SKIPPED = (cst.Annotation, cst.Import, cst.ImportFrom, cst.Decorator, cst.Raise, cst.Assert)
_SHOWN_ONLY = frozenset({"__repr__", "__str__"})
_LOG_METHODS = frozenset({"debug", "info", "warning", "warn", "error", "exception", "critical", "log", "getLogger"})
_OPERATOR_ERRORS = (ValueError, ArithmeticError, SyntaxError, TypeError, AttributeError)


@dataclass(frozen=True)
class MutationSite:
    """A node that an operator can put another one in place of; `preference` is lower the more its mutant tells."""

    line: int
    operator: str
    preference: int
    node: cst.CSTNode
    mutated: cst.CSTNode


def find_sites(module: cst.Module, lines: Collection[int]) -> list[MutationSite]:
    """Return the sites that begin on these lines, in the order of the source. Blocks.

    Raises:
        RecursionError: the source is nested too deeply.
    """
    wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
    finder = _SiteFinder(module, lines)
    wrapper.visit(finder)
    return finder.sites


class _SiteFinder(cst.CSTVisitor):
    """Goes through a module once, and into nothing that is left out."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, module: cst.Module, lines: Collection[int]) -> None:
        super().__init__()
        self.sites: list[MutationSite] = []
        self._module = module
        self._lines = lines
        self._depth = 0

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Collect what operators make of the node, and return True if its parts are to be looked at."""
        if self._is_left_out(node):
            return False
        if isinstance(node, cst.FunctionDef):
            self._depth += 1
        place = self.get_metadata(PositionProvider, node, None)
        if isinstance(place, cst.metadata.CodeRange) and place.start.line in self._lines:
            self.sites += self._iterate_sites(node, place.start.line)
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        """Note the end of a function."""
        if isinstance(original_node, cst.FunctionDef) and original_node.name.value not in _SHOWN_ONLY:
            self._depth -= 1

    def _iterate_sites(self, node: cst.CSTNode, line: int) -> Iterator[MutationSite]:
        for kind, operator in mutation_operators:
            name = operator.__name__
            if name not in _PREFERENCE or not isinstance(node, kind):
                continue
            if name == "operator_assignment" and self._depth == 0:
                continue  # outside functions most are names of types
            try:
                with PARSER_LOCK:  # operators of numbers and strings read these by `ast`
                    made = list(operator(node))
            except _OPERATOR_ERRORS:
                continue
            if name == "operator_arg_removal":
                made = made[:1]
            for mutated in made:
                yield MutationSite(line, name, _PREFERENCE.index(name), node, mutated)

    def _is_left_out(self, node: cst.CSTNode) -> bool:
        if isinstance(node, _SKIPPED):
            return True
        if isinstance(node, cst.FunctionDef):
            return node.name.value in _SHOWN_ONLY
        if isinstance(node, cst.If):
            condition = self._module.code_for_node(node.test)
            return "TYPE_CHECKING" in condition or "__name__" in condition
        return isinstance(node, cst.Call) and self._is_message(node.func)

    def _is_message(self, function: cst.BaseExpression) -> bool:
        if isinstance(function, cst.Name):
            return function.value == "print"
        if not isinstance(function, cst.Attribute) or function.attr.value not in _LOG_METHODS:
            return False
        receiver = self._module.code_for_node(function.value).lower()
        return "log" in receiver or receiver == "warnings"
