#!/bin/bash

check() {
  python3 -c 'import json; assert json.load(open("/app/totals.json")) == json.load(open("/tests/expected.json"))'
}

if check; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
