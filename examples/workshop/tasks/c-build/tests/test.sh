#!/bin/bash

check() {
  cd /app && make clean && make && [ "$(./stats 3 4 5)" = "mean 4.00 sd 0.82" ] && [ "$(./stats 7)" = "mean 7.00 sd 0.00" ]
}

if check; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
