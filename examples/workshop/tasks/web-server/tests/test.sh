#!/bin/bash

check() {
  python3 - <<'END'
import urllib.request, urllib.error
base = "http://127.0.0.1:" + open("/app/port").read().strip()
answer = urllib.request.urlopen(base + "/health", timeout=5)
assert answer.status == 200 and answer.read() == b"ok"
try:
    urllib.request.urlopen(base + "/other", timeout=5)
    raise SystemExit(1)
except urllib.error.HTTPError as error:
    assert error.code == 404
END
}

if check; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
