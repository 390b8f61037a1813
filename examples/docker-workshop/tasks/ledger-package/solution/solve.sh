#!/bin/bash
set -euo pipefail

cat > /app/ledger/book.py <<'END'
from decimal import Decimal


class Ledger:
    def __init__(self, postings=None):
        self.postings = [] if postings is None else list(postings)

    def post(self, date, entries):
        self.post_all(date, list(entries.items()))

    def post_all(self, date, entries):
        rows = [(date, account, _amount(amount)) for account, amount in entries]
        total = sum(amount for _, _, amount in rows)
        if total != 0:
            raise ValueError(f"the amounts of {date} sum to {total}")
        self.postings.extend(rows)

    def balance(self, account, until=None):
        total = Decimal(0)
        for date, name, amount in self.postings:
            is_within = name == account or name.startswith(f"{account}:")
            if is_within and (until is None or date <= until):
                total += amount
        return total

    def accounts(self):
        return sorted({name for _, name, _ in self.postings})


def _amount(value):
    if isinstance(value, float):
        raise TypeError("amounts are never floats")
    return Decimal(value)
END
cat > /app/ledger/reader.py <<'END'
from ledger.book import Ledger


def load(lines):
    postings = {}
    for line in lines:
        words = line.split("#")[0].split()
        if words:
            date, account, amount = words
            postings.setdefault(date, []).append((account, amount))
    ledger = Ledger()
    for date, entries in postings.items():
        ledger.post_all(date, entries)
    return ledger
END
python3 -m pytest -q -p no:cacheprovider
