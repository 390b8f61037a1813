#!/bin/bash

check() {
  cd /app && cmp -s tests/test_roman.py /tests/test_roman.py && python3 -m unittest && python3 -c "
from roman import to_roman
assert to_roman(3888) == 'MMMDCCCLXXXVIII'"
}

if check; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
