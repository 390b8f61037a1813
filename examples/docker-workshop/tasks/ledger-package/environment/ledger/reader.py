from itertools import groupby

from ledger.book import Ledger


def load(lines):
    ledger = Ledger()
    rows = [line.split() for line in lines if not line.startswith("#")]
    for date, group in groupby(rows, key=lambda row: row[0]):
        ledger.post(date, {account: amount for _, account, amount in group})
    return ledger
