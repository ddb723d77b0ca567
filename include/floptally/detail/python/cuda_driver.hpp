// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <memory>
#include <string>

#include <floptally/error.hpp>

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

struct cuda_driver {
    cu_status (*init)(unsigned flags);
    cu_status (*get_device)(int* device, int ordinal);
    cu_status (*get_device_attribute)(int* value, int which, int device);
    cu_status (*get_error_name)(cu_status status, const char** name);
    cu_status (*retain_context)(cu_context* context, int device);
    cu_status (*release_context)(int device);
    cu_status (*push_context)(cu_context context);
    cu_status (*pop_context)(cu_context* context);
    cu_status (*synchronize_context)();
    cu_status (*load_module)(cu_module* module, const void* image);
    cu_status (*unload_module)(cu_module module);
    cu_status (*get_function)(cu_function* function, cu_module module, const char* name);
    cu_status (*get_function_attribute)(int* value, int which, cu_function function);
    cu_status (*launch_kernel)(cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                               unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                               cu_stream stream, void** arguments, void** extra);
    cu_status (*allocate)(cu_memory* memory, std::size_t bytes);
    cu_status (*release)(cu_memory memory);
    cu_status (*allocate_pinned)(void** memory, std::size_t bytes, unsigned flags);
    cu_status (*release_pinned)(void* memory);
    cu_status (*device_address)(cu_memory* seen, void* pinned, unsigned flags);
    cu_status (*copy_to_host_async)(void* to, cu_memory from, std::size_t bytes, cu_stream stream);
    cu_status (*set_bytes_async)(cu_memory memory, unsigned char value, std::size_t bytes, cu_stream stream);
    cu_status (*synchronize_stream)(cu_stream stream);
    cu_status (*is_capturing)(cu_stream stream, int* status);

    static constexpr int multiprocessors = 16;          ///< CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
    static constexpr int registers = 4;                 ///< CU_FUNC_ATTRIBUTE_NUM_REGS
    static constexpr unsigned portable_and_mapped = 3;  ///< CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP

    /// The one of this process: libcuda.so.1, or the library that FLOPTALLY_CUDA_DRIVER names.
    [[nodiscard]] static const cuda_driver& get() {
        static const cuda_driver opened = open();
        return opened;
    }

    /// Throws where a call failed, with the driver's own name of what is wrong.
    static void require(cu_status status, const char* call) {
        if (status != 0) {
            const char* name = nullptr;
            throw error(call, get().get_error_name(status, &name) == 0 && name != nullptr
                                  ? std::string(name)
                                  : "CUresult " + std::to_string(status));
        }
    }

  private:
    [[nodiscard]] static cuda_driver open() {
        const char* const said = std::getenv("FLOPTALLY_CUDA_DRIVER");
        void* const library = dlopen(said == nullptr ? "libcuda.so.1" : said, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            throw error("device", "no CUDA driver can be opened: " + std::string(dlerror()));
        }
        cuda_driver d{};
        find(library, "cuInit", d.init);
        find(library, "cuDeviceGet", d.get_device);
        find(library, "cuDeviceGetAttribute", d.get_device_attribute);
        find(library, "cuGetErrorName", d.get_error_name);
        find(library, "cuDevicePrimaryCtxRetain", d.retain_context);
        find(library, "cuDevicePrimaryCtxRelease_v2", d.release_context);
        find(library, "cuCtxPushCurrent_v2", d.push_context);
        find(library, "cuCtxPopCurrent_v2", d.pop_context);
        find(library, "cuCtxSynchronize", d.synchronize_context);
        find(library, "cuModuleLoadData", d.load_module);
        find(library, "cuModuleUnload", d.unload_module);
        find(library, "cuModuleGetFunction", d.get_function);
        find(library, "cuFuncGetAttribute", d.get_function_attribute);
        find(library, "cuLaunchKernel", d.launch_kernel);
        find(library, "cuMemAlloc_v2", d.allocate);
        find(library, "cuMemFree_v2", d.release);
        find(library, "cuMemHostAlloc", d.allocate_pinned);
        find(library, "cuMemFreeHost", d.release_pinned);
        find(library, "cuMemHostGetDevicePointer_v2", d.device_address);
        find(library, "cuMemcpyDtoHAsync_v2", d.copy_to_host_async);
        find(library, "cuMemsetD8Async", d.set_bytes_async);
        find(library, "cuStreamSynchronize", d.synchronize_stream);
        find(library, "cuStreamIsCapturing", d.is_capturing);
        if (const cu_status status = d.init(0); status != 0) {
            const char* name = nullptr;
            throw error("device",
                        "the CUDA driver does not start: " + (d.get_error_name(status, &name) == 0 && name != nullptr
                                                                  ? std::string(name)
                                                                  : "CUresult " + std::to_string(status)));
        }
        return d;
    }

    template <class Function>
    static void find(void* library, const char* name, Function& to) {
        to = reinterpret_cast<Function>(dlsym(library, name));
        if (to == nullptr) {
            throw error("device", std::string("this CUDA driver has no ") + name + ": CUDA 11 or later is needed");
        }
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
