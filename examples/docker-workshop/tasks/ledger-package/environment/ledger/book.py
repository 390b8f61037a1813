from decimal import Decimal


class Ledger:
    def __init__(self, postings=[]):
        self.postings = postings

    def post(self, date, entries):
        total = 0
        for account, amount in entries.items():
            self.postings.append((date, account, Decimal(amount)))
            total += Decimal(amount)
        if total != 0:
            raise ValueError(f"the amounts of {date} sum to {total}")

    def balance(self, account, until=None):
        total = Decimal(0)
        for date, name, amount in self.postings:
            if name.startswith(account) and (until is None or date < until):
                total += amount
        return total

    def accounts(self):
        return sorted(name for _, name, _ in self.postings)
