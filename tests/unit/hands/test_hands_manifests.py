import pytest

from orchestrator.errors import UsageProblem
from orchestrator.hands.deps.manifests import Manifests, read_manifests

PROJECT = """
[project]
dependencies = ["alpha>=1"]
optional-dependencies.dev = ["beta", "gamma"]
[dependency-groups]
test = ["delta", {include-group = "more"}]
more = ["epsilon"]
"""


async def read(entries: tuple[str, ...], **files: str) -> Manifests:
    named = {name.replace("__", "/"): text for name, text in files.items()}

    async def text(path: str) -> str | None:
        return named.get(path.replace(".", "_").replace("-", "_"))

    return await read_manifests(entries, text)


async def test_requirements_files_are_followed_to_those_that_they_name() -> None:
    files = {
        "requirements_txt": "alpha\n-r more/dev.txt\n",
        "more__dev_txt": "-c ../pins.txt\nbeta==2\n-r dev.txt\n",
        "pins_txt": "alpha==1\n",
    }
    found = await read(("requirements.txt",), **files)
    assert found.files == ["requirements.txt"]
    assert sorted(found.texts) == ["more/dev.txt", "pins.txt", "requirements.txt"]


async def test_a_project_gives_its_dependencies_and_the_groups_that_are_asked_for() -> None:
    assert (await read(("pyproject.toml",), pyproject_toml=PROJECT)).lines == ["alpha>=1"]
    found = await read(("pyproject.toml[dev, test]",), pyproject_toml=PROJECT)
    assert found.lines == ["alpha>=1", "beta", "gamma", "delta", "epsilon"]


async def test_a_lock_file_is_taken_with_its_package_file() -> None:
    found = await read(("web/package-lock.json",), web__package_lock_json="{}", web__package_json="{}")
    assert found.folders == ["web"]
    assert sorted(found.texts) == ["web/package-lock.json", "web/package.json"]
    assert not found.needs_python


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("setup.py", "are known"),
        ("requirements.txt[dev]", "are known"),
        ("requirements.txt", "there is no requirements.txt"),
        ("../requirements.txt", "leads out of the repository"),
        ("/etc/requirements.txt", "leads out of the repository"),
        ("package-lock.json", "there is no package-lock.json"),
        ("pyproject.toml[docs]", "the groups there are: dev, more, test"),
    ],
)
async def test_what_is_not_understood_is_refused_with_the_reason(entry: str, why: str) -> None:
    with pytest.raises(UsageProblem, match=why):
        await read((entry,), pyproject_toml=PROJECT)


@pytest.mark.parametrize(
    "line",
    [
        "-e .",
        ".",
        "./lib",
        "../lib",
        "--no-binary :all:",
        "git+https://example.invalid/x",
        "x @ git+ssh://h.test/x",
        ".[dev]",
    ],
)
async def test_what_would_have_to_be_built_is_refused(line: str) -> None:
    with pytest.raises(UsageProblem, match="wheels only"):
        await read(("requirements.txt",), requirements_txt=f"alpha\n{line}\n")


async def test_usual_lines_are_not_mistaken_for_builds() -> None:
    text = "# -e .\nalpha[x]>=1 ; python_version > '3'\n--only-binary :all:\n-i https://index.test/simple\nbeta @ https://h.test/b.whl\n"
    assert (await read(("requirements.txt",), requirements_txt=text)).needs_python
