#!/bin/bash

check() {
  printf 'Hello, %s!\n' Ada "Grace Hopper" Linus > /tmp/expected
  bash /app/greet.sh > /tmp/actual && cmp -s /tmp/expected /tmp/actual
}

if check; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
