#!/bin/bash
set -eu
cd $1
for file in $(find . -name *.txt); do
  mkdir -p $2/$(dirname $file)
  cp $file $2/$file
done
