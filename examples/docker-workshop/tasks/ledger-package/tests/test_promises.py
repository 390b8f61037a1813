from decimal import Decimal

import pytest
from ledger import Ledger, load


def test_sub_accounts_are_told_from_neighbours():
    ledger = Ledger()
    ledger.post("2024-01-01", {"assets": 1, "assets:bank": 2, "assets-old": 4, "income": -7})
    assert ledger.balance("assets") == 3


def test_the_last_day_counts():
    ledger = Ledger()
    ledger.post("2024-01-01", {"a": 1, "b": -1})
    ledger.post("2024-01-03", {"a": 1, "b": -1})
    assert [ledger.balance("a", until=f"2024-01-0{day}") for day in (1, 2, 3)] == [1, 1, 2]


def test_floats_are_refused_and_change_nothing():
    ledger = Ledger()
    with pytest.raises(TypeError):
        ledger.post("2024-01-01", {"a": Decimal(1), "b": -1.0})
    assert ledger.accounts() == []


def test_one_account_may_stand_twice_on_a_date():
    ledger = load(["# all of them", "2024-01-01 a 1", "2024-01-01 a 2", "  ", "2024-01-01 b -3 # three"])
    assert ledger.balance("a") == 3


def test_lines_of_one_date_need_not_be_neighbours():
    ledger = load(["2024-01-01 a 1", "2024-01-02 a 2", "2024-01-01 b -1", "2024-01-02 b -2"])
    assert ledger.balance("b") == -3
