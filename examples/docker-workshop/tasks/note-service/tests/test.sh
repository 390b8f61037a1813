#!/bin/bash

check() {
  python3 /tests/check.py
}

if check; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
