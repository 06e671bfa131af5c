"""Records the calls of some modules' functions while tests run, without a frame, a wrapper or a name of its own.

Only the text of this module is used, in the process that runs the tests. When one of the modules is imported, its
functions get a call at their beginning and one at each end, put into their code; what they are called with is kept
before they can change it. A function that was called often gets its own code back.
"""

from __future__ import annotations

import ast
import base64
import gc
import os
import pickle
import sys
import threading
import types
import warnings
from importlib.machinery import ModuleSpec, SourceFileLoader
from typing import Any

from orchestrator.judge.behaviour.value_shapes import describe_value

_MAX_DISTINCT, _MAX_ATTEMPTS, _MAX_CALLS = 20, 200, 1_000
_MAX_PICKLE, _MAX_TOGETHER = 64 * 1024, 1024 * 1024
_CALL_BEGINS, _CALL_ENDS, _CALL_RAISES = "\0begin", "\0end", "\0raised"
_COMPILED_BY = frozenset({"jit", "njit", "vectorize", "guvectorize", "compile", "script", "kernel", "cfunc"})
"""Decorators that read the code of what they decorate."""
_SPECIAL_METHODS = frozenset(
    {"__call__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__", "__len__", "__str__"}
    | {"__add__", "__sub__", "__mul__", "__bool__", "__getitem__", "__int__", "__float__", "__repr__", "__format__"}
)
"""The special methods that are recorded: those that build or pickle an object are not."""


class RecordedFunction:
    """One function of a recorded module, and what is known of its calls."""

    def __init__(self, path: str, line: int, end: int, module: str, name: str) -> None:
        self.path, self.line, self.end, self.module, self.name = path, line, end, module, name
        self.attempts = 0
        self.calls = 0
        self.seen: set[bytes] = set()
        self.is_restored = False


