// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <memory>
#include <string>

#include <floptally/text/error.hpp>

/// @file
/// CUDA's driver, opened where it is first asked for: the extension is built and linked without CUDA, and runs where
/// there is none. Types are those of its C ABI (cuda.h).

namespace floptally::detail::python {

using cu_status = int;
using cu_context = struct cu_context_of_driver*;
using cu_module = struct cu_module_of_driver*;
using cu_function = struct cu_function_of_driver*;
using cu_stream = struct cu_stream_of_driver*;
using cu_memory = std::uint64_t;  ///< an address of a device

/// A function of the driver's library, under the name that stands in it.
template <class... Arguments>
class driver_function {
  public:
    driver_function(void* library, const char* name)
        : found_(reinterpret_cast<cu_status (*)(Arguments...)>(dlsym(library, name))) {
        if (found_ == nullptr) {
            throw error("device", std::string("this CUDA driver has no ") + name + ": CUDA 11 or later is needed");
        }
    }
    cu_status operator()(Arguments... arguments) const { return found_(arguments...); }

  private:
    cu_status (*found_)(Arguments...);
};

struct cuda_driver {
    void* library = open();
    driver_function<unsigned> init{library, "cuInit"};
    driver_function<int*, int> get_device{library, "cuDeviceGet"};
    driver_function<int*, int, int> get_device_attribute{library, "cuDeviceGetAttribute"};
    driver_function<cu_status, const char**> get_error_name{library, "cuGetErrorName"};
    driver_function<cu_context*, int> retain_context{library, "cuDevicePrimaryCtxRetain"};
    driver_function<int> release_context{library, "cuDevicePrimaryCtxRelease_v2"};
    driver_function<cu_context> push_context{library, "cuCtxPushCurrent_v2"};
    driver_function<cu_context*> pop_context{library, "cuCtxPopCurrent_v2"};
    driver_function<> synchronize_context{library, "cuCtxSynchronize"};
    driver_function<cu_module*, const void*> load_module{library, "cuModuleLoadData"};
    driver_function<cu_module> unload_module{library, "cuModuleUnload"};
    driver_function<cu_function*, cu_module, const char*> get_function{library, "cuModuleGetFunction"};
    driver_function<int*, int, cu_function> get_function_attribute{library, "cuFuncGetAttribute"};
    driver_function<cu_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, cu_stream,
                    void**, void**>
        launch_kernel{library, "cuLaunchKernel"};
    driver_function<cu_memory*, std::size_t> allocate{library, "cuMemAlloc_v2"};
    driver_function<cu_memory> release{library, "cuMemFree_v2"};
    driver_function<void**, std::size_t, unsigned> allocate_pinned{library, "cuMemHostAlloc"};
    driver_function<void*> release_pinned{library, "cuMemFreeHost"};
    driver_function<cu_memory*, void*, unsigned> device_address{library, "cuMemHostGetDevicePointer_v2"};
    driver_function<void*, cu_memory, std::size_t, cu_stream> copy_to_host_async{library, "cuMemcpyDtoHAsync_v2"};
    driver_function<cu_memory, unsigned char, std::size_t, cu_stream> set_bytes_async{library, "cuMemsetD8Async"};
    driver_function<cu_stream> synchronize_stream{library, "cuStreamSynchronize"};
    driver_function<cu_stream, int*> is_capturing{library, "cuStreamIsCapturing"};

    static constexpr int multiprocessors = 16;          ///< CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
    static constexpr int registers = 4;                 ///< CU_FUNC_ATTRIBUTE_NUM_REGS
    static constexpr unsigned portable_and_mapped = 3;  ///< CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP

    /// The one of this process: libcuda.so.1, or the library that FLOPTALLY_CUDA_DRIVER names.
    [[nodiscard]] static const cuda_driver& get() {
        static const cuda_driver opened = [] {
            cuda_driver found;
            if (const cu_status status = found.init(0); status != 0) {
                throw error("device", "the CUDA driver does not start: " + found.name_of(status));
            }
            return found;
        }();
        return opened;
    }

