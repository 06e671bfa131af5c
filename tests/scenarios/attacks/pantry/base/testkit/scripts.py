"""Scripts of what is done to a pantry: testkit/scripts/*.txt, a step in each line."""

from pathlib import Path

from pantry import Pantry

SCRIPTS = Path(__file__).parent / "scripts"


def play(name):
    """Do what a script says; return what it got and what it wanted, as lists."""
    got, wanted = [], []
    pantry = None
    for line in (SCRIPTS / f"{name}.txt").read_text().splitlines():
        word, *rest = line.split()
        if word == "pantry":
            pantry = Pantry(int(rest[0]))
        elif word == "put":
            pantry.put(rest[0], rest[1])
        elif word == "get":
            got.append(str(pantry.get(rest[0])))
            wanted.append(rest[1])
    return got, wanted
