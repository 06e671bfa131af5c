"""Values that nobody means: as text, as numbers, as whole documents."""

import copy
from random import Random
from typing import Any

ODD_TEXTS = (
    "",
    " ",
    "\n",
    "\t\r\n",
    "-",
    "--",
    "--help",
    "-x",
    "--set=",
    "=",
    "=x",
    ".",
    "..",
    "/",
    "//",
    "../../../../etc/passwd",
    "/dev/null",
    "/proc/self/environ",
    "~",
    "~nobody/x",
    "*",
    "[",
    "[!",
    "**/**/**",
    "{files}",
    "{",
    "}{",
    "%s%n%d",
    "$(id)",
    "`id`",
    "'",
    '"',
    "\\",
    "a\\",
    "(",
    "(?",
    "(a+)+$",
    "x" * 300,
    "x" * 70_000,
    "\udcff",
    "a\udc80b",
    "\u202egnp.exe",
    "e\u0301",
    "\ufeff",
    "\u0130\u0131",
    "🙂" * 20,
    "漢字",
    "\x1b[31m",
    "\x07\x08\x7f",
    "\u2028",
    "None",
    "null",
    "true",
    "latest",
    "root",
    "HEAD",
    "refs/heads/main",
    "main..main",
    "@{-1}",
    "a:b:c",
    "http://[::1",
    "https://user:pass@host:99999/x",
    "file:///etc/passwd",
    "2026-02-30T25:61:00Z",
    "[[x]]",
    "<script>alert(1)</script>",
    "]]>",
    "&#0;",
    "--unsafe",
)
ODD_NUMBERS = (
    "0",
    "-0",
    "-1",
    "1",
    "2",
    "7",
    "+5",
    "5.",
    ".5",
    "1e400",
    "1e308",
    "-1e308",
    "1e-400",
    "nan",
    "-inf",
    "inf",
    "9" * 20,
    "9" * 400,
    "9" * 5_000,
    "0x10",
    "1_000",
    "١٢٣",
    "²",
    "2147483648",
    "18446744073709551616",
    "9" * 4_000 + "h",
    "99999999999h",
    "1h1h",
)
ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    2**31,
    2**63,
    -(2**63) - 1,
    10**30,
    10**4_000,
    0.0,
    -0.0,
    1e308,
    float("inf"),
    float("-inf"),
    float("nan"),
    "",
    [],
    {},
    [None],
    [[]],
    {"": ""},
    {"a": {"b": []}},
    "\ud800",
    "\0",
    "a\0b",
)
DEEP = 100_000


def choose_text(chance: Random) -> str:
    """Return some text."""
    match chance.randrange(10):
        case 0 | 1:
            return chance.choice(ODD_NUMBERS)
        case 2:
            return "".join(chance.choices("abc-=:/. \n{}[]\"'\\$é🙂\udc80", k=chance.randrange(1, 20)))
        case 3:
            return chance.choice(ODD_TEXTS) + chance.choice(ODD_TEXTS)
        case _:
            return chance.choice(ODD_TEXTS)


def choose_argument(chance: Random) -> str:
    """Return text that can be a word of a command line: without NUL, as an operating system's bytes."""
    return choose_text(chance).replace("\0", "")


def choose_value(chance: Random) -> Any:
    """Return a value of any type that JSON has; lists and tables may be nested deeply, but as JSON allows it."""
    match chance.randrange(8):
        case 0 | 1 | 2:
            return choose_text(chance)
        case 3:
            return nest_value(chance.randrange(1, 120))
        case 4:
            return [choose_text(chance)[:100]] * chance.choice((1, 3, 2_000))
        case _:
            return copy.deepcopy(chance.choice(ODD_VALUES))  # what is drawn is changed: no case may change another's


def nest_value(depth: int) -> Any:
    """Return lists and tables within each other."""
    value: Any = "x"
    for number in range(depth):
        if number % 2:
            value = {"a": value}
        else:
            value = [value]
    return value
