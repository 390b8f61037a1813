#!/bin/bash

check() {
  python3 - <<'END'
import sqlite3
orders = sqlite3.connect("/app/shop.db").execute("select customer_id, cents from orders").fetchall()
people = sqlite3.connect("/app/shop.db").execute("select id, name from customers").fetchall()
rows = [(name, sum(1 for c, _ in orders if c == id), sum(x for c, x in orders if c == id)) for id, name in people]
rows.sort(key=lambda row: (-row[2], row[0]))
lines = ["name,orders,cents"] + [",".join(map(str, row)) for row in rows]
assert open("/app/report.csv").read().split() == lines
END
}

if check; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
