"""A book of accounts."""

from ledger.money import split_amount


class Book:
    """Accounts with a balance each, in cents."""

    def __init__(self, *accounts):
        self._balances = dict.fromkeys(accounts, 0)

    def post(self, account, cents):
        """Add cents to an account."""
        if account not in self._balances:
            raise KeyError(account)
        self._balances[account] += cents

    def share(self, cents, accounts):
        """Post an amount to several accounts in equal shares."""
        parts = split_amount(cents, len(accounts))
        left = cents - sum(parts)
        for at, (account, part) in enumerate(zip(accounts, parts)):
            self.post(account, part + (at < left))

    def balance(self, account):
        """Return what an account holds."""
        return self._balances[account]

    def total(self):
        """Return what all accounts hold together."""
        return sum(self._balances.values())

    def accounts(self):
        """Return the names of all accounts, in order."""
        return sorted(self._balances)
