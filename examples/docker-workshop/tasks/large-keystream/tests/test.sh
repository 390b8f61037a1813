#!/bin/bash

check() {
  [ "$(ls -A /app | tr '\n' ' ')" = "keystream.bin seed.txt " ] && [ "$(stat -c %s /app/keystream.bin)" = 104857600 ] &&
    [ "$(sha256sum < /app/keystream.bin)" = "9c99bcc133f5a370fc602a8d1775cf22f324a1f83ba03831f42350214d4e43a3  -" ]
}

if check; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
