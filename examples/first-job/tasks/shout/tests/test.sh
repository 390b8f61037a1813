#!/bin/bash
if [ "$(cat /app/shout.txt)" = "ROLLOUT" ]; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
