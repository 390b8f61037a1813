#!/bin/bash

check() {
  g++ -std=c++17 -Wall -Wextra -Werror /app/demo.cpp -o /tmp/demo && [ "$(/tmp/demo)" = "2 0 1" ] || return 1
  g++ -std=c++17 -D_GLIBCXX_ASSERTIONS -Wall /tests/check.cpp -o /tmp/check && /tmp/check
}

if check; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
