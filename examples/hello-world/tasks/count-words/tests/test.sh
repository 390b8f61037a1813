#!/bin/bash

check() {
  [ "$(tr -d '[:space:]' < /app/errors.txt)" = "$(grep -rhow ERROR /app/logs | wc -l | tr -d '[:space:]')" ]
}

if check; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
