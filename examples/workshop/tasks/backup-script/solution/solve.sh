#!/bin/bash
set -euo pipefail

cat > /app/backup.sh <<'END'
#!/bin/bash
set -eu
target=$(realpath -m -- "$2")
cd -- "$1"
find . -name '*.txt' -print0 | while IFS= read -r -d '' file; do
  mkdir -p -- "$target/$(dirname -- "$file")"
  cp -- "$file" "$target/$file"
done
END