    /// Throws where a call failed, with the driver's own name of what is wrong.
    static void require(cu_status status, const char* call) {
        if (status != 0) {
            throw error(call, get().name_of(status));
        }
    }

  private:
    [[nodiscard]] static void* open() {
        const char* const said = std::getenv("FLOPTALLY_CUDA_DRIVER");
        void* const opened = dlopen(said == nullptr ? "libcuda.so.1" : said, RTLD_NOW | RTLD_LOCAL);
        if (opened == nullptr) {
            throw error("device", "no CUDA driver can be opened: " + std::string(dlerror()));
        }
        return opened;
    }
    [[nodiscard]] std::string name_of(cu_status status) const {
        const char* name = nullptr;
        return get_error_name(status, &name) == 0 && name != nullptr ? name : "CUresult " + std::to_string(status);
    }
};

/// The primary context of a device, which PyTorch, JAX and CuPy work in too.
class driver_context {
  public:
    explicit driver_context(int ordinal) : ordinal_(ordinal) {
        const cuda_driver& driver = cuda_driver::get();
        cuda_driver::require(driver.get_device(&device_, ordinal), "cuDeviceGet");
        cuda_driver::require(driver.retain_context(&context_, device_), "cuDevicePrimaryCtxRetain");
    }
    driver_context(const driver_context&) = delete;
    driver_context& operator=(const driver_context&) = delete;
    ~driver_context() { cuda_driver::get().release_context(device_); }

    [[nodiscard]] int ordinal() const { return ordinal_; }
    [[nodiscard]] std::uint32_t multiprocessors() const {
        int found = 0;
        cuda_driver::require(cuda_driver::get().get_device_attribute(&found, cuda_driver::multiprocessors, device_),
                             "cuDeviceGetAttribute");
        return static_cast<std::uint32_t>(found);
    }

    /// Makes it current until its end, and then what was current before.
    class scope {
      public:
        explicit scope(const driver_context& of) {
            cuda_driver::require(cuda_driver::get().push_context(of.context_), "cuCtxPushCurrent");
        }
        scope(const scope&) = delete;
        scope& operator=(const scope&) = delete;
        ~scope() {
            cu_context popped = nullptr;
            cuda_driver::get().pop_context(&popped);
        }
    };

  private:
    int ordinal_;
    int device_ = 0;
    cu_context context_ = nullptr;
};

struct device_release {
    void operator()(void* memory) const noexcept {
        cuda_driver::get().release(reinterpret_cast<std::uintptr_t>(memory));
    }
};
struct pinned_release {
    void operator()(void* memory) const noexcept { cuda_driver::get().release_pinned(memory); }
};
struct module_unload {
    void operator()(cu_module module) const noexcept { cuda_driver::get().unload_module(module); }
};
/// Memory of the current context's device, and of the host that it writes to. Given back in the same context.
template <class T>
using driver_memory = std::unique_ptr<T[], device_release>;
using driver_pinned_words = std::unique_ptr<std::uint64_t[], pinned_release>;
using loaded_module = std::unique_ptr<cu_module_of_driver, module_unload>;

template <class T>
[[nodiscard]] driver_memory<T> allocate_on_device(std::size_t count) {
    cu_memory memory = 0;
    cuda_driver::require(cuda_driver::get().allocate(&memory, count * sizeof(T)), "cuMemAlloc");
    return driver_memory<T>(reinterpret_cast<T*>(memory));
}
[[nodiscard]] inline driver_pinned_words allocate_pinned_words(std::size_t count) {
    void* memory = nullptr;
    cuda_driver::require(
        cuda_driver::get().allocate_pinned(&memory, count * sizeof(std::uint64_t), cuda_driver::portable_and_mapped),
        "cuMemHostAlloc");
    driver_pinned_words words(static_cast<std::uint64_t*>(memory));
    for (std::size_t i = 0; i < count; ++i) {
        words[i] = 0;
    }
    return words;
}
[[nodiscard]] inline cu_memory address_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

}  // namespace floptally::detail::python
