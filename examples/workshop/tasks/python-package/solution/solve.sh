#!/bin/bash
set -euo pipefail

sed -i 's/number > value/number >= value/; s/text\[1:\]/text[len(letters):]/' roman/convert.py
python3 -m unittest
