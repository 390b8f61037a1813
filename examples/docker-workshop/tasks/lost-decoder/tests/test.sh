#!/bin/bash

check() {
  [ "$(sha256sum < /app/message.txt)" = "d4220359b84fb24140b67b3af242a56ad4b9c0f37cf5c7656fcfea9a69ce338c  -" ] || return 1
  for size in 0 1 7 3000; do
    head -c "$size" /dev/urandom > /tmp/plain
    /usr/local/bin/scramble < /tmp/plain > /tmp/scrambled
    python3 /app/unscramble.py < /tmp/scrambled | cmp - /tmp/plain || return 1
  done
}

if check; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
