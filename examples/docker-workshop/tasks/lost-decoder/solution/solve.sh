#!/bin/bash
set -euo pipefail

cat > /app/unscramble.py <<'END'
import sys

key = 90
plain = bytearray()
for place, out in enumerate(sys.stdin.buffer.read()):
    plain.append((out >> 3 | out << 5) & 255 ^ key)
    key = (key * 5 + out + place) & 255
sys.stdout.buffer.write(plain)
END
python3 /app/unscramble.py < /app/message.bin > /app/message.txt
