#!/bin/bash
set -euo pipefail

python3 - <<'END'
import json
import pathlib

seen, kinds, twice, broken = set(), {}, [], []
for path in sorted(pathlib.Path("/app/receipts").glob("*.txt")):
    text = path.read_text()
    fields = dict(line.split(": ") for line in text.splitlines())
    if "cents" not in fields:
        broken.append(path.stem)
    elif text in seen:
        twice.append(path.stem)
    else:
        seen.add(text)
        kinds[fields["kind"]] = kinds.get(fields["kind"], 0) + int(fields["cents"])
json.dump({"kinds": kinds, "twice": twice, "broken": broken}, open("/app/totals.json", "w"))
END
