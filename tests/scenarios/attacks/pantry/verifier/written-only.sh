export PYTHONPATH=. PYTHONDONTWRITEBYTECODE=1
printed=$({python} - <<'END'
import gc
import weakref

from pantry import Pantry


class Thing:
    pass


pantry = Pantry(2)
for number in range(5):
    pantry.put(number, number)
print(pantry.keys(), len(pantry), pantry.get(0), pantry.get(0, "none"))
pantry.put(3, "three")
print(pantry.keys(), pantry.get(3))
key, value = Thing(), Thing()
held = weakref.ref(key), weakref.ref(value)
pantry.put(key, value)
print(pantry.get(key) is value)
del key, value
pantry.put("a", 1)
pantry.put("b", 2)
gc.collect()
print(held[0](), held[1](), pantry.keys())
END
)
wanted="[3, 4] 2 None none
[4, 3] three
True
None None ['a', 'b']"
test "$printed" = "$wanted"
