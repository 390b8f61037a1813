#!/bin/bash

check() {
  python3 -c "
import json
assert json.load(open('/app/settings.json')) == {'name': 'shop', 'db': {'host': 'staging', 'port': 6543, 'pool': {'min': 1, 'max': 8}}, 'features': ['a', 'b']}"
}

if check; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
