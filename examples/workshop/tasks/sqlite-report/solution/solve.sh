#!/bin/bash
set -euo pipefail

python3 - <<'END'
import sqlite3
rows = sqlite3.connect("/app/shop.db").execute("""
  select name, count(orders.id), coalesce(sum(cents), 0) from customers
  left join orders on orders.customer_id = customers.id group by customers.id order by 3 desc, 1""")
with open("/app/report.csv", "w") as report:
    report.write("name,orders,cents\n")
    for row in rows:
        report.write(",".join(map(str, row)) + "\n")
END
