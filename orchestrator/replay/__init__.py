"""Running a run again from its journal: the recorded order, the recorded answers, and what differs from them."""
