"""Symbols of one source: what it defines, in each language, and nothing that odd bytes could do."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.codemap.languages import GRAMMARS, LANGUAGE_BY_SUFFIX
from orchestrator.codemap.symbol_extraction import extract_symbols
from orchestrator.codemap.symbol_processes import Source, extract_all_symbols

SOURCES = {
    "python": (
        "@slow\nclass Cart(Base):\n    size: int = 1\n    async def add(self, item: int) -> str:\n"
        "        def inner(): pass\n"
        "LIMIT = 3\ncount = 4\nif True:\n    def late(): pass\n",
        ["Cart", "  add", "LIMIT", "late"],
    ),
    "javascript": (
        "export default class Cart extends Base { add(item){} static of(){} #hidden(){} size = 1 }\n"
        "export function open(){}\nconst close = (item) => 1;\nlet other = 2;\nfunction* all(){}\n",
        ["Cart", "  add", "  of", "  #hidden", "open", "close", "all"],
    ),
    "typescript": (
        "export interface Item { price(): number; name: string }\nexport type Id = string;\nexport enum Kind {A}\n"
        "export abstract class Cart<T> { private add(a: T): void {} abstract all(): void }\n"
        "namespace shop { export function open(){} }\nexport const load = async (x: number): Promise<void> => {};\n"
        "declare function late(a: number): void;\n",
        ["Item", "  price", "Id", "Kind", "Cart", "  add", "  all", "shop", "  open", "load", "late"],
    ),
    "tsx": ("export const View = () => <div>{1}</div>;\n", ["View"]),
    "go": (
        "package p\ntype Cart struct { Size int }\ntype (Item interface { Price() })\n"
        "func (c *Cart) Add(item int) error { return nil }\nfunc open() {}\nconst Limit = 1\nconst small = 2\n",
        ["Cart", "Item", "  Price", "Add", "open", "Limit"],
    ),
    "rust": (
        "pub struct Cart { size: i32 }\ntrait Item { fn price(&self); }\nimpl Item for Cart { fn price(&self) {} }\n"
        "mod shop { pub fn open() {} }\nmacro_rules! all { () => {} }\nconst LIMIT: i32 = 1;\n",
        ["Cart", "Item", "  price", "Cart", "  price", "shop", "  open", "all", "LIMIT"],
    ),
    "java": (
        "package p;\npublic class Cart extends Base { int size; public Cart(){} @Override public void add(int a) {}\n"
        "  interface Item { void price(); } enum Kind {A; void of(){} } }\nrecord Id(int a) {}\n",
        ["Cart", "  Cart", "  add", "  Item", "    price", "  Kind", "    of", "Id"],
    ),
    "c": (
        "#ifndef H\n#define H\n#define MAX(a) a\nstruct cart { int size; };\ntypedef struct { int b; } item;\n"
        "struct cart *open_cart(int a);\nstatic int close_cart(void) { return 1; }\nextern int count;\n#endif\n",
        ["MAX", "cart", "item", "open_cart", "close_cart"],
    ),
    "c++": (
        "namespace shop { template<class T> class Cart : public Base { public: Cart(); void add() const; int size; };\n"
        "void Cart::add() const {} }\nusing Id = int;\n",
        ["shop", "  Cart", "    Cart", "    add", "  add", "Id"],
    ),
    "ruby": (
        "module Shop\n  class Cart < Base\n    attr_reader :size\n    def add(item)\n    end\n    def self.of; end\n"
        "  end\nend\n",
        ["Shop", "  Cart", "    add", "    of"],
    ),
    "c#": (
        "namespace Shop { public class Cart : Base { public int Size {get;set;} public void Add(int a) {} }\n"
        "interface Item { void Price(); } }\n",
        ["Shop", "  Cart", "    Add", "  Item", "    Price"],
    ),
}


def names(language: str, source: str) -> Sequence[str]:
    return ["  " * symbol.depth + symbol.name for symbol in extract_symbols(language, source.encode()).symbols]


@pytest.mark.parametrize("language", sorted(GRAMMARS))
def test_what_others_can_use_is_found_in_each_language(language: str) -> None:
    source, expected = SOURCES[language]
    assert names(language, source) == expected


def test_every_suffix_is_of_a_language_with_a_grammar() -> None:
    assert set(LANGUAGE_BY_SUFFIX.values()) <= GRAMMARS.keys()


def test_a_symbol_has_its_line_and_its_head_in_one_line() -> None:
    source = b"import os\n\ndef load(\n    path: str,\n    deep: bool = False,\n) -> bytes:\n    return os.read(path)\n"
    (symbol,) = extract_symbols("python", source).symbols
    assert (symbol.line, symbol.signature) == (3, "def load( path: str, deep: bool = False, ) -> bytes:")


def test_a_constant_is_shown_without_its_value() -> None:
    (symbol,) = extract_symbols("python", b"API_TOKEN = 'abc123'\n").symbols
    assert symbol.signature == "API_TOKEN"


def test_the_names_that_a_source_uses_are_its_words() -> None:
    words = extract_symbols("go", b"package p\nfunc f() { shop.OpenCart(item) }\n").words
    assert {"OpenCart", "shop", "item"} <= set(words)


def test_signatures_hold_no_control_characters() -> None:
    (symbol,) = extract_symbols("javascript", "function f(a = '\x1b[31m\u202e') {}".encode()).symbols
    assert symbol.signature.isprintable()


@pytest.mark.parametrize("language", sorted(GRAMMARS))
@settings(max_examples=25)
@given(content=st.binary(max_size=300) | st.text(alphabet="(){}[]<>:;\"'`#%@a \n\t\\", max_size=300).map(str.encode))
def test_no_bytes_raise(language: str, content: bytes) -> None:
    found = extract_symbols(language, content)
    assert all(symbol.signature.isprintable() for symbol in found.symbols)


@pytest.mark.parametrize(
    "content",
    [b"(" * 100_000, b"{" * 100_000, b"x = 1;" * 20_000, b"a" * 200_000, b"\xff\x00" * 50_000, b"class A:\n " * 5_000],
    ids=["parentheses", "braces", "statements", "one-word", "no-text", "nested"],
)
def test_deep_and_long_sources_end_within_their_bounds(content: bytes) -> None:
    found = extract_symbols("python", content)
    assert len(found.symbols) <= 400
    assert all(symbol.depth <= 7 for symbol in found.symbols)


@pytest.mark.extended
async def test_a_source_on_which_a_parser_never_ends_costs_only_itself() -> None:
    sources = [
        Source("a" * 40, "python", b"def first(): pass\n"),
        Source("b" * 40, "ruby", b"%q(" * 80_000),
        Source("c" * 40, "python", b"def last(): pass\n"),
    ]
    found = await extract_all_symbols(sources)
    assert found["a" * 40].symbols[0].name == "first"
    assert "b" * 40 not in found
    assert found["c" * 40].symbols[0].name == "last"
