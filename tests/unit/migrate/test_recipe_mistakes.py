"""What a wrong recipe is told: the file, the line, the key, and what is allowed there."""

from pathlib import Path

import pytest

from orchestrator.errors import UsageProblem
from orchestrator.migrate.recipe import load_recipe

RIGHT = """\
schema = 1
[migration]
id = "x"
[scope]
include = ["*.py"]
[[scope.site]]
id = "s"
pattern = "a"
[env]
network = "deny"
[shard]
by = ["owner"]
[sample]
files = 2
[[step]]
id = "a"
run = "tool {files}"
[verify]
report = "auto"
[[verify.check]]
id = "t"
run = "test"
[[invariant]]
kind = "tests-not-lost"
[judge]
diff_review = "rules"
[merge]
group_pr = "all"
[stop]
same_signature = 3
"""


def told(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "r.toml"
    path.write_text(text)
    with pytest.raises(UsageProblem) as raised:
        load_recipe(path)
    return [line.removeprefix(f"{tmp_path}/") for line in str(raised.value).splitlines()]


@pytest.mark.parametrize(
    ("line", "wrong", "said"),
    [
        (1, "schema = 2", "schema: Input should be 1"),
        (1, "shema = 1", "unknown key shema; did you mean schema? Known here: schema, migration, scope, env, shard,"),
        (3, 'id = "Not A Name"', "migration.id: Input should be lower-case letters, digits and hyphens"),
        (3, 'deadline = "tomorrow"', "migration.deadline: Input should be a date such as 2026-12-31"),
        (5, 'include = "*.py"', "scope.include: Input should be a list […] of 1 or more, each a text in quotes"),
        (5, "include = []", "scope.include: Input should be a list […] of 1 or more"),
        (5, 'include = ["*.py", "[z-a]"]', "scope.include[1]: '[z-a]' is no glob as in .gitignore: "),
        (5, "include = [1]", "scope.include[0]: Input should be a text in quotes"),
        (8, 'patern = "a"', "unknown key scope.site[0].patern; did you mean pattern? Known here: id, engine, pattern,"),
        (8, 'pattern = "("', "scope.site[0].pattern: no regular expression"),
        (8, f'pattern = "{"(" * 5_000}"', "scope.site[0].pattern: no regular expression: it is nested too deeply"),
        (8, f'pattern = "a{{{"9" * 30}}}"', "scope.site[0].pattern: no regular expression: the repetition number"),
        (8, 'engine = "grep"', "scope.site[0].engine: Input should be 'regex', 'ast-grep' or 'command'"),
        (8, 'engine = "command"', "scope.site[0]: engine = 'command' needs run"),
        (10, 'network = "off"', "env.network: Input should be 'deny' or 'allow'"),
        (10, 'vars = ["A=1"]', "env.vars: Input should be a table"),
        (
            12,
            'by = ["team"]',
            "shard.by[0]: Input should be 'file', 'directory', 'owner', 'import-cluster' or 'command'",
        ),
        (12, "max_files = 0", "shard.max_files: Input should be greater than or equal to 1"),
        (12, 'max_files = "many"', "shard.max_files: Input should be a whole number greater than or equal to 1"),
        (14, 'pick = "best"', "sample.pick: Input should be 'stratified', 'random' or 'list'"),
        (14, "min_pass = 80", "sample.min_pass: Input should be less than or equal to 1"),
        (17, 'rnu = "tool {files}"', "unknown key step[0].rnu; did you mean run? Known here: id, kind, when,"),
        (17, 'run = "tool"', "step[0].run: run does not say where the files go: write {files} in it"),
        (17, 'kind = "codemod"', "step[0].kind: Input should be 'command', 'rewrite', 'llm' or 'human'"),
        (17, 'when = "error"', "step[0].when: Input should be 'always', 'sites', 'sites-left' or 'failed'"),
        (17, 'must_parse = "perhaps"', "step[0].must_parse: Input should be true or false"),
        (17, 'timeout_s = "long"', "step[0].timeout_s: Input should be a number greater than 0"),
        (19, 'report = "xml"', "verify.report: Input should be 'auto', 'junit', 'tap', 'pytest-rA', 'unittest'"),
        (19, 'policy = "green"', "verify.policy: Input should be 'no-new-failures', 'all-green' or 'same-outcomes'"),
        (22, 'run = " "', "verify.check[0].run: Input should be a text that is not blank"),
        (22, 'level = "commit"', "verify.check[0].level: Input should be 'step', 'shard', 'queue' or 'final'"),
        (24, 'kind = "green"', "invariant[0].kind: Input should be 'sites-at-most', 'sites-at-least',"),
        (24, 'kind = "max-diff"', "invariant[0]: kind = 'max-diff' needs lines"),
        (26, 'diff_review = "deep"', "judge.diff_review: Input should be 'none', 'rules' or 'llm'"),
        (28, 'group_pr = "team"', "merge.group_pr: Input should be 'shard', 'owner', 'directory' or 'all'"),
        (30, "same_signature = -1", "stop.same_signature: Input should be greater than or equal to 0"),
        (30, "same_signatur = 1", "unknown key stop.same_signatur; did you mean same_signature? Known here:"),
    ],
)
def test_a_mistake_is_told_with_its_line_its_key_and_what_is_allowed(
    tmp_path: Path, line: int, wrong: str, said: str
) -> None:
    lines = RIGHT.splitlines()
    lines[line - 1] = wrong
    told_lines = told(tmp_path, "\n".join(lines))
    of_tables = (line, *(line - back for back in (1, 2)))  # what a whole table lacks is told at its header
    assert any(one.startswith(tuple(f"r.toml:{n}: {said}" for n in of_tables)) for one in told_lines), told_lines


def test_mistakes_are_told_in_the_order_of_the_file_and_none_twice(tmp_path: Path) -> None:
    text = RIGHT.replace('id = "a"', 'id = "A B"').replace('id = "t"', "id = 5").replace("files = 2", "files = -2")
    lines = told(tmp_path, text)
    assert [line.split(": ")[1] for line in lines] == ["sample.files", "step[0].id", "verify.check[0].id"]


def test_what_is_missing_is_told_with_what_it_is(tmp_path: Path) -> None:
    assert "r.toml:6: scope.site[0].id is missing; it is lower-case letters, digits and hyphens" in told(
        tmp_path, RIGHT.replace('id = "s"\n', "")
    )


@pytest.mark.parametrize(
    ("line", "old", "new", "said"),
    [
        (
            8,
            'pattern = "a"',
            'pattern = "a"\n[[scope.site]]\nid = "s"\npattern = "b"',
            "scope.site[1].id: 's' is there",
        ),
        (
            17,
            'run = "tool {files}"',
            'when = "failed"\nrun = "tool {files}"',
            "step[0].when: 'failed' takes nothing here",
        ),
        (22, 'run = "test"', 'run = "test"\n[[verify.check]]\nid = "t"\nrun = "x"', "verify.check[1].id: 't' is there"),
        (
            24,
            'kind = "tests-not-lost"',
            'kind = "sites-at-most"\nsite = "z"',
            "invariant[0].site: there is no scope.site",
        ),
        (26, '"rules"', '"llm"', "judge.diff_review: 'llm' reviews what models write"),
        (
            17,
            'run = "tool {files}"',
            'kind = "human"\n[[step]]\nid = "b"\nrun = "x {files}"',
            "step[0].kind: 'human' is",
        ),
    ],
)
def test_what_does_not_go_together_is_told_at_the_line_of_the_key(
    tmp_path: Path, line: int, old: str, new: str, said: str
) -> None:
    assert RIGHT.splitlines()[line - 1].endswith(old)
    (one,) = told(tmp_path, RIGHT.replace(old, new))
    assert one.split(": ", 1)[1].startswith(said)
    number = int(one.split(":")[1])
    assert said.split(":")[0].rpartition(".")[2] in RIGHT.replace(old, new).splitlines()[number - 1]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('pattern = "a"', 'pattern = "a"\nlanguage = "python"', "r.toml:9: scope.site[0].language: goes with engine ="),
        ('pattern = "a"', 'pattern = "a"\nrun = "grep a"', "r.toml:9: scope.site[0].run: goes with engine = 'command'"),
        ('by = ["owner"]', 'by = ["owner"]\nrun = "x"', "r.toml:13: shard.run: goes with by ="),
        ("files = 2", 'files = 2\npaths = ["a.py"]', "r.toml:15: sample.paths: goes with pick = 'list'"),
        (
            'run = "test"',
            'run = "test"\nselect = "x"',
            "r.toml:23: verify.check[0].select: goes with tests = 'command'",
        ),
        ('group_pr = "all"', 'title = "{shard.nam}"', "r.toml:28: merge.title: {shard.nam} stands for nothing"),
    ],
)
def test_a_key_that_would_do_nothing_is_a_mistake(tmp_path: Path, old: str, new: str, said: str) -> None:
    (one,) = told(tmp_path, RIGHT.replace(old, new))
    assert one.startswith(said)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('run = "tool {files}"', 'run = "x {files}"\nreads = ["!"]', "r.toml:18: step[0].reads[0]: '!' is no glob"),
        ("tests-not-lost", 'paths-only"\npaths = ["a", "[z-a]"]#', "r.toml:25: invariant[0].paths[1]: '[z-a]' is no"),
        ('run = "tool {files}"', 'kind = "human"\nper = "file"\nreads = ["x"]', "r.toml:19: step[0].reads: kind = 'h"),
        ('run = "tool {files}"', 'run = "x {files}"\non_signature = "x"', "r.toml:18: step[0].on_signature: it goes"),
        ('run = "tool {files}"', 'kind = "llm"\ncontext = ["{fil}"]', "r.toml:18: step[0].context[0]: '{fil}' is"),
    ],
)
def test_a_value_that_cannot_be_used_is_told_at_its_own_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    (one,) = told(tmp_path, RIGHT.replace(old, new))
    assert one.startswith(said)


@pytest.mark.parametrize("rewrite", [r"\2", r"\g<name>", r"\g<"])
def test_a_replacement_that_the_pattern_has_no_group_for_is_told_before_anything_runs(
    tmp_path: Path, rewrite: str
) -> None:
    step = f"kind = 'rewrite'\npattern = '(a)'\nrewrite = '{rewrite}'"
    (one,) = told(tmp_path, RIGHT.replace('run = "tool {files}"', step))
    assert one.startswith("r.toml:19: step[0].rewrite: rewrite does not fit the pattern: ")


@pytest.mark.parametrize(
    ("after", "key"),
    [('pattern = "a"', "weight"), ("files = 2", "growth"), ('run = "tool {files}"', "timeout_s"), ("[stop]", "wall_s")],
)
def test_a_number_without_end_is_refused_where_it_stands(tmp_path: Path, after: str, key: str) -> None:
    (tmp_path / "recipe.toml").write_text(RIGHT.replace(after, f"{after}\n{key} = inf"))
    with pytest.raises(UsageProblem, match=rf"recipe\.toml:\d+: \S*{key}: .*finite number"):
        load_recipe(tmp_path / "recipe.toml")