class CallRecorder:
    """Records calls of the functions of `paths`, relative to `root`; a finder that Python asks for each module."""

    def __init__(self, root: str, paths: list[str]) -> None:
        self.root = os.path.realpath(root)
        self.paths = {os.path.join(self.root, path): path for path in paths}  # noqa: PTH118
        self.is_active = False
        self.calls: list[list[Any]] = []
        self.functions: list[RecordedFunction] = []
        self._names = {os.path.splitext(os.path.basename(path))[0] for path in paths}  # noqa: PTH119, PTH122
        self._names |= {os.path.basename(os.path.dirname(path)) for path in paths}  # noqa: PTH119, PTH120
        self._size = 0
        self._pid = os.getpid()
        self._local = threading.local()
        self._open: dict[int, tuple[RecordedFunction, bytes]] = {}
        self._is_finding = False

    def install_finder(self) -> None:
        """Let Python ask this recorder for modules from now on."""
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return the spec that others have for one of the modules, with a loader that puts the calls in."""
        if self._is_finding or name.rpartition(".")[2] not in self._names:
            return None
        self._is_finding = True
        try:
            spec = self._ask_others(name, path, target)
        finally:
            self._is_finding = False
        if spec is None or type(spec.loader) is not SourceFileLoader or not spec.origin:
            return None
        own = self.paths.get(os.path.realpath(spec.origin))
        if own is not None:
            spec.loader = _build_loader(self, spec.loader.name, spec.loader.path, own)
        return spec

    def _ask_others(self, name: str, path: Any, target: Any) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            if finder is not self and find is not None and (spec := find(name, path, target)) is not None:
                return spec  # type: ignore[no-any-return]
        return None

    def compile_module(self, data: Any, file: str, path: str, module: str) -> types.CodeType:
        """Return the code of a module with calls put into its functions."""
        first = len(self.functions)
        try:
            tree = ast.parse(data, file)
            _put_calls_into(tree.body, "", path, module, self.functions)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SyntaxWarning)
                code = compile(tree, file, "exec", dont_inherit=True)
            given = {_CALL_BEGINS: self._begin_call, _CALL_ENDS: self._end_call, _CALL_RAISES: self._note_exception}
            return _fill_constants(code, given)
        except Exception:  # noqa: BLE001 -- then it is as without us
            del self.functions[first:]
            return compile(data, file, "exec", dont_inherit=True)

    def _begin_call(self, number: int, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Keep what a call begins with, by its frame, if it is to be recorded."""
        function = self.functions[number]
        if not self.is_active or function.is_restored or getattr(self._local, "is_busy", False):
            return
        call = self._keep_arguments(function, arguments, named)
        if call is not None:
            self._open[id(sys._getframe(1))] = call

    def _keep_arguments(
        self, function: RecordedFunction, arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[RecordedFunction, bytes] | None:
        function.attempts += 1
        if function.attempts > _MAX_ATTEMPTS:
            self._restore_code(function)
            return None
        is_full = len(self.calls) >= _MAX_CALLS or self._size > _MAX_TOGETHER
        if is_full or function.calls >= _MAX_DISTINCT or os.getpid() != self._pid:
            return None
        self._local.is_busy = True
        try:
            data = pickle.dumps((arguments, named), protocol=4)
        except Exception:  # noqa: BLE001 -- many things cannot be pickled
            return None
        finally:
            self._local.is_busy = False
        if len(data) > _MAX_PICKLE or data in function.seen:
            return None
        function.seen.add(data)
        function.calls += 1
        return function, data

    def _end_call(self, value: Any) -> Any:
        """Book the result of the call that ends, and return it."""
        call = self._open.pop(id(sys._getframe(1)), None) if self._open else None
        if call is not None:
            self._local.is_busy = True
            described = describe_value(value)
            self._local.is_busy = False
            if described is not None:
                self._add_call(call, "returned", *described)
        return value

    def _note_exception(self) -> None:
        call = self._open.pop(id(sys._getframe(1)), None) if self._open else None
        kind = sys.exc_info()[0]
        if call is not None and kind is not None and issubclass(kind, Exception):
            name = f"{kind.__module__}.{kind.__qualname__}"
            self._add_call(call, "raised", name, name)

    def _add_call(self, call: Any, how: str, digest: str, shown: str) -> None:
        function, data = call
        self._size += len(data)
        place = [function.path, function.line, function.end, function.module, function.name]
        self.calls.append([*place, base64.b64encode(data).decode(), how, digest, shown])

    def _restore_code(self, function: RecordedFunction) -> None:
        """Give a function that is called often its own code back."""
        function.is_restored = True
        changed = sys._getframe(3).f_code
        try:
            with open(changed.co_filename, "rb") as file:  # noqa: PTH123
                whole = compile(file.read(), changed.co_filename, "exec", dont_inherit=True)
            plain = _find_code(whole, changed.co_name, changed.co_firstlineno)
            for one in gc.get_referrers(changed):
                if plain is not None and isinstance(one, types.FunctionType) and one.__code__ is changed:
                    one.__code__ = plain
        except Exception:  # noqa: BLE001 -- it only stays a little slower
            return


def _build_loader(recorder: CallRecorder, name: str, file: str, path: str) -> SourceFileLoader:
    class Loader(SourceFileLoader):
        def path_stats(self, path: Any) -> Any:
            raise OSError("no compiled file is read or written")

        def source_to_code(self, data: Any, path_: Any, *, _optimization: int = -1) -> types.CodeType:  # type: ignore[override]
            return recorder.compile_module(data, os.fspath(path_), path, name)

    Loader.__name__, Loader.__qualname__, Loader.__module__ = "SourceFileLoader", "SourceFileLoader", "importlib"
    return Loader(name, file)


def _put_calls_into(body: list[ast.stmt], prefix: str, path: str, module: str, known: list[RecordedFunction]) -> None:
    """Put calls into the functions that stand in a module or a class, also below conditions."""
    for node in body:
        if isinstance(node, ast.FunctionDef):
            if _may_be_recorded(node):
                name, line = prefix + node.name, min([node.lineno, *(one.lineno for one in node.decorator_list)])
                known.append(RecordedFunction(path, line, node.end_lineno or line, module, name))
                _put_calls(node, len(known) - 1)
        elif isinstance(node, ast.ClassDef):
            _put_calls_into(node.body, f"{prefix}{node.name}.", path, module, known)
        else:
            for inner in ("body", "orelse", "finalbody"):
                _put_calls_into(getattr(node, inner, []), prefix, path, module, known)
            for handler in getattr(node, "handlers", []):
                _put_calls_into(handler.body, prefix, path, module, known)


def _may_be_recorded(node: ast.FunctionDef) -> bool:
    if node.name.startswith("__") and node.name.endswith("__") and node.name not in _SPECIAL_METHODS:
        return False
    for decorator in node.decorator_list:
        if not _COMPILED_BY.isdisjoint(_list_words(decorator)) or "overload" in _list_words(decorator):
            return False
    return not any(isinstance(one, (ast.Yield, ast.YieldFrom, ast.Await)) for one in _walk_own(node))


def _list_words(node: ast.AST) -> set[str]:
    found = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            found.add(one.id)
        elif isinstance(one, ast.Attribute):
            found.add(one.attr)
    return found


def _walk_own(node: ast.FunctionDef) -> list[ast.AST]:
    """Return the nodes of a function without those of functions and classes inside it."""
    found: list[ast.AST] = []
    pending: list[ast.AST] = list(node.body)
    while pending:
        one = pending.pop()
        found.append(one)
        if not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            pending += ast.iter_child_nodes(one)
    return found


def _put_calls(node: ast.FunctionDef, number: int) -> None:
    has_words = isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
    words, body = (node.body[:1], node.body[1:]) if has_words else ([], node.body)
    place = (body or words)[0]
    for one in _walk_own(node):
        if isinstance(one, ast.Return):
            value = one.value or ast.copy_location(ast.Constant(None), one)
            one.value = _build_call(_CALL_ENDS, [value], one)
    begin = _build_call(_CALL_BEGINS, [ast.Constant(number), *_build_arguments(node.args)], place)
    last = (body or words)[-1]
    finish = ast.Expr(_build_call(_CALL_ENDS, [ast.Constant(None)], last))
    ends = isinstance(last, (ast.Return, ast.Raise))
    note = ast.Expr(_build_call(_CALL_RAISES, [], place))
    handler = ast.ExceptHandler(type=None, name=None, body=[note, ast.Raise()])
    attempt = ast.Try(body=[*body, *([] if ends else [finish])], handlers=[handler], orelse=[], finalbody=[])
    start = ast.Expr(begin)
    for statement in (start, finish, note, *handler.body, handler, attempt):
        ast.copy_location(statement, last if statement is finish else place)
        ast.fix_missing_locations(statement)
    node.body = [*words, start, attempt]


def _build_arguments(arguments: ast.arguments) -> list[ast.expr]:
    """Return a tuple of the positional arguments, and a dictionary of the named ones."""
    positional: list[ast.expr] = []
    for one in (*arguments.posonlyargs, *arguments.args):
        positional.append(ast.Name(one.arg, ast.Load()))
    if arguments.vararg:
        positional.append(ast.Starred(ast.Name(arguments.vararg.arg, ast.Load()), ast.Load()))
    keys: list[ast.expr | None] = []
    values: list[ast.expr] = []
    for one in arguments.kwonlyargs:
        keys.append(ast.Constant(one.arg))
        values.append(ast.Name(one.arg, ast.Load()))
    if arguments.kwarg:
        keys.append(None)
        values.append(ast.Name(arguments.kwarg.arg, ast.Load()))
    return [ast.Tuple(positional, ast.Load()), ast.Dict(keys, values)]


def _build_call(name: str, arguments: list[ast.expr], place: ast.AST) -> ast.Call:
    """Return a call of a constant, in whose place the function itself is put when the code is there."""
    call = ast.copy_location(ast.Call(ast.Constant(name), arguments, []), place)
    return ast.fix_missing_locations(call)


def _fill_constants(code: types.CodeType, given: dict[str, Any]) -> types.CodeType:
    constants = []
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            constants.append(_fill_constants(one, given))
        elif type(one) is str and one in given:
            constants.append(given[one])
        else:
            constants.append(one)
    return code.replace(co_consts=tuple(constants))


def _find_code(code: types.CodeType, name: str, line: int) -> types.CodeType | None:
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            if (one.co_name, one.co_firstlineno) == (name, line):
                return one
            if (found := _find_code(one, name, line)) is not None:
                return found
    return None
