#!/bin/bash
set -euo pipefail

python3 - <<'END'
import collections, json, pathlib
triage = {}
for folder in sorted(pathlib.Path("/app/logs").iterdir()):
    words = collections.Counter(line.split()[0] for file in folder.iterdir() for line in file.open())
    triage[folder.name] = {"ERROR": words["ERROR"], "WARN": words["WARN"]}
json.dump(triage, open("/app/triage.json", "w"))
END
