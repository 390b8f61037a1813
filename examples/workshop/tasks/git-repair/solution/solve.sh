#!/bin/bash
set -euo pipefail

cd /app/notes
git reset --hard "main@{1}"
