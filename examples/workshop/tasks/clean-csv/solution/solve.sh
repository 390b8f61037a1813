#!/bin/bash
set -euo pipefail

python3 - <<'END'
import csv
seen = set()
with open("/app/people.csv", newline="") as source, open("/app/clean.csv", "w", newline="") as target:
    rows = csv.reader(source)
    out = csv.writer(target)
    out.writerow(next(rows))
    for row in rows:
        name, email, city = [field.strip() for field in row]
        email = email.lower()
        if email and email not in seen:
            seen.add(email)
            out.writerow([name, email, city])
END
