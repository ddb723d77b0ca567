// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __cplusplus < 202002L
#error "floptally needs C++20: compile with -std=c++20 (for a PyTorch extension, in cxx and nvcc of extra_compile_args)"
#endif
#ifndef __SIZEOF_INT128__
#error \
    "floptally needs __int128: compile with g++, clang++ or nvcc for a 64-bit target. MSVC and 32-bit targets lack it"
#endif

/// @file
/// Macros for code that also runs on a GPU.
///
/// - FLOPTALLY_HOST_DEVICE marks functions that a CUDA or HIP kernel may call. For a plain C++ compiler the macro is
///   empty, so that the same arithmetic is tested without a GPU.
/// - FLOPTALLY_UNROLLED stands before loops over small arrays, so that device code keeps the arrays in registers.
/// - FLOPTALLY_ROLLED stands before loops that device code must not unroll.
/// - FLOPTALLY_HAS_KERNELS is defined if the compiler can compile kernels (nvcc, hipcc).
/// - FLOPTALLY_ON_DEVICE is defined while the compiler generates code for the device.

#if defined(__CUDACC__)
#define FLOPTALLY_HAS_KERNELS
#define FLOPTALLY_HOST_DEVICE __host__ __device__
#elif defined(__HIP__)  // The attributes are spelled out, because only HIP's headers define __host__ and __device__.
#define FLOPTALLY_HAS_KERNELS
#define FLOPTALLY_HOST_DEVICE __attribute__((host)) __attribute__((device))
#else
#define FLOPTALLY_HOST_DEVICE
#endif

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define FLOPTALLY_ON_DEVICE
#define FLOPTALLY_UNROLLED _Pragma("unroll")
#define FLOPTALLY_ROLLED _Pragma("unroll 1")
#else
#define FLOPTALLY_UNROLLED
#define FLOPTALLY_ROLLED
#endif
