#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints what compile time is (docs/contributing.md has some rows): of the umbrella and of a unit that reads a config, beside
# nlohmann_json's own. User and system seconds, the least of RUNS (5), in turn, so that a machine that slows down slows all
# of them; the compiler's memory, the most of them; and the lines of the reader of configs.
#   tests/benchmark/compile_time.sh [compiler ...]        (g++ and clang++)
# INCLUDE is another commit's include/, to compare with.
set -euo pipefail
include=$(cd "${INCLUDE:-$(dirname "$0")/../../include}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

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

cat >measure.py <<'MEASURE'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
MEASURE

# compile COMPILER OPTION UNIT...: the least time of each unit in the file UNIT.least, its memory in UNIT.memory
compile() {
    local compiler=$1 option=$2
    shift 2
    rm -f ./*.times
    for _ in $(seq "${RUNS:-5}"); do
        for unit in "$@"; do
            python3 measure.py "$compiler" -std=c++20 "$option" -I"$include" -c "$unit.cpp" -o "$unit.o" >>"$unit.times"
        done
    done
    for unit in "$@"; do
        awk 'NR == 1 || $1 < least { least = $1 } END { printf "%.2f", least }' "$unit.times" >"$unit.least"
        awk '$2 > most { most = $2 } END { printf "%.2f GB", most * 1024 / 1e9 }' "$unit.times" >"$unit.memory"
    done
}
ratio() { awk -v a="$(cat "$1.least")" -v b="$(cat "$2.least")" 'BEGIN { printf "%.2f", a / b }'; }
# headers UNIT: ours that it includes
headers() { "$1" -std=c++20 -I"$include" -MM "$2.cpp" | tr ' ' '\n' | grep "^$include" | sort; }
lines() { xargs -r cat | wc -l; }
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
 $(megabytes load) | $(cat load.memory) | $(cat declared.least) s, $(ratio declared search) x |")
    done
done
echo
echo '| `compile_time.sh` | parses JSON | `load_config`, header-only | object | memory | declared only |'
echo '| --- | ---: | ---: | ---: | ---: | ---: |'
printf '%s\n' "${rows[@]}"
echo
headers "$1" umbrella >umbrella.headers
headers "$1" load | comm -13 umbrella.headers - >reader.headers
echo "What load_config includes beside the umbrella: $(lines <reader.headers) lines in $(wc -l <reader.headers) headers," \
    "$(grep /models/ reader.headers | lines) in $(grep -c /models/ reader.headers) of them in models/"
