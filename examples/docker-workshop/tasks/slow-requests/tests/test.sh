#!/bin/bash

check() {
  python3 - <<'END'
import json
assert json.load(open("/app/report.json")) == {"requests": 2000, "server_errors": 76, "slowest": "/export", "p95_ms": 832, "worst_hour": "2024-05-03T14"}
END
}

if check; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
