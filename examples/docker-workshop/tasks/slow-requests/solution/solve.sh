#!/bin/bash
set -euo pipefail

python3 - <<'END'
import collections
import glob
import gzip
import json
import math
import re

line = re.compile(r"(\S{13})\S* \[\w+\] (req=\S+) \w+ (\S+) (\d{3}) (\d+)ms")
requests = {}
for name in sorted(glob.glob("/app/logs/*")):
    with (gzip.open if name.endswith(".gz") else open)(name, "rt") as file:
        for text in file:
            if found := line.fullmatch(text.rstrip("\n")):
                hour, request, path, status, took = found.groups()
                requests[request] = (hour, path, int(status), int(took))
times = collections.defaultdict(list)
for _, path, _, took in requests.values():
    times[path].append(took)
p95 = {path: sorted(all)[math.ceil(len(all) * 0.95) - 1] for path, all in times.items() if len(all) >= 50}
slowest = max(p95, key=p95.get)
errors = collections.Counter(hour for hour, _, status, _ in requests.values() if status >= 500)
report = {
    "requests": len(requests),
    "server_errors": sum(errors.values()),
    "slowest": slowest,
    "p95_ms": p95[slowest],
    "worst_hour": errors.most_common(1)[0][0],
}
json.dump(report, open("/app/report.json", "w"))
END
