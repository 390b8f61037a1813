#!/bin/bash

check() {
  cd /app/recipes || return 1
  git config --global --add safe.directory '*'
  [ "$(git symbolic-ref HEAD)" = refs/heads/main ] || return 1
  [ "$(git log --format=%s main | tr '\n' ,)" = "add soup,bread takes time,add bread," ] || return 1
  [ "$(git log --format=%s sweets | tr '\n' ,)" = "more sugar,add cake,add bread," ] || return 1
  [ "$(git rev-parse main sweets | tr '\n' ' ')" = "edf0161f7eade290c248bbc5ec83b8998619504d eb97daf7e1751d7cebbd345343b9899cde0bd907 " ] || return 1
  [ "$(git status --porcelain)" = "?? draft.txt" ] && [ "$(cat draft.txt)" = unfinished ] || return 1
  [ "$(cat bread.txt)" = $'flour, water, salt\nand time' ] && git fsck --strict
}

if check; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
