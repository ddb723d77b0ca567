// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// FLOPTALLY_HOST_DEVICE marks the functions that a CUDA kernel may call. It vanishes in a plain C++ compiler,
/// so that the same arithmetic is tested without a GPU.

#if defined(__CUDACC__)
#define FLOPTALLY_HOST_DEVICE __host__ __device__
#else
#define FLOPTALLY_HOST_DEVICE
#endif
