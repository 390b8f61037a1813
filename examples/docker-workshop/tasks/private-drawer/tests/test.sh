#!/bin/bash

check() {
  [ "$(id -un)" = clerk ] && cd /home/clerk || return 1
  [ "$(stat -c '%a %U' drawer)" = "700 clerk" ] || return 1
  [ "$(cd drawer && find . -type f -printf '%P %m %u\n' | LC_ALL=C sort)" = "2022/heating.txt 600 clerk
2022/rent.txt 600 clerk
2023/garden.txt 600 clerk
2023/lost-key.txt 600 clerk
2023/rent.txt 600 clerk" ] || return 1
  cmp drawer/2023/rent.txt /srv/inbox/2023-01-07-rent.txt && [ "$(ls /srv/inbox | wc -l)" = 5 ] || return 1
  [ "$(bash -lc 'letters 2023')" = $'garden\nlost-key\nrent' ] || return 1
  bash -lc 'letters 1999'
  [ $? = 1 ]
}

if check; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
