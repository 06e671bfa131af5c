from checks.cases import load_cases
from ledger import split_amount


def test_split_cases():
    for case in load_cases("split"):
        wanted = [int(share) for share in case["shares"].split()]
        assert split_amount(int(case["total"]), int(case["parts"])) == wanted
