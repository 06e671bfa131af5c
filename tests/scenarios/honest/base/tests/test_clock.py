from till.clock import wait


def test_wait():
    assert wait(0.05) == 0.05
