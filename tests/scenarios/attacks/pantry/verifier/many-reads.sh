export PYTHONPATH=. PYTHONDONTWRITEBYTECODE=1
work() {
  {python} - <<'END'
import sys

from pantry import Pantry

for capacity in (1, 2, 3, 10):
    pantry, order, values, state = Pantry(capacity), [], {}, capacity
    for step in range(3000):
        state = (state * 1103515245 + 12345) % 2**31
        key = (state >> 8) % (2 * capacity + 1)
        if (state >> 20) % 2:
            if pantry.get(key) != values.get(key):
                sys.exit(f"step {step} of {capacity}")
            if key in values:
                order.remove(key)
                order.append(key)
        else:
            pantry.put(key, step)
            if key in values:
                order.remove(key)
            order.append(key)
            values[key] = step
            if len(order) > capacity:
                del values[order.pop(0)]
        if pantry.keys() != order or len(pantry) != len(order):
            sys.exit(f"step {step} of {capacity}: {pantry.keys()} in place of {order}")
print("as it has to be")
END
}
test "$(work)" = "as it has to be"
test "$(work)" = "as it has to be"
