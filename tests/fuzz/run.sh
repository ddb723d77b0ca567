#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs each fuzz target for SECONDS and says how many inputs it survived: run.sh BUILD_FOLDER SECONDS [target...]
# Each target starts from the inputs of corpus/; configs also from those of tests/golden/zoo, so that the fuzzer need not
# invent model types; specs from those of the library. NICE=15 leaves the machine to others.
set -eu
build=$(realpath "$1")
seconds=$2
shift 2
here=$(realpath "$(dirname "$0")")
# Freed memory of many inputs is kept from use (of 256 MB, as is usual, each spec is touched anew); a report names who called
# malloc, not the stack above: a kept input shows it without this line.
export ASAN_OPTIONS="quarantine_size_mb=8:malloc_context_size=2${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
[ $# -gt 0 ] || set -- $(cd "$here" && ls ./*.fuzz.cpp | sed 's|./\(.*\)\.fuzz\.cpp|\1|')
for target in "$@"; do
    corpus="$build/corpus/$target"
    mkdir -p "$corpus"
    [ ! -d "$here/corpus/$target" ] || cp "$here/corpus/$target"/* "$corpus"
    if [ "$target" = config ]; then
        python3 - "$here/../golden" "$corpus" <<'P'
import json, pathlib, sys
golden, corpus = map(pathlib.Path, sys.argv[1:])
for file in [*golden.glob("zoo/*.json"), golden / "bionemo_models.json"]:
    for i, case in enumerate(json.loads(file.read_text())):
        text = "\0" + json.dumps(case["config"], separators=(",", ":"))
        (corpus / f"{file.stem}-{i}").write_text(text)
P
    fi
    if [ "$target" = spec ]; then
        python3 - "$here/../../include/floptally/models" "$corpus" <<'P'
import pathlib, sys
models, corpus = map(pathlib.Path, sys.argv[1:])
specs = list(models.glob("*.spec"))
for file in specs:
    (corpus / file.stem).write_text("\0\0" + file.read_text())
for spec in range(len(specs)):
    start = bytes([1 + 2 * (spec // 256), spec % 256])
    (corpus / f"config-{spec}").write_bytes(start + b'{"num_hidden_layers":2,"vocab_size":33}')
P
    fi
    # What is read as numbers has all there is in few of them, and many small inputs are worth more than a large one.
    case $target in
        config | spec | trace) longest=8192 ;;
        meter) longest=1024 ;;
        *) longest=192 ;;
    esac
    options=""
    [ ! -f "$here/$target.dict" ] || options="-dict=$here/$target.dict"
    echo "== $target, $seconds s"
    log="$build/$target.log"
    # shellcheck disable=SC2086  # one option or none
    if ! (cd "$build" && nice -n "${NICE:-0}" "$build/tests/fuzz/${target}_fuzz" "$corpus" $options -max_total_time="$seconds" \
        -max_len="$longest" -len_control=0 -timeout=10 -print_final_stats=1) >"$log" 2>&1; then
        tail -n 40 "$log"
        exit 1
    fi
    survived=$(sed -n 's/^stat::number_of_executed_units: //p' "$log")
    echo "survived inputs: $survived"
    all=$((${all:-0} + survived))
done
echo "$(date -I): $all inputs in all"
