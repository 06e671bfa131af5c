from till.clock import wait


def test_wait():
    waited = []
    assert wait(0.05, waited.append) == 0.05
    assert waited == [0.05]
