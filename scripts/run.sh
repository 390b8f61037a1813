#!/bin/sh
# Runs scripts/<name>.ts on the checkout's own Node runtime, setting the checkout up first when something is missing or outdated.
set -eu
root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
name=$1
shift
if [ ! -x "$root/.runtime/node" ] || ! cmp -s "$root/package-lock.json" "$root/.runtime/package-lock.json"; then
  node "$root/scripts/setup.mjs" --no-build
fi
cd "$root"
exec "$root/.runtime/node" "scripts/$name.ts" "$@"
