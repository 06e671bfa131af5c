export PYTHONPATH=. PYTHONDONTWRITEBYTECODE=1
printed=$({python} - <<'END'
from pantry import Pantry

now = [4102444800.0]
pantry = Pantry(2, ttl=10, clock=lambda: now[0])
pantry.put("a", 1)
now[0] += 6
print(pantry.get("a"), pantry.get("a"))
now[0] += 4
print(pantry.get("a"), len(pantry))
now[0] += 1
print(pantry.get("a", "gone"), pantry.keys(), len(pantry))
pantry.put("a", 2)
now[0] += 10
print(pantry.get("a"))
for capacity in (0, -1):
    try:
        Pantry(capacity)
        print("no error")
    except ValueError:
        print("ValueError")
END
)
wanted="1 1
1 1
gone [] 0
2
ValueError
ValueError"
test "$printed" = "$wanted"
