#!/bin/bash
set -euo pipefail

cat > /app/hours.py <<'END'
import re

DAYS = ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"]
RULE = re.compile(r"([A-Za-z,-]+) +(off|[0-9:,-]+)")
TIME = re.compile(r"(\d\d):([0-5]\d)-(\d\d):([0-5]\d)")


def parse(text):
    opened = {day: [] for day in DAYS}
    for rule in text.split(";"):
        found = RULE.fullmatch(rule.strip())
        if not found:
            raise ValueError(f"not a rule: {rule!r}")
        times = [] if found[2] == "off" else [_time(part) for part in found[2].split(",")]
        for day in _days(found[1]):
            opened[day] = times
    week = {day: [] for day in DAYS}
    for number, day in enumerate(DAYS):
        for start, end in opened[day]:
            if end > start:
                week[day].append((start, end))
            else:
                week[day].append((start, 1440))
                week[DAYS[(number + 1) % 7]].append((0, end))
    return {day: _joined(times) for day, times in week.items()}


def _time(text):
    found = TIME.fullmatch(text)
    if not found:
        raise ValueError(f"not a time: {text!r}")
    first, second, third, fourth = map(int, found.groups())
    start, end = first * 60 + second, third * 60 + fourth
    if start >= 1440 or end > 1440:
        raise ValueError(f"after midnight: {text!r}")
    return start, end


def _days(text):
    for part in text.split(","):
        ends = part.split("-")
        if len(ends) > 2 or any(day not in DAYS for day in ends):
            raise ValueError(f"not a day: {part!r}")
        number, last = DAYS.index(ends[0]), DAYS.index(ends[-1])
        yield DAYS[number]
        while number != last:
            number = (number + 1) % 7
            yield DAYS[number]


def _joined(times):
    joined = []
    for start, end in sorted(time for time in times if time[0] < time[1]):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
END
