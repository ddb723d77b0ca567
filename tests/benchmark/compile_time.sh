#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compile time of the umbrella as a share of <nlohmann/json.hpp>'s: user seconds, the least of some runs in turn, since
# other work on the machine only ever adds.   tests/benchmark/compile_time.sh [compiler [level [runs]]]
set -eu
compiler=${1:-g++}
level=${2:--O0}
runs=${3:-7}
include=$(dirname "$0")/../../include
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo '#include <floptally/floptally.hpp>' >"$work/floptally.cpp"
echo '#include <nlohmann/json.hpp>' >"$work/json.cpp"
printf '#include <array>\n#include <cstdint>\n#include <span>\n#include <string>\n' >"$work/standard.cpp"
TIMEFORMAT=%3U
for _ in $(seq "$runs"); do
    for unit in floptally json standard; do
        { time "$compiler" -std=c++20 "$level" -I"$include" -c "$work/$unit.cpp" -o "$work/$unit.o"; } \
            2>>"$work/$unit.seconds"
    done
done
least() { sort -n "$work/$1.seconds" | head -1; }
awk -v f="$(least floptally)" -v j="$(least json)" -v s="$(least standard)" -v l="$level" 'BEGIN {
    printf "%s: umbrella %.2f s, json.hpp %.2f s, standard headers alone %.2f s: umbrella is %.2f x json.hpp\n",
           l, f, j, s, f / j }'
