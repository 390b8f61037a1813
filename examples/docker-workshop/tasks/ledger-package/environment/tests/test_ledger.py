from decimal import Decimal

import pytest
from ledger import Ledger, load


def test_balances():
    ledger = Ledger()
    ledger.post("2024-01-01", {"assets:bank": "10.10", "income": "-10.10"})
    ledger.post("2024-01-02", {"assets:cash": 5, "assets:bank": -5})
    assert ledger.balance("assets") == Decimal("10.10")
    assert ledger.balance("assets:bank", until="2024-01-02") == Decimal("5.10")
    assert ledger.accounts() == ["assets:bank", "assets:cash", "income"]


def test_ledgers_are_independent():
    Ledger().post("2024-01-01", {"a": 1, "b": -1})
    assert Ledger().accounts() == []


def test_a_refused_posting_changes_nothing():
    ledger = Ledger()
    with pytest.raises(ValueError):
        ledger.post("2024-01-01", {"a": 1, "b": 1})
    assert ledger.accounts() == []


def test_load():
    ledger = load(["2024-01-01 a 1.50", "", "2024-01-01 b -1.50  # a note"])
    assert ledger.balance("a") == Decimal("1.50")
