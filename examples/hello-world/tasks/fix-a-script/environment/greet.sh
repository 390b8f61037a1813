#!/bin/bash
set -eu
while read name; do
  echo "Hello, $nmae!"
done < /app/names.txt
