#!/bin/bash
set -euo pipefail

python3 - <<'END'
import json, pathlib
def merge(a, b):
    out = dict(a)
    for key, value in b.items():
        if value is None: out.pop(key, None)
        elif isinstance(value, dict) and isinstance(out.get(key), dict): out[key] = merge(out[key], value)
        else: out[key] = value
    return out
result = {}
for file in sorted(pathlib.Path("/app/settings").glob("*.json")):
    result = merge(result, json.load(file.open()))
json.dump(result, open("/app/settings.json", "w"))
END
