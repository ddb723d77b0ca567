#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compile time of the umbrella as a share of <nlohmann/json.hpp>'s: the median of five, in turn, so that a machine that
# slows down slows both.   tests/benchmark/compile_time.sh [compiler]
set -eu
compiler=${1:-g++}
include=$(dirname "$0")/../../include
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo '#include <floptally/floptally.hpp>' >"$work/floptally.cpp"
echo '#include <nlohmann/json.hpp>' >"$work/json.cpp"
printf '#include <array>\n#include <cstdint>\n#include <optional>\n#include <span>\n#include <string>\n#include <vector>\n' \
    >"$work/standard.cpp"
for run in 1 2 3 4 5; do
    for unit in floptally json standard; do
        start=$(date +%s%N)
        "$compiler" -std=c++20 -O2 -I"$include" -c "$work/$unit.cpp" -o "$work/$unit.o"
        echo "$(($(date +%s%N) - start))" >>"$work/$unit.ns"
    done
done
for unit in floptally json standard; do
    sort -n "$work/$unit.ns" | sed -n 3p >"$work/$unit.median"
done
awk -v f="$(cat "$work/floptally.median")" -v j="$(cat "$work/json.median")" -v s="$(cat "$work/standard.median")" 'BEGIN {
    printf "umbrella %.2f s, json.hpp %.2f s, standard headers alone %.2f s: umbrella is %.2f x json.hpp\n",
           f / 1e9, j / 1e9, s / 1e9, f / j }'
