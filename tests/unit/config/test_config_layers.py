"""Layers of configuration: who wins, where a value came from, and what a wrong key is told."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.config.layers import (
    get_defaults_path,
    get_user_config_path,
    iterate_leaf_values,
    load_config,
    merge_settings,
)
from orchestrator.config.model import Config
from orchestrator.config.roles import ROLE_NAMES, JudgeSettings
from orchestrator.config.toml_source import format_dotted_key, read_toml
from orchestrator.errors import UsageProblem


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def environ(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path / "xdg"), **more}


def user_file(tmp_path: Path, text: str) -> None:
    path = get_user_config_path(environ(tmp_path))
    path.parent.mkdir(parents=True)
    path.write_text(text)


def test_the_shipped_file_has_every_key_of_the_model() -> None:
    shipped = Config.model_validate(read_toml(get_defaults_path())).model_dump(mode="json", by_alias=True)
    written = {format_dotted_key(key) for key, _ in iterate_leaf_values(read_toml(get_defaults_path()))}
    unwritten = {format_dotted_key(key) for key, _ in iterate_leaf_values(shipped)} - written
    assert unwritten == {f"roles.{role}.description" for role in ROLE_NAMES}


def test_later_layers_win(tmp_path: Path, repository: Path) -> None:
    user_file(tmp_path, "[run]\nmax_workers = 2\nmax_attempts = 2\nmax_iterations = 2\n[plan]\nmax_depth = 2\n")
    (repository / "orchestrate.toml").write_text("[run]\nmax_workers = 3\nmax_attempts = 3\nmax_iterations = 3\n")
    variables = environ(tmp_path, ORCHESTRATE__RUN__MAX_WORKERS="4", ORCHESTRATE__RUN__MAX_ATTEMPTS="4")
    loaded = load_config(repository, {"run": {"max_workers": 5}}, environ=variables)
    run = loaded.config.run
    assert (run.max_workers, run.max_attempts, run.max_iterations, loaded.config.plan.max_depth) == (5, 4, 3, 2)
    origins = [loaded.origins[f"run.{key}"] for key in ("max_workers", "max_attempts", "max_iterations")]
    assert origins == ["flag", "environment", f"project {repository / 'orchestrate.toml'}:4"]
    assert loaded.origins["plan.max_rounds"].startswith("defaults ")


def test_a_variant_of_the_worker_inherits_what_it_leaves_out(tmp_path: Path) -> None:
    user_file(tmp_path, "[roles.worker]\nmodel = 'a'\nmax_turns = 9\n[roles.worker.variants.strong]\nmodel = 'b'\n")
    worker = load_config(None, environ=environ(tmp_path)).config.roles.worker
    assert (worker.get_variant("strong").model, worker.get_variant("strong").max_turns) == ("b", 9)
    assert worker.get_variant(None).model == "a"


def test_a_lens_inherits_what_it_leaves_out_even_if_that_is_set_later_and_is_written_down_without_it(
    tmp_path: Path,
) -> None:
    own = "[roles.judge.lenses.strict]\nview = 'codebase'\nmodel = 'b'\nmax_turns = 3\n"
    user_file(tmp_path, f"[roles.judge]\nmodel = 'a'\napi_base = 'http://a'\n{own}")
    judge = load_config(
        None, {"roles": {"judge": {"api_base": "http://c"}}}, environ=environ(tmp_path)
    ).config.roles.judge
    assert [(name, lens.view, lens.when) for name, lens in judge.active_lenses.items()] == [
        ("diff", "diff", "always"),
        ("code", "code", "flagged"),
        ("strict", "codebase", "always"),
    ]
    settings = [judge.get_lens_settings(name) for name in ("diff", "strict")]
    assert [(one.model, one.api_base, one.max_turns) for one in settings] == [
        ("a", "http://c", 8),
        ("b", "http://c", 3),
    ]
    assert judge.model_dump(mode="json")["lenses"]["strict"] == {
        "view": "codebase",
        "when": "always",
        "model": "b",
        "max_turns": 3,
    }


def test_a_run_that_began_before_there_were_lenses_has_the_one_on_the_diff(tmp_path: Path) -> None:
    judge = load_config(None, environ=environ(tmp_path)).config.roles.judge.model_dump() | {"lenses": {}}
    assert list(JudgeSettings.model_validate(judge).active_lenses) == ["diff"]


@pytest.mark.parametrize(
    ("lenses", "said"),
    [
        ("diff = {when = 'never'}", "one of the lenses has to be asked always"),
        ("diff = {view = 'whole'}", "roles.judge.lenses.diff.view"),
        ("mine = {model = 'x'}", "roles.judge.lenses.mine.view"),
        ("'a/b' = {view = 'diff'}", "should match pattern"),
    ],
)
def test_a_lens_that_cannot_be_asked_is_refused(tmp_path: Path, lenses: str, said: str) -> None:
    user_file(tmp_path, f"[roles.judge.lenses]\n{lenses}\n")
    with pytest.raises(UsageProblem, match=said):
        load_config(None, environ=environ(tmp_path))


def test_fallbacks_are_names_or_tables_and_take_the_rest_from_the_model_they_stand_in_for(
    tmp_path: Path,
) -> None:
    tables = "['b', {model = 'c', api_base = 'http://localhost:1/v1', api_key_env = 'K'}]"
    user_file(tmp_path, f"[roles.judge]\nmodel = 'a'\napi_base = 'http://a'\nmax_turns = 3\nfallbacks = {tables}\n")
    chain = load_config(None, environ=environ(tmp_path)).config.roles.judge.list_fallback_chain()
    assert [(model.model, model.api_base, model.api_key_env) for model in chain] == [
        ("a", "http://a", ""),
        ("b", "", ""),
        ("c", "http://localhost:1/v1", "K"),
    ]
    assert {model.max_turns for model in chain} == {3}


def test_a_provider_is_configured_by_its_key_whatever_stands_in_it(tmp_path: Path) -> None:
    user_file(tmp_path, '[providers."openai at http://localhost:8000/v1"]\nrpm = 5\npool = "team"\n')
    found = load_config(None, environ=environ(tmp_path)).config.providers
    settings = found["openai at http://localhost:8000/v1"]
    assert (settings.rpm, settings.pool, settings.concurrency) == (5, "team", 0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[run]\n\nmax_wokers = 3\n", ":3: unknown key run.max_wokers"),
        ("[run]\nmax_workers = 0\n", ":2: run.max_workers: Input should be greater than or equal to 1"),
        ("[gate]\nreport = 'xml'\n", ":2: gate.report: Input should be 'auto', 'junit'"),
        ("[[merge.regenerate]]\nfiles = ['!a']\ncommand = 'make a'\n", "'!a' is no glob of files"),
        (
            "[[merge.regenerate]]\nfiles = ['a']\ncommand = ' '\n",
            ":3: merge.regenerate[0].command: Input should be a text that is not blank",
        ),
        ("[gate\n", "orchestrate.toml: Expected ']'"),
        ("schema = 2\n", ":1: schema: Input should be less than or equal to 1"),
    ],
)
def test_a_wrong_key_or_value_is_told_with_file_and_line(
    tmp_path: Path, repository: Path, text: str, said: str
) -> None:
    (repository / "orchestrate.toml").write_text(text)
    with pytest.raises(UsageProblem) as problem:
        load_config(repository, environ=environ(tmp_path))
    assert said in str(problem.value)
    assert str(repository / "orchestrate.toml") in str(problem.value)


@pytest.mark.parametrize(
    "text",
    [
        "[hands]\nread_only = ['/']\n",
        "[budget]\nusd = 1000\n",
        "[budget.leaf]\nusd = 1000\n",
        "[prices.'openai/x']\ninput_usd_per_mtok = 0\noutput_usd_per_mtok = 0\n",
        "[run]\ntime_limit_s = 0\n",
        "[retry]\ntries = 99\n",
        "[roles.worker]\nmodel = 'x'\n",
        "[roles.worker]\nfallbacks = ['x']\n",
        "[providers.openai]\nrpm = 99\n",
        "[roles.judge]\napi_base = 'http://example.invalid'\n",
        "[roles.worker.variants.evil]\nmodel = 'x'\n",
        "[roles.judge.lenses.code]\nwhen = 'never'\n",
        "[state]\ndir = '/'\n",
        "[hands]\nask_tier = 3\n",
        "[hands.tiers]\nroot = 3\n",
        "[roles.planner]\ntier = 1\n",
        "[roles.worker]\ntier = 2\n",
    ],
)
def test_the_repository_may_not_decide_what_it_may_reach(tmp_path: Path, repository: Path, text: str) -> None:
    (repository / "orchestrate.toml").write_text(text)
    with pytest.raises(UsageProblem, match="--trust-project"):
        load_config(repository, environ=environ(tmp_path))
    load_config(repository, trust_project=True, environ=environ(tmp_path))


def test_the_repository_may_lower_a_tier(tmp_path: Path, repository: Path) -> None:
    user_file(tmp_path, "[roles.worker]\ntier = 2\n")
    (repository / "orchestrate.toml").write_text("[roles.worker]\ntier = 0\n")
    assert load_config(repository, environ=environ(tmp_path)).config.roles.worker.tier == 0


def test_the_repository_may_not_raise_a_tier_that_the_user_lowered(tmp_path: Path, repository: Path) -> None:
    user_file(tmp_path, "[roles.worker]\ntier = 0\n")
    (repository / "orchestrate.toml").write_text("[gate]\ncommand = 'make'\n[roles.worker]\ntier = 1\n")
    with pytest.raises(UsageProblem, match=r"orchestrate\.toml:4: roles\.worker\.tier may only be lowered"):
        load_config(repository, environ=environ(tmp_path))


def test_no_role_gets_the_whole_network(tmp_path: Path, repository: Path) -> None:
    with pytest.raises(UsageProblem, match="single tasks"):
        load_config(repository, {"roles": {"worker": {"tier": 3}}}, environ=environ(tmp_path))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[notify]\ncommand = 'x'\n", 2),
        ("[notify]\ndir = '/tmp'\n", 2),
        ("[tui.keys]\napprove = 'j'\n", 2),
        ("[policy]\nfile = '/tmp/p.toml'\n", 2),
        ("[pr]\npush = 'origin'\n", 2),
        ("[pr]\nforge = 'github'\n", 2),
        ("[pr]\nurl = 'https://evil.example'\n", 2),
        ("[pr]\nrepository = 'evil/repo'\n", 2),
        ("[pr]\ntoken_env = 'AWS_SECRET_ACCESS_KEY'\n", 2),
        ("[pr]\nprefix = 'x/'\nmerge = 'when-green'\n", 3),
        ("[[hooks]]\non = 'before_run'\nrun = 'a'\n[[hooks]]\non = 'after_run'\nrun = 'b'\ntrusted = true\n", 7),
    ],
)
def test_no_trust_lets_a_repository_act_as_the_user(tmp_path: Path, repository: Path, text: str, line: int) -> None:
    (repository / "orchestrate.toml").write_text(text)
    with pytest.raises(UsageProblem, match=rf"orchestrate\.toml:{line}: .* acts as you"):
        load_config(repository, trust_project=True, environ=environ(tmp_path))


@pytest.mark.parametrize(
    "url",
    [
        "http://api.github.com",
        "ftp://127.0.0.1",
        "https://",
        "https://user:word@api.github.com",
        "https://api.github.com?token=x",
        "api.github.com",
        "https://[x",
    ],
)
def test_a_token_is_not_sent_in_the_clear_nor_is_one_taken_from_a_url(tmp_path: Path, url: str) -> None:
    user_file(tmp_path, f"[pr]\nurl = '{url}'\n")
    with pytest.raises(UsageProblem, match=r"config\.toml:2: pr\.url: "):
        load_config(None, environ=environ(tmp_path))


def test_an_enterprise_servers_url_counts_without_its_last_slash(tmp_path: Path) -> None:
    user_file(tmp_path, "[pr]\nurl = 'https://git.example/api/v3/'\n")
    assert load_config(None, environ=environ(tmp_path)).config.pr.url == "https://git.example/api/v3"


def test_hooks_of_all_layers_add_up_once_each(tmp_path: Path, repository: Path) -> None:
    user_file(tmp_path, "[[hooks]]\non = 'before_run'\nrun = 'user'\ntrusted = true\n")
    (repository / "orchestrate.toml").write_text("[[hooks]]\non = ['after_tool']\nrun = 'project'\n")
    variables = environ(tmp_path, ORCHESTRATE__HOOKS='[{"on": "after_tool", "run": "variable"}]')
    flags = {"hooks": [{"on": "after_tool", "run": "project"}]}
    loaded = load_config(repository, flags, environ=variables)
    assert [hook.run for hook in loaded.config.hooks] == ["user", "project", "variable"]
    assert loaded.origins["hooks"].count(",") == 3
    again = merge_settings(loaded.config.model_dump(mode="json", by_alias=True), flags)
    assert [hook.run for hook in Config.model_validate(again).hooks] == ["user", "project", "variable"]


def criterion(name: str, text: str = "it holds") -> str:
    return f"[[contract]]\nid = '{name}'\ntext = '{text}'\n"


def test_criteria_of_all_layers_add_up_once_each(tmp_path: Path, repository: Path) -> None:
    user_file(tmp_path, criterion("docs"))
    (repository / "orchestrate.toml").write_text(criterion("docs") + "[[contract]]\nid = 'fast'\ncommand = './fast'\n")
    loaded = load_config(repository, {"contract": [{"id": "c1", "text": "x"}]}, environ=environ(tmp_path))
    assert [one.id for one in loaded.config.contract] == ["docs", "fast", "c1"]
    assert loaded.config.contract[1].build_criterion().text == "`./fast` exits 0"
    assert loaded.origins["contract"].count(",") == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (criterion("fast") + criterion("docs", "nothing"), r":5: contract\[1\]\.id: there is a criterion docs already"),
        (criterion("goal"), r":1: contract\[0\]: every contract has a criterion goal"),
        (criterion("Docs!"), r":2: contract\[0\]\.id"),
        ("[[contract]]\nid = 'empty'\n", r":1: contract\[0\]: the criterion empty says nothing"),
        (
            criterion("twice") + criterion("twice", "else"),
            r"orchestrate\.toml: contract: two criteria have the id twice",
        ),
        ("contract = []\n[[contract]]\nid = 'x'\n", "orchestrate.toml"),
    ],
)
def test_a_criterion_that_cannot_be_is_named_by_its_place(
    tmp_path: Path, repository: Path, text: str, said: str
) -> None:
    user_file(tmp_path, criterion("docs"))
    (repository / "orchestrate.toml").write_text(text)
    with pytest.raises(UsageProblem, match=said):
        load_config(repository, environ=environ(tmp_path))


def test_no_project_takes_back_what_its_user_asks_for(tmp_path: Path, repository: Path) -> None:
    user_file(tmp_path, criterion("docs"))
    (repository / "orchestrate.toml").write_text("contract = []\n")
    assert [one.id for one in load_config(repository, environ=environ(tmp_path)).config.contract] == ["docs"]


def test_a_wrong_hook_is_named_by_its_place_in_its_own_file(tmp_path: Path, repository: Path) -> None:
    user_file(tmp_path, "[[hooks]]\non = 'before_run'\nrun = 'user'\n")
    (repository / "orchestrate.toml").write_text("[[hooks]]\non = 'before_lunch'\nrun = 'x'\n")
    with pytest.raises(UsageProblem, match=r"orchestrate\.toml:2: hooks\[0\]\.on"):
        load_config(repository, environ=environ(tmp_path))


def test_nobody_can_be_notified_of_what_never_happens(tmp_path: Path) -> None:
    user_file(tmp_path, "[notify]\non = ['run.finished']\n")
    with pytest.raises(UsageProblem, match=r":2: notify.*run\.finished"):
        load_config(None, environ=environ(tmp_path))


def test_a_file_that_is_not_utf8_is_told(tmp_path: Path, repository: Path) -> None:
    (repository / "orchestrate.toml").write_bytes(b"# \xff\n")
    with pytest.raises(UsageProblem, match="not UTF-8"):
        load_config(repository, environ=environ(tmp_path))


def test_a_variable_that_names_no_key_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match=r"unknown key run\.speed"):
        load_config(None, environ=environ(tmp_path, ORCHESTRATE__RUN__SPEED="9"))


def test_a_pattern_to_redact_must_be_a_regular_expression(repository: Path) -> None:
    with pytest.raises(UsageProblem, match=r"redact\.patterns.*no regular expression"):
        load_config(repository, {"redact": {"patterns": ["corp-\\d+", "("]}}, environ={})


DEFAULT = "[roles.default]\nmodel = 'openai/m'\napi_base = 'http://localhost:1/v1'\napi_key_env = 'MY_KEY'\n"


def test_model_address_and_key_are_given_once_for_all_roles(tmp_path: Path) -> None:
    user_file(
        tmp_path, DEFAULT + "[roles.worker]\nmodel = 'openai/w'\n[roles.worker.variants.strong]\nmodel = 'openai/s'\n"
    )
    roles = load_config(None, environ=environ(tmp_path)).config.roles
    found = [
        roles.planner,
        roles.worker,
        roles.judge,
        roles.worker.variants["strong"],
        roles.judge.get_lens_settings("diff"),
    ]
    assert [one.model for one in found] == ["openai/m", "openai/w", "openai/m", "openai/s", "openai/m"]
    assert {(one.api_base, one.api_key_env) for one in found} == {("http://localhost:1/v1", "MY_KEY")}


def test_a_role_with_an_address_of_its_own_does_not_get_the_default_key(tmp_path: Path) -> None:
    user_file(tmp_path, DEFAULT + "[roles.judge]\napi_base = 'https://other.example/v1'\n")
    judge = load_config(None, environ=environ(tmp_path)).config.roles.judge
    assert (judge.api_base, judge.api_key_env) == ("https://other.example/v1", "")


def test_what_all_roles_take_can_still_be_changed_when_a_run_goes_on(tmp_path: Path) -> None:
    user_file(tmp_path, DEFAULT + "[roles.worker.variants.strong]\nmodel = 'openai/s'\n")
    recorded = load_config(None, environ=environ(tmp_path)).config.model_dump(mode="json", by_alias=True)
    changed = merge_settings(recorded, {"roles": {"default": {"api_base": "http://localhost:2/v1"}}})
    roles = Config.model_validate(changed).roles
    every = (roles.planner, roles.worker, roles.judge, roles.worker.variants["strong"])
    assert {role.api_base for role in every} == {"http://localhost:2/v1"}


@pytest.mark.parametrize("key", ["model", "api_base", "api_key_env"])
def test_a_project_may_not_say_where_all_roles_send_their_keys(tmp_path: Path, repository: Path, key: str) -> None:
    (repository / "orchestrate.toml").write_text(f"[roles.default]\n{key} = 'https://evil.example/v1'\n")
    with pytest.raises(UsageProblem, match=rf"roles\.default\.{key} may not be set by the repository"):
        load_config(repository, environ=environ(tmp_path))


@pytest.mark.parametrize("key", ["name", "email", "sign", "key", "co_author"])
def test_a_project_may_not_commit_or_sign_in_the_users_name(tmp_path: Path, repository: Path, key: str) -> None:
    (repository / "orchestrate.toml").write_text(f"[commits]\n{key} = 'ssh'\n")
    with pytest.raises(UsageProblem, match=rf"commits\.{key}"):
        load_config(repository, environ=environ(tmp_path), trust_project=True)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"roles": {"worker": {"temperature": float("inf")}}}, r"worker\.temperature: Input should be a finite number"),
        ({"run": {"time_limit_s": "nan"}}, r"run\.time_limit_s: Input should be a finite number"),
        ({"run": {"time_limit_s": 1e300}}, r"run\.time_limit_s: Input should be less than or equal to"),
        ({"hands": {"uid": 10**25}}, r"hands\.uid: Input should be less than"),
        ({"budget": {"usd": 1e300}}, r"budget\.usd: Input should be less than or equal to 1000000000000"),
        ({"gc": {"keep_days": 10**9}}, r"gc\.keep_days: Input should be less than or equal to 36500"),
    ],
)
def test_numbers_without_an_end_or_a_sense_are_refused(flags: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageProblem, match=said):
        load_config(None, flags, environ={})


@pytest.mark.parametrize(
    "said", ["Ada", "<ada@x.invalid>", "A <a b@x>", "Ada <a@x>\nSigned-off-by: E <e@x>", " A <a@x>"]
)
def test_a_co_author_is_a_name_with_an_address_on_one_line(said: str) -> None:
    with pytest.raises(UsageProblem, match="names no co-author"):
        load_config(None, {"commits": {"co_author": said}})
    assert load_config(None, {"commits": {"co_author": "Ada L. <a@x.invalid>"}}).config.commits.co_author
