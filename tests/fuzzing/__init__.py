"""Feed odd input to every way in: `python -m tests.fuzzing --minutes 30 --seed N [TARGET…]`.

A target makes its cases by grammar and by changing valid ones; a case depends on the seed and its number alone. Each
runs in a process of its own with bounds of time and memory. What fails is made smaller and written down as one file.
"""
