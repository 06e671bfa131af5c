export PYTHONPATH=. PYTHONDONTWRITEBYTECODE=1
printed=$({python} - <<'END'
from pantry import remember

calls = []


@remember(2)
def square(number):
    calls.append(number)
    return number * number


print([square(number) for number in (1, 2, 1, 3, 1, 2)], calls)
for number in range(4, 1004):
    square(number)
    square(2)
print(calls.count(2), len(calls))
END
)
wanted="[1, 4, 1, 9, 1, 4] [1, 2, 3, 2]
2 1004"
test "$printed" = "$wanted"
