#!/bin/bash

check() {
  cmp -s /srv/inbox/letter.txt /home/worker/letter.txt && [ "$(stat -c '%a %U' /home/worker/letter.txt)" = "600 worker" ]
}

if check; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
