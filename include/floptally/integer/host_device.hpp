// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __cplusplus < 202002L
#error "floptally needs C++20: compile with -std=c++20 (for a PyTorch extension, in cxx and nvcc of extra_compile_args)"
#endif

/// @file
/// FLOPTALLY_HOST_DEVICE marks the functions that a CUDA kernel may call. In a plain C++ compiler it is empty, so that
/// the same arithmetic is tested without a GPU.

#if defined(__CUDACC__)
#define FLOPTALLY_HOST_DEVICE __host__ __device__
#else
#define FLOPTALLY_HOST_DEVICE
#endif
