#!/bin/bash

check() {
  python3 - <<'END'
import csv
rows = list(csv.reader(open("/app/clean.csv", newline="")))
assert rows == [["name", "email", "city"], ["Ada Lovelace", "ada@example.com", "London"],
                ["Grace Hopper", "grace@example.com", "New York"], ["Turing, Alan", "alan@example.com", "Wilmslow"]]
END
}

if check; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
