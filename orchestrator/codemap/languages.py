"""The languages whose symbols are read: their files, their grammars, and which nodes of a syntax tree define what.

Names of nodes mean the same in all of these grammars, so that one table serves for all. Needs the standard library
alone, as the process that parses imports it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Grammar(NamedTuple):
    """A grammar: the package that holds it, its module, and the function of this that returns it."""

    package: str
    module: str
    function: str = "language"


GRAMMARS: Mapping[str, Grammar] = MappingProxyType(
    {
        "c": Grammar("tree-sitter-c", "tree_sitter_c"),
        "c#": Grammar("tree-sitter-c-sharp", "tree_sitter_c_sharp"),
        "c++": Grammar("tree-sitter-cpp", "tree_sitter_cpp"),
        "go": Grammar("tree-sitter-go", "tree_sitter_go"),
        "java": Grammar("tree-sitter-java", "tree_sitter_java"),
        "javascript": Grammar("tree-sitter-javascript", "tree_sitter_javascript"),
        "python": Grammar("tree-sitter-python", "tree_sitter_python"),
        "ruby": Grammar("tree-sitter-ruby", "tree_sitter_ruby"),
        "rust": Grammar("tree-sitter-rust", "tree_sitter_rust"),
        "tsx": Grammar("tree-sitter-typescript", "tree_sitter_typescript", "language_tsx"),
        "typescript": Grammar("tree-sitter-typescript", "tree_sitter_typescript", "language_typescript"),
    }
)
_SUFFIXES: Mapping[str, str] = MappingProxyType(
    {
        "c": ".c",
        "c#": ".cs",
        "c++": ".cc .cpp .cxx .c++ .h .hh .hpp .hxx",
        "go": ".go",
        "java": ".java",
        "javascript": ".js .jsx .mjs .cjs",
        "python": ".py .pyi",
        "ruby": ".rb",
        "rust": ".rs",
        "tsx": ".tsx",
        "typescript": ".ts .mts .cts",
    }
)
"""A header may be one of C or of C++, of which C is nearly a part."""


def _index_suffixes() -> Mapping[str, str]:
    found = {}
    for language, suffixes in _SUFFIXES.items():
        for suffix in suffixes.split():
            found[suffix] = language
    return MappingProxyType(found)


LANGUAGE_BY_SUFFIX = _index_suffixes()

_FUNCTIONS = (
    "function_definition function_declaration function_item function_signature function_signature_item "
    "generator_function_declaration method_definition method_declaration method_signature abstract_method_signature "
    "method_elem method singleton_method constructor_declaration annotation_type_element_declaration "
    "delegate_declaration macro_definition preproc_function_def"
)
_TYPES = (
    "class_definition class_declaration abstract_class_declaration class_specifier class interface_declaration "
    "struct_specifier struct_item struct_declaration enum_specifier enum_item enum_declaration union_specifier "
    "union_item trait_item record_declaration annotation_type_declaration type_alias_declaration type_item type_spec "
    "type_definition alias_declaration"
)
_SPACES = "internal_module module mod_item namespace_definition namespace_declaration"
_VALUES = "const_item static_item const_spec var_spec assignment variable_declarator"
_DECLARATIONS = "declaration field_declaration"

_PASSED = (
    "program module source_file translation_unit compilation_unit block statement_block body_statement "
    "class_body interface_body enum_body enum_body_declarations annotation_type_body declaration_list "
    "field_declaration_list export_statement ambient_declaration expression_statement lexical_declaration "
    "variable_declaration decorated_definition if_statement else_clause try_statement type_declaration "
    "type_spec_list const_declaration var_declaration preproc_ifdef preproc_if preproc_else template_declaration "
    "linkage_specification singleton_class interface_type namespace_declaration "
    "file_scoped_namespace_declaration then"
)
PASSED_NODES = frozenset(_PASSED.split())
"""Nodes that define nothing themselves, and may hold definitions that others can use."""
HOLDING_NODES = frozenset((*_TYPES.split(), *_SPACES.split(), "impl_item"))
"""Definitions that hold others, which belong to them."""
_FUNCTION_VALUES = "arrow_function function_expression function generator_function class class_expression"
FUNCTION_VALUES = frozenset(_FUNCTION_VALUES.split())
"""Values that make a function or a class of the variable that gets them."""


def _index_kinds() -> Mapping[str, str]:
    kinds = {"impl_item": "impl"}
    for kind, nodes in (("function", _FUNCTIONS), ("type", _TYPES), ("space", _SPACES), ("value", _VALUES)):
        kinds |= dict.fromkeys(nodes.split(), kind)
    return MappingProxyType(kinds | dict.fromkeys(_DECLARATIONS.split(), "declaration"))


KIND_BY_NODE = _index_kinds()
"""Kind of definition by node: function, type, space, value, impl, and declaration, which may be one of a function."""
