#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compiles every kernel, and the host's half, as HIP for one architecture of AMD: hip.sh CLANG ARCHITECTURE. Fails where
# a kernel uses private memory or spills vector registers. Needs HIP's headers (libamdhip64-dev) and nothing else of ROCm;
# nothing is linked, and nothing runs.
set -euo pipefail
cd "$(dirname "$0")/../.."
clang=$1 architecture=$2 listing=build/every_kernel.$2.s
mkdir -p build
"$clang" -x hip -std=c++20 --offload-arch="$architecture" --rocm-path=/usr -nogpulib -Iinclude -Wall -Wextra -Werror -O2 \
    --cuda-device-only -S tests/cuda/every_kernel.cu -o "$listing"
"$clang" -x hip -std=c++20 --offload-arch="$architecture" --rocm-path=/usr -nogpulib -Iinclude -Wall -Wextra -Werror \
    --cuda-host-only -fsyntax-only tests/cuda/every_kernel.cu
kernels=$(grep -c "\.amdhsa_kernel " "$listing")
[ "$kernels" -ge 20 ] || { echo "the listing has $kernels kernels only"; exit 1; }
if grep -E "\.(vgpr_spill_count|private_segment_fixed_size): +[1-9]" "$listing"; then
    echo "a kernel spills, or uses private memory"
    exit 1
fi
echo "$kernels kernels for $architecture, without private memory"
