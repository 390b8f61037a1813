#!/bin/bash

python3 -m pytest -p no:cacheprovider -rA /tests/test_hours.py

if [ $? -eq 0 ]; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
