// SPDX-License-Identifier: Apache-2.0
//
// The driver on the host, for what launches kernels without the runtime: the part of it that the Python package asks
// for, over the runtime of cuda_runtime.cpp. Both are one shared library, which tests name as the driver, and ask for
// streams, captures and numbers of calls by the runtime's names.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fatbinary_section.h>
#include <string>

#include "host_runtime.hpp"

namespace {

/// The numbers of both are the same, where both have one.
CUresult status_of(cudaError_t status) { return static_cast<CUresult>(status); }
cudaStream_t stream_of(CUstream stream) { return stream; }

std::uint64_t modules = 0;
int retained = 0;

template <class Function>
Function runtimes(const char* name) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
    static_cast<void>(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result));
#else
    static_cast<void>(cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result));
#endif
    return reinterpret_cast<Function>(found);
}

}  // namespace

extern "C" {

/// The number of modules that were loaded, for tests.
std::uint64_t floptally_host_modules() { return modules; }
/// The number of contexts that were retained and not released.
int floptally_host_retained() { return retained; }

void** __cudaRegisterFatBinary(void* fat_binary);
void __cudaRegisterFunction(void** handle, const char* function, char* device_function, const char* name,
                            int thread_limit, uint3* tid, uint3* bid, dim3* block, dim3* grid, int* size);

CUresult cuInit(unsigned /*flags*/) { return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) {
    *version = 12020;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    int count = 0;
    static_cast<void>(cudaGetDeviceCount(&count));
    *device = ordinal;
    return ordinal >= 0 && ordinal < count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
    return status_of(cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(which), device));
}
CUresult cuGetErrorName(CUresult status, const char** name) {
    static std::string text;
    text = "CUDA_ERROR_" + std::to_string(static_cast<int>(status));
    *name = text.c_str();
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    ++retained;
    return runtimes<CUresult (*)(CUcontext*, CUdevice)>("cuDevicePrimaryCtxRetain")(context, device);
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice /*device*/) {
    --retained;
    return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
    static const auto push = runtimes<CUresult (*)(CUcontext)>("cuCtxPushCurrent");
    return push(context);
}
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
    static const auto pop = runtimes<CUresult (*)(CUcontext*)>("cuCtxPopCurrent");
    return pop(context);
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
    if (std::memcmp(image, "older", 5) == 0) {  // for a test of what a driver of an older CUDA says
        return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    }
    ++modules;
    static __fatBinC_Wrapper_t wrapper{};
    wrapper.data = static_cast<const unsigned long long*>(image);
    *module = reinterpret_cast<CUmodule>(__cudaRegisterFatBinary(&wrapper));
    return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule /*module*/) { return CUDA_SUCCESS; }
/// Not loaded yet, as the real one may leave it.
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    char* const key = new char;  // as long as the process: its address stands for the function
    __cudaRegisterFunction(reinterpret_cast<void**>(module), key, nullptr, name, -1, nullptr, nullptr, nullptr, nullptr,
                           nullptr);
    *function = reinterpret_cast<CUfunction>(key);
    return CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute /*which*/, CUfunction function) {
    cudaFuncAttributes found{};
    *value = 0;
    return status_of(cudaFuncGetAttributes(&found, reinterpret_cast<const void*>(function)));
}
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void** arguments,
                        void** extra) {
    return extra != nullptr ? CUDA_ERROR_INVALID_VALUE
                            : status_of(cudaLaunchKernel(reinterpret_cast<const void*>(function),
                                                         dim3(grid_x, grid_y, grid_z), dim3(block_x, block_y, block_z),
                                                         arguments, shared_bytes, stream_of(stream)));
}

CUresult cuMemAlloc_v2(CUdeviceptr* memory, std::size_t bytes) {
    void* address = nullptr;
    const cudaError_t status = cudaMalloc(&address, bytes);
    *memory = reinterpret_cast<CUdeviceptr>(address);
    return status_of(status);
}
CUresult cuMemFree_v2(CUdeviceptr memory) { return status_of(cudaFree(reinterpret_cast<void*>(memory))); }
CUresult cuMemHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
    return status_of(cudaHostAlloc(memory, bytes, flags));
}
CUresult cuMemFreeHost(void* memory) { return status_of(cudaFreeHost(memory)); }
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    return status_of(cudaMemcpyAsync(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes,
                                     cudaMemcpyDefault, stream_of(stream)));
}
CUresult cuMemsetD8Async(CUdeviceptr memory, unsigned char value, std::size_t bytes, CUstream stream) {
    return status_of(cudaMemsetAsync(reinterpret_cast<void*>(memory), value, bytes, stream_of(stream)));
}
CUresult cuStreamSynchronize(CUstream stream) { return status_of(cudaStreamSynchronize(stream_of(stream))); }
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    cudaStreamCaptureStatus found{};
    const cudaError_t result = cudaStreamIsCapturing(stream_of(stream), &found);
    *status = static_cast<CUstreamCaptureStatus>(found);
    return status_of(result);
}

}  // extern "C"
