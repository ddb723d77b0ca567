#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints what docs/performance.md says of compile time: of the umbrella and of a unit that reads a config, beside
# nlohmann_json's own. User and system seconds, the least of RUNS (5), in turn, so that a machine that slows down slows all
# of them.
#   tests/benchmark/compile_time.sh [compiler ...]        (g++ and clang++)
set -euo pipefail
include=$(cd "$(dirname "$0")/../../include" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
TIMEFORMAT='%U %S'

echo '#include <floptally/floptally.hpp>' >umbrella.cpp
echo '#include <nlohmann/json.hpp>' >json.cpp
printf '#include <array>\n#include <cstdint>\n#include <optional>\n#include <span>\n#include <string>\n#include <vector>\n' \
    >standard.cpp
# What only parses and searches, what reads a config with all that it takes, and what has declarations of the reader only.
cat >search.cpp <<'UNIT'
#include <fstream>
#include <nlohmann/json.hpp>
int main(int, char** arguments) {
    std::ifstream text(arguments[1]);
    const nlohmann::json config = nlohmann::json::parse(text);
    return config.value("hidden_size", 0) + (config.find("num_layers") != config.end() ? 1 : 0);
}
UNIT
cat >load.cpp <<'UNIT'
#include <floptally/json.hpp>
int main(int, char** arguments) { return floptally::load_config(arguments[1]).cost.parameters() > 0 ? 0 : 1; }
UNIT
{ echo '#define FLOPTALLY_SEPARATE_COMPILATION' && cat load.cpp; } >declared.cpp

# compile COMPILER OPTION UNIT...: the least time of each unit in the file UNIT.least
compile() {
    local compiler=$1 option=$2
    shift 2
    rm -f ./*.times
    for _ in $(seq "${RUNS:-5}"); do
        for unit in "$@"; do
            { time "$compiler" -std=c++20 "$option" -I"$include" -c "$unit.cpp" -o "$unit.o"; } 2>>"$unit.times"
        done
    done
    for unit in "$@"; do
        awk '{ s = $1 + $2; if (NR == 1 || s < least) least = s } END { printf "%.2f", least }' "$unit.times" >"$unit.least"
    done
}
ratio() { awk -v a="$(cat "$1.least")" -v b="$(cat "$2.least")" 'BEGIN { printf "%.2f", a / b }'; }
megabytes() { awk -v bytes="$(stat -c %s "$1.o")" 'BEGIN { printf "%.2f MB", bytes / 1e6 }'; }

[ $# -gt 0 ] || set -- g++ clang++
echo "Commit $(git -C "$include" rev-parse --short HEAD)."
rows=()
for compiler in "$@"; do
    compile "$compiler" -O0 umbrella json standard
    echo "$compiler -O0: umbrella $(cat umbrella.least) s, json.hpp $(cat json.least) s, standard headers alone" \
        "$(cat standard.least) s: umbrella is $(ratio umbrella json) x json.hpp"
    for option in -O0 -O3; do
        compile "$compiler" "$option" search load declared
        rows+=("| $compiler $("$compiler" -dumpversion), $option | $(cat search.least) s | $(cat load.least) s, $(ratio load search) x |\
 $(megabytes load) | $(cat declared.least) s, $(ratio declared search) x |")
    done
done
echo
echo '| `compile_time.sh` | parses JSON | `load_config`, header-only | object | declared only |'
echo '| --- | ---: | ---: | ---: | ---: |'
printf '%s\n' "${rows[@]}"
