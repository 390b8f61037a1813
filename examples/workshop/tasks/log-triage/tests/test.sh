#!/bin/bash

check() {
  for service in api billing search mail; do
    errors=$(cat /app/logs/$service/*.log | grep -c '^ERROR')
    warnings=$(cat /app/logs/$service/*.log | grep -c '^WARN')
    python3 -c "
import json
assert json.load(open('/app/triage.json'))['$service'] == {'ERROR': $errors, 'WARN': $warnings}" || return 1
  done
}

if check; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
