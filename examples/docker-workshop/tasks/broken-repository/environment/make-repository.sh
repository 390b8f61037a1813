set -eu
export GIT_AUTHOR_NAME=Ana GIT_AUTHOR_EMAIL=ana@example.com GIT_COMMITTER_NAME=Ana GIT_COMMITTER_EMAIL=ana@example.com
export GIT_AUTHOR_DATE=2024-02-01T10:00:00Z GIT_COMMITTER_DATE=2024-02-01T10:00:00Z
git init -q -b main /app/recipes
cd /app/recipes

save() {
  echo "$2" >> "$1"
  git add "$1"
  git commit -q -m "$3"
}

save bread.txt "flour, water, salt" "add bread"
git checkout -q -b sweets
save cake.txt "flour, eggs, sugar" "add cake"
save cake.txt "sugar" "more sugar"
git checkout -q main
save bread.txt "and time" "bread takes time"
save soup.txt "water, leeks" "add soup"
echo "unfinished" > draft.txt

# What a full disk leaves behind: half an index, a lock, and references without content.
head -c 40 .git/index > .git/half && mv .git/half .git/index
touch .git/index.lock
: > .git/HEAD
: > .git/refs/heads/main
: > .git/refs/heads/sweets
