#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Instructions per sequence, by callgrind: free of noise, so that two builds can be compared on a busy machine.
#
#     callgrind.sh PROGRAM [CASE...]     PROGRAM is length_sums.callgrind, built; all its cases unless some are named
set -eu

program=${1:?usage: callgrind.sh PROGRAM [CASE...]}
shift
[ $# -gt 0 ] || set -- $("$program")
sequences=$("$program" sequences)

instructions() {  # CASE REPEATS
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" "$2" 2>&1 |
        awk '/Collected/ { print $NF }'
}

printf '%-34s %s\n' case 'instructions per sequence'
for case in "$@"; do
    few=$(instructions "$case" 2)
    many=$(instructions "$case" 12)
    awk -v name="$case" -v few="$few" -v many="$many" -v n="$sequences" \
        'BEGIN { printf "%-34s %.2f\n", name, (many - few) / 10 / n }'
done
