#!/bin/bash
set -euo pipefail

grep -rhow ERROR /app/logs | wc -l > /app/errors.txt
