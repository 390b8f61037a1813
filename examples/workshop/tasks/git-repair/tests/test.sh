#!/bin/bash

check() {
  cd /app/notes && git config --global --add safe.directory '*' && [ "$(git rev-parse main)" = "$(cat /app/.lost)" ] && [ "$(cat third.txt)" = "the third note" ]
}

if check; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
