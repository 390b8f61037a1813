import importlib

import pytest

DAYS = ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"]


@pytest.fixture
def parse(monkeypatch):
    monkeypatch.syspath_prepend("/app")
    return importlib.import_module("hours").parse


def week(**days):
    return {day: days.get(day, []) for day in DAYS}


def test_a_range_of_days(parse):
    assert parse("Mo-We 09:00-17:30") == week(Mo=[(540, 1050)], Tu=[(540, 1050)], We=[(540, 1050)])


def test_rules_and_lists(parse):
    assert parse("Mo,We 08:00-09:00; Sa 10:00-14:00") == week(Mo=[(480, 540)], We=[(480, 540)], Sa=[(600, 840)])


def test_a_range_over_the_end_of_the_week(parse):
    assert parse("Sa-Mo 10:00-11:00") == week(Sa=[(600, 660)], Su=[(600, 660)], Mo=[(600, 660)])


def test_times_are_sorted_and_joined(parse):
    assert parse("Mo 13:00-17:00,09:00-12:00,12:00-12:30,16:00-18:00") == week(Mo=[(540, 750), (780, 1080)])


def test_after_midnight(parse):
    assert parse("Fr 22:00-02:00") == week(Fr=[(1320, 1440)], Sa=[(0, 120)])
    assert parse("Su 22:00-02:00") == week(Su=[(1320, 1440)], Mo=[(0, 120)])


def test_the_whole_day(parse):
    assert parse("Mo 00:00-24:00") == week(Mo=[(0, 1440)])


def test_later_rules_win(parse):
    assert parse("Mo-Su 09:00-17:00; Tu 10:00-11:00; Su off") == {
        **{day: [(540, 1020)] for day in DAYS},
        "Tu": [(600, 660)],
        "Su": [],
    }


def test_a_night_reaches_into_a_day_with_a_later_rule(parse):
    assert parse("Fr 20:00-03:00; Sa 10:00-12:00") == week(Fr=[(1200, 1440)], Sa=[(0, 180), (600, 720)])


@pytest.mark.parametrize(
    "text", ["", "Mo", "Mo 9-17", "Xx 09:00-10:00", "Mo 09:00-25:00", "Mo 09:60-10:00", "09:00-10:00", "Mo 09:00-10:00;"]
)
def test_what_is_wrong_is_refused(parse, text):
    with pytest.raises(ValueError):
        parse(text)
