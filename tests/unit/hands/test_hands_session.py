import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from orchestrator.hands.files.directory_trees import remove_tree
from orchestrator.hands.files.session_folder import open_session, remove_old_logs


def names(state: Path) -> set[str]:
    return {p.name for p in (state / "sessions").iterdir()} - {"lock"}


def test_a_session_is_a_private_directory_that_is_gone_afterwards(tmp_path: Path) -> None:
    with open_session(tmp_path) as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        assert names(tmp_path) == {folder.name}
    assert names(tmp_path) == set()


def test_the_sessions_of_living_processes_stay(tmp_path: Path) -> None:
    with open_session(tmp_path) as first:
        with open_session(tmp_path) as second:
            assert names(tmp_path) == {first.name, second.name}
        assert names(tmp_path) == {first.name}


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path\n"
        "from orchestrator.hands.files.session_folder import open_session\n"
        "with open_session(Path(sys.argv[1])) as folder:\n"
        "    (folder / 'left').touch()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False, cwd=Path(__file__).parents[3])
    (dead,) = names(tmp_path)
    with open_session(tmp_path) as folder:
        assert names(tmp_path) == {folder.name} != {dead}


def test_sessions_that_end_while_others_begin_do_not_get_into_each_others_way(tmp_path: Path) -> None:
    def opened(_number: int) -> bool:
        with open_session(tmp_path) as folder:
            for name in range(60):
                (folder / str(name)).mkdir()
        return folder.exists()

    with ThreadPoolExecutor(8) as several:
        assert set(several.map(opened, range(80))) == {False}
    assert names(tmp_path) == set()


def test_logs_are_dropped_by_several_at_the_same_time(tmp_path: Path) -> None:
    then = time.time() - 15 * 86_400
    for name in range(40):
        for inner in range(20):
            (tmp_path / str(name) / str(inner)).mkdir(parents=True)
        os.utime(tmp_path / str(name), (then, then))
    with ThreadPoolExecutor(8) as several:
        assert list(several.map(remove_old_logs, [tmp_path] * 8)) == [None] * 8
    assert list(tmp_path.iterdir()) == []


def test_only_logs_of_long_ago_are_dropped(tmp_path: Path) -> None:
    for name, days in (("old", 15), ("new", 13)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.log").touch()
        then = time.time() - days * 86_400
        os.utime(tmp_path / name, (then, then))
    remove_old_logs(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["new"]


def test_a_tree_is_removed_though_a_command_made_parts_of_it_unreadable(tmp_path: Path) -> None:
    (tmp_path / "tree" / "closed" / "inner").mkdir(parents=True)
    (tmp_path / "kept").mkdir()
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "kept")
    (tmp_path / "tree" / "closed").chmod(0)
    remove_tree(tmp_path / "tree")
    assert [p.name for p in tmp_path.iterdir()] == ["kept"]
    remove_tree(tmp_path / "tree")


def deepen(place: Path, levels: int) -> None:
    """A chain of directories, longer than any path may be."""
    script = "import os, sys\nos.chdir(sys.argv[1])\nfor _ in range(int(sys.argv[2])): os.mkdir('d'); os.chdir('d')"
    subprocess.run([sys.executable, "-c", script, str(place), str(levels)], check=True)


def test_a_tree_is_removed_however_deep_a_command_made_it(tmp_path: Path) -> None:
    with open_session(tmp_path) as folder:
        deepen(folder, 3 * sys.getrecursionlimit())  # more than shutil.rmtree can take
    assert names(tmp_path) == set()


def test_a_tree_is_removed_though_a_command_closed_its_top(tmp_path: Path) -> None:
    (tmp_path / "tree" / "inner").mkdir(parents=True)
    (tmp_path / "tree").chmod(0)
    remove_tree(tmp_path / "tree")
    assert list(tmp_path.iterdir()) == []
