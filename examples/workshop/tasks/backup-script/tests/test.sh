#!/bin/bash

check() {
  rm -rf /tmp/from /tmp/to
  mkdir -p "/tmp/from/a folder/deeper" /tmp/from/-dash
  echo one > "/tmp/from/a folder/one two.txt"
  echo two > "/tmp/from/a folder/deeper/-x.txt"
  echo three > /tmp/from/-dash/three.txt
  echo no > /tmp/from/no.md
  bash /app/backup.sh /tmp/from /tmp/to || return 1
  [ "$(cd /tmp/to && find . -type f | sort)" = "$(cd /tmp/from && find . -name '*.txt' | sort)" ] && cmp -s "/tmp/from/a folder/one two.txt" "/tmp/to/a folder/one two.txt"
}

if check; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
