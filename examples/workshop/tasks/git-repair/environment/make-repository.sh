set -eu
mkdir -p /app/notes
cd /app/notes
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.com
git init -q -b main
for n in first second third; do
  echo "the $n note" > "$n.txt"
  git add .
  git commit -q -m "add the $n note"
done
git rev-parse HEAD > /app/.lost
git reset -q --hard HEAD~1
