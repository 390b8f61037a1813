#!/bin/bash
set -euo pipefail

sed -i 's/i <= count/i < count/' src/stats.c
sed -i 's/^double mean.*/&\ndouble deviation(const double *values, int count);/' src/stats.h
sed -i 's/src\/stats.c$/src\/stats.c -lm/' Makefile
make
