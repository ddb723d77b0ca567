// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __cplusplus < 202002L
#error "floptally needs C++20: compile with -std=c++20 (for a PyTorch extension, in cxx and nvcc of extra_compile_args)"
#endif
#ifndef __SIZEOF_INT128__
#error "floptally needs __int128: g++, clang++ or nvcc for a target of 64 bits. MSVC and targets of 32 bits have none"
#endif

/// @file
/// FLOPTALLY_HOST_DEVICE marks the functions that a kernel of CUDA or HIP may call. In a plain C++ compiler it is
/// empty, so that the same arithmetic is tested without a GPU. There FLOPTALLY_UNROLLED stands before loops over arrays
/// that should lie in registers, which have no address, and FLOPTALLY_ROLLED before loops whose text is needed once.
/// FLOPTALLY_HAS_KERNELS says that the compiler is one of kernels.

#if defined(__CUDACC__)
#define FLOPTALLY_HAS_KERNELS
#define FLOPTALLY_HOST_DEVICE __host__ __device__
#elif defined(__HIP__)  // whose headers give these their names, and need not be there
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
