#!/bin/bash
set -euo pipefail

sed -i 's/nmae/name/' /app/greet.sh
