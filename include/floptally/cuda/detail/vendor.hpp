// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <floptally/integer/host_device.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Contains all code that differs between NVIDIA and AMD: the runtime, the context of a device, the threads of a block.
/// With HIP, this header defines the CUDA runtime's names as aliases of the HIP runtime's names.

#if defined(__HIP__)

#include <hip/hip_runtime.h>

#define FLOPTALLY_GRID_CONSTANT

namespace floptally::inline v0_3 {

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
inline constexpr auto cudaMemcpyDefault = hipMemcpyDefault;
inline constexpr auto cudaDevAttrClockRate = hipDeviceAttributeClockRate;
inline constexpr auto cudaDevAttrMultiProcessorCount = hipDeviceAttributeMultiprocessorCount;
inline constexpr auto cudaMemPoolAttrUsedMemHigh = hipMemPoolAttrUsedMemHigh;
inline constexpr auto cudaMemPoolAttrReservedMemHigh = hipMemPoolAttrReservedMemHigh;
inline constexpr auto cudaStreamCaptureModeRelaxed = hipStreamCaptureModeRelaxed;
inline constexpr auto cudaStreamCaptureStatusNone = hipStreamCaptureStatusNone;
inline constexpr unsigned cudaHostAllocMapped =
    hipHostMallocMapped | hipHostMallocCoherent;  // The memory is coherent, because the host polls it.
inline constexpr unsigned cudaHostAllocPortable = hipHostMallocPortable;
inline const cudaStream_t cudaStreamLegacy = nullptr;  // In HIP the null handle means the legacy stream
inline const cudaStream_t cudaStreamPerThread = hipStreamPerThread;

#define FLOPTALLY_NAMED(cuda, hip)                           \
    template <class... Arguments>                            \
    [[nodiscard]] inline auto cuda(Arguments... arguments) { \
        return hip(arguments...);                            \
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
FLOPTALLY_CALL(MemcpyAsync)
FLOPTALLY_CALL(MemsetAsync)
FLOPTALLY_CALL(SetDevice)
FLOPTALLY_CALL(StreamIsCapturing)
FLOPTALLY_CALL(StreamSynchronize)
FLOPTALLY_CALL(ThreadExchangeStreamCaptureMode)
FLOPTALLY_NAMED(cudaHostAlloc, hipHostMalloc)
FLOPTALLY_NAMED(cudaFreeHost, hipHostFree)
#undef FLOPTALLY_CALL
#undef FLOPTALLY_NAMED

namespace detail {

// HIP devices have version numbers, but these are not compute capabilities.
inline constexpr bool has_compute_capability = false;

/// The context of a device. With HIP, `hipSetDevice` makes the context current.
class device_context {
  public:
    explicit device_context(int number) : number_(number) {}

    void enter() const {
        if (const cudaError_t status = cudaSetDevice(number_); status != cudaSuccess) {
            throw error("hipSetDevice", cudaGetErrorName(status));
        }
    }
    void leave(int former) const noexcept { static_cast<void>(cudaSetDevice(former)); }

  private:
    int number_;
};

/// The second argument of `__launch_bounds__`. CUDA takes a number of blocks on one multiprocessor, but HIP takes a
/// number of waves. So the argument is 1 for HIP.
template <class Body>
inline constexpr std::uint32_t resident_blocks = 1;

/// The threads of a block. Uses compiler built-ins and no device library.
struct vendor_block {
    [[nodiscard]] __device__ std::uint32_t thread() const { return __builtin_amdgcn_workitem_id_x(); }
    [[nodiscard]] __device__ std::uint32_t threads() const { return __builtin_amdgcn_workgroup_size_x(); }
    [[nodiscard]] __device__ std::uint32_t index() const { return __builtin_amdgcn_workgroup_id_x(); }
    [[nodiscard]] __device__ std::uint32_t count() const { return __builtin_amdgcn_grid_size_x() / threads(); }
    __device__ void sync() const {
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        __builtin_amdgcn_s_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    }
    /// Returns the value of the lane that is `delta` above this one in a group of 32 lanes. All 32 lanes must call this
    /// together.
    [[nodiscard]] __device__ std::uint64_t shuffle_down(std::uint64_t value, std::uint32_t delta) const {
        return __shfl_down(static_cast<unsigned long long>(value), delta, 32);
    }
    static __device__ void fence_for_all() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }
};

}  // namespace detail

}  // namespace floptally

