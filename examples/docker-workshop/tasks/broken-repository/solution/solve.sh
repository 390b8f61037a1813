#!/bin/bash
set -euo pipefail

cd /app/recipes
rm -f .git/index .git/index.lock
echo 'ref: refs/heads/main' > .git/HEAD
for branch in main sweets; do
  tail -n 1 ".git/logs/refs/heads/$branch" | cut -d ' ' -f 2 > ".git/refs/heads/$branch"
done
git reset -q --mixed main
git status --short
