export PYTHONPATH=. PYTHONDONTWRITEBYTECODE=1
printed=$({python} - <<'END'
from pantry import Pantry

pantry = Pantry(3)
for key in "abc":
    pantry.put(key, key.upper())
print(pantry.get("a"), pantry.keys())
pantry.put("d", "D")
print(pantry.keys(), pantry.get("b"), pantry.get("b", "none"))
print(pantry.get("c"), pantry.get("c"), pantry.keys())
pantry.put("e", None)
print(pantry.keys(), pantry.get("a", "none"))
print(pantry.get("d"), pantry.get("e", "none"), pantry.keys(), len(pantry))
END
)
wanted="A ['b', 'c', 'a']
['c', 'a', 'd'] None none
C C ['a', 'd', 'c']
['d', 'c', 'e'] none
D None ['c', 'd', 'e'] 3"
test "$printed" = "$wanted"