#else

#include <cuda.h>
#include <cuda_runtime_api.h>

#define FLOPTALLY_GRID_CONSTANT __grid_constant__

namespace floptally::inline v0_3::detail {

inline constexpr bool has_compute_capability = true;

/// The context of a device, made current by push and pop. `cudaSetDevice` is not used to return to the former device,
/// because it would create a context on that device. Each rank would then take some hundred MiB on GPU 0, even if it
/// never uses GPU 0. Driver functions are looked up by name through the runtime, so that the driver library need not be
/// linked.
class device_context {
  public:
    explicit device_context(int number) {
        CUcontext context = nullptr;
        require_driver(driver().retain(&context, number), "cuDevicePrimaryCtxRetain");
        context_ = {context, [number](CUcontext) { driver().release(number); }};
    }

    void enter() const { require_driver(driver().push(context_.get()), "cuCtxPushCurrent"); }
    void leave(int /*former*/) const noexcept {
        CUcontext popped = nullptr;
        driver().pop(&popped);
    }

  private:
    /// A driver function that the constructor looks up by name.
    struct found {
        void* function = nullptr;

        explicit found(const char* name) {
            cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
            const auto status = cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &result);
#else
            const auto status = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &result);
#endif
            if (status != cudaSuccess || result != cudaDriverEntryPointSuccess || function == nullptr) {
                throw error(name, "this driver does not have this function: install a newer driver");
            }
        }
        template <class Function>
        operator Function*() const {  // NOLINT(google-explicit-constructor): to the function's type in cuda.h
            return reinterpret_cast<Function*>(function);
        }
    };
    struct functions {
        decltype(&cuDevicePrimaryCtxRetain) retain = found("cuDevicePrimaryCtxRetain");
        decltype(&cuDevicePrimaryCtxRelease) release = found("cuDevicePrimaryCtxRelease");
        decltype(&cuCtxPushCurrent) push = found("cuCtxPushCurrent");
        decltype(&cuCtxPopCurrent) pop = found("cuCtxPopCurrent");
    };
    [[nodiscard]] static const functions& driver() {
        static const functions all;
        return all;
    }
    /// Throws `error` if the driver function `call` failed. Driver and runtime have the same error numbers.
    static void require_driver(CUresult status, const char* call) {
        if (const auto failed = static_cast<cudaError_t>(status); failed != cudaSuccess) {
            refuse(call, {cudaGetErrorName(failed), ", ", cudaGetErrorString(failed)});
        }
    }

    std::shared_ptr<CUctx_st> context_;
};

#if defined(FLOPTALLY_HAS_KERNELS)
/// The number of blocks that must fit the registers of one multiprocessor at the same time, for `__launch_bounds__`. A
/// Turing multiprocessor runs at most 1024 threads.
template <class Body>
inline constexpr std::uint32_t resident_blocks =
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    Body::resident* Body::threads <= 1024 ? Body::resident : 1024 / Body::threads;
#else
    Body::resident;
#endif

/// The position of a thread in its block, and the operations of the block's threads on each other.
struct vendor_block {
    [[nodiscard]] __device__ std::uint32_t thread() const { return threadIdx.x; }
    [[nodiscard]] __device__ std::uint32_t threads() const { return blockDim.x; }
    [[nodiscard]] __device__ std::uint32_t index() const { return blockIdx.x; }
    [[nodiscard]] __device__ std::uint32_t count() const { return gridDim.x; }
    __device__ void sync() const { __syncthreads(); }
    /// Returns the value of the lane that is `delta` above this one in its warp. All lanes of the warp must call this
    /// together.
    [[nodiscard]] __device__ std::uint64_t shuffle_down(std::uint64_t value, std::uint32_t delta) const {
        return __shfl_down_sync(0xFFFF'FFFFU, static_cast<unsigned long long>(value), delta);
    }
    static __device__ void fence_for_all() { __threadfence_system(); }
};
#endif

}  // namespace floptally::detail

#endif
