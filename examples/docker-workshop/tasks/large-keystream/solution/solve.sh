#!/bin/bash
set -euo pipefail

python3 - <<'END'
import hashlib

seed = open("/app/seed.txt", "rb").read()
open("/app/keystream.bin", "wb").write(hashlib.shake_256(seed).digest(104857600))
END
