#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The trainers' files that tests/python/originals.py takes functions out of, each at its commit: fetch_trainers.sh FOLDER.
# FOLDER is then the value of FLOPTALLY_TRAINERS.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1" && cd "$1"
owner() {
    case $1 in
    Megatron-LM) echo NVIDIA ;;
    maxtext) echo AI-Hypercomputer ;;
    verl) echo verl-project ;;
    torchtitan) echo pytorch ;;
    VeOmni) echo ByteDance-Seed ;;
    OLMo-core | open-instruct) echo allenai ;;
    prime-rl) echo PrimeIntellect-ai ;;
    slime) echo THUDM ;;
    miles) echo radixark ;;
    bionemo-framework) echo NVIDIA ;;
    *) echo NVIDIA-NeMo ;;
    esac
}
sed -n 's/^    "\([A-Za-z-]*\)": "\([0-9a-f]\{40\}\)",$/\1 \2/p' "$here/originals.py" | while read -r name commit; do
    git init -q "$name"
    git -C "$name" fetch -q --depth 1 "https://github.com/$(owner "$name")/$name" "$commit"
    git -C "$name" checkout -q FETCH_HEAD
    echo "$name $commit"
done
