"""Lines of shell before a check that let its test runners tell the outcome of each test, whoever starts them.

Runners take options from variables: pytest and go for all, node for a script that is loaded first. Such a script adds
an option to the command line of jest and vitest, where that says nothing of its own. `cargo test` takes none, so a
function of the shell leaves `--quiet` out: with it nothing is named but tests that fail.
"""

import re

from orchestrator.domain.judging.check import CheckSpec, ReportFormat
from orchestrator.domain.text.lazy_pattern import compile_lazily

_OWN_REPORT = compile_lazily(r"""--junit-?xml(?:=|\s+)(?P<quote>["']?)(?P<path>[\w./${}~+@%:-]+)(?P=quote)""", re.ASCII)
_PYTEST_FILES = "pytest.ini .pytest.ini pyproject.toml tox.ini setup.cfg"
_PYTEST_OPTION = 'export PYTEST_ADDOPTS="${{PYTEST_ADDOPTS:-}} --junitxml=${variable}"\n'
_FIND_OWN_REPORT = r"""
pytest_settings='/^ *addopts/,/^(\[|[A-Za-z_.-]+ *=)/s/^[^#]*--junit-?xml["'"'"']?[=, ]+["'"'"']?([^]"'"'"' ,]+).*/\1/p'
own_report=$(sed -nE "$pytest_settings" {files} 2>/dev/null | tail -n 1)
"""
_COPY_OWN_REPORT = """\
report_folder=$PWD
: >"${variable}.begun"
copy_own_report() {{
  for own_place in "{own}" "$report_folder/{own}"; do
    if [ ! -s "${variable}" ] && [ "$own_place" -nt "${variable}.begun" ]; then cat <"$own_place" >"${variable}"; fi
  done
}}
trap copy_own_report EXIT
"""
_GO_OPTION = 'export GOFLAGS="${GOFLAGS:+$GOFLAGS }-v"\n'
_CARGO = compile_lazily(r"(?<![\w./-])cargo(?: \+\S+)? (?:test|t)(?= )")
_CARGO_FUNCTION = """\
cargo() {
  case "${1-} ${2-}" in "test "*|"t "*|+*" test"|+*" t")
    cargo_words=$#
    while [ "$cargo_words" -gt 0 ]; do
      case $1 in -q|--quiet) ;; *) set -- "$@" "$1" ;; esac
      shift
      cargo_words=$((cargo_words - 1))
    done
    unset cargo_words
  esac
  command cargo "$@"
}
"""
_NODE_SCRIPT = r"""
const { readdirSync, readFileSync } = require("fs");
const words = process.argv.slice(2);
const has = (...names) => words.some((word) => names.some((name) => word === name || word.startsWith(name + "=")));
const configures = (files, setting) =>
  readdirSync(".").some((file) => files.test(file) && setting.test(readFileSync(file, "utf8")));
const own = `--require ${__filename}`;
const runner = (process.argv[1] || "").match(/node_modules[\\/](?:.*[\\/])?(jest|vitest)(?:\.m?js)?$/);
try {
  if (runner) process.env.NODE_OPTIONS = process.env.NODE_OPTIONS.replace(own, "").trim();
  if (!runner || !require("worker_threads").isMainThread) {
  } else if (runner[1] === "jest" && !has("--verbose", "--no-verbose", "--json", "--reporters", "--listTests")) {
    process.argv.splice(2, 0, "--verbose");
  } else if (runner[1] === "vitest" && !/^(bench|list|init)$/.test(words[0]) && !has("--reporter", "--outputFile")
      && !configures(/^vite(st)?\.(config|workspace)\./, /\breporters?\b|\boutputFile\b/)) {
    process.argv.push("--reporter=verbose");
  }
} catch {}
"""
_NODE_OPTION = f"""\
node_folder=$(mktemp -d); node_script=$node_folder/${{node_folder##*.}}.cjs; cat >"$node_script" <<'END_OF_SCRIPT'
{_NODE_SCRIPT.strip()}
END_OF_SCRIPT
export NODE_OPTIONS="${{NODE_OPTIONS:+$NODE_OPTIONS }}--require $node_script"
unset node_folder node_script
"""
_READS_JUNIT = frozenset({ReportFormat.AUTO, ReportFormat.JUNIT})
_READS_GO = frozenset({ReportFormat.AUTO, ReportFormat.GO})
_READS_CARGO = frozenset({ReportFormat.AUTO, ReportFormat.CARGO})
_READS_NODE = frozenset({ReportFormat.AUTO, ReportFormat.JEST, ReportFormat.VITEST})


def build_runner_options(spec: CheckSpec, report_variable: str) -> str:
    """Return the lines to put before a check's command; `report_variable` holds where its report is to be.

    A report that pytest writes for the user, by the command or by its settings, stays where it is and is copied at the
    end. What is written before the command begins does not count.
    """
    lines = ""
    if spec.report in _READS_JUNIT:
        lines += _build_pytest_lines(spec.run, report_variable)
    if spec.report in _READS_GO:
        lines += _GO_OPTION
    if spec.report in _READS_NODE:
        lines += _NODE_OPTION
    if spec.report in _READS_CARGO and _CARGO.search(spec.run):
        lines += _CARGO_FUNCTION
    return lines


def _build_pytest_lines(run: str, variable: str) -> str:
    option = _PYTEST_OPTION.format(variable=variable)
    if match := _OWN_REPORT.search(run):
        return _COPY_OWN_REPORT.format(variable=variable, own=match["path"]) + option
    copy = _COPY_OWN_REPORT.format(variable=variable, own="$own_report")
    find = _FIND_OWN_REPORT.format(files=_PYTEST_FILES)
    return f'{find.lstrip()}if [ -z "$own_report" ]; then\n{option}else\n{copy}fi\n'
