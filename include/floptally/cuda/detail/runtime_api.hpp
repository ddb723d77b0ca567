// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// The runtime that headers call: CUDA's, or AMD's under the same names where the language is HIP. What differs besides
/// stands in detail/cuda_context.hpp, detail/block.hpp and detail/kernels.cuh.

#if defined(__HIP__)

#include <hip/hip_runtime.h>

#define FLOPTALLY_GRID_CONSTANT

namespace floptally {

using cudaError_t = hipError_t;
using cudaStream_t = hipStream_t;
using cudaEvent_t = hipEvent_t;
using cudaDeviceProp = hipDeviceProp_t;
using cudaFuncAttributes = hipFuncAttributes;
using cudaMemPool_t = hipMemPool_t;
using cudaMemPoolAttr = hipMemPoolAttr;
using cudaStreamCaptureMode = hipStreamCaptureMode;
using cudaStreamCaptureStatus = hipStreamCaptureStatus;

inline constexpr auto cudaSuccess = hipSuccess;
inline constexpr auto cudaErrorNotReady = hipErrorNotReady;
inline constexpr auto cudaMemcpyHostToDevice = hipMemcpyHostToDevice;
inline constexpr auto cudaMemcpyDeviceToHost = hipMemcpyDeviceToHost;
inline constexpr auto cudaDevAttrClockRate = hipDeviceAttributeClockRate;
inline constexpr auto cudaDevAttrMultiProcessorCount = hipDeviceAttributeMultiprocessorCount;
inline constexpr auto cudaMemPoolAttrUsedMemHigh = hipMemPoolAttrUsedMemHigh;
inline constexpr auto cudaMemPoolAttrReservedMemHigh = hipMemPoolAttrReservedMemHigh;
inline constexpr auto cudaStreamCaptureModeRelaxed = hipStreamCaptureModeRelaxed;
inline constexpr auto cudaStreamCaptureStatusNone = hipStreamCaptureStatusNone;
inline constexpr unsigned cudaStreamNonBlocking = hipStreamNonBlocking;
inline constexpr unsigned cudaHostAllocMapped = hipHostMallocMapped | hipHostMallocCoherent;  // the host polls
inline constexpr unsigned cudaHostAllocPortable = hipHostMallocPortable;
inline const cudaStream_t cudaStreamPerThread = hipStreamPerThread;

#define FLOPTALLY_NAMED(cuda, hip)                       \
    template <class... Arguments>                        \
    [[nodiscard]] inline auto cuda(Arguments... given) { \
        return hip(given...);                            \
    }
#define FLOPTALLY_CALL(name) FLOPTALLY_NAMED(cuda##name, hip##name)
FLOPTALLY_CALL(DeviceGetAttribute)
FLOPTALLY_CALL(DeviceGetMemPool)
FLOPTALLY_CALL(EventCreate)
FLOPTALLY_CALL(EventDestroy)
FLOPTALLY_CALL(EventElapsedTime)
FLOPTALLY_CALL(EventQuery)
FLOPTALLY_CALL(EventRecord)
FLOPTALLY_CALL(EventSynchronize)
FLOPTALLY_CALL(Free)
FLOPTALLY_CALL(FuncGetAttributes)
FLOPTALLY_CALL(GetDevice)
FLOPTALLY_CALL(GetDeviceProperties)
FLOPTALLY_CALL(GetErrorName)
FLOPTALLY_CALL(GetErrorString)
FLOPTALLY_CALL(GetLastError)
FLOPTALLY_CALL(LaunchKernel)
FLOPTALLY_CALL(Malloc)
FLOPTALLY_CALL(MemGetInfo)
FLOPTALLY_CALL(MemPoolGetAttribute)
FLOPTALLY_CALL(MemPoolSetAttribute)
FLOPTALLY_CALL(Memcpy)
FLOPTALLY_CALL(MemcpyAsync)
FLOPTALLY_CALL(MemsetAsync)
FLOPTALLY_CALL(SetDevice)
FLOPTALLY_CALL(StreamCreateWithFlags)
FLOPTALLY_CALL(StreamDestroy)
FLOPTALLY_CALL(StreamIsCapturing)
FLOPTALLY_CALL(StreamSynchronize)
FLOPTALLY_CALL(ThreadExchangeStreamCaptureMode)
FLOPTALLY_NAMED(cudaHostAlloc, hipHostMalloc)
FLOPTALLY_NAMED(cudaFreeHost, hipHostFree)
#undef FLOPTALLY_CALL
#undef FLOPTALLY_NAMED

namespace detail {
inline constexpr bool has_compute_capability = false;  // HIP reports numbers of other meaning
}

}  // namespace floptally

#else

#include <cuda_runtime_api.h>

#define FLOPTALLY_GRID_CONSTANT __grid_constant__

namespace floptally::detail {
inline constexpr bool has_compute_capability = true;
}

#endif
