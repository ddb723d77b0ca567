// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <floptally/cuda/detail/block.hpp>
#include <floptally/text/error.hpp>

#include "device_kernels.hpp"

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
    driver_function<int*> get_version{library, "cuDriverGetVersion"};
    driver_function<cu_module*, const void*> load_module{library, "cuModuleLoadData"};
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
    driver_function<cu_memory, const void*, std::size_t> copy_to_device{library, "cuMemcpyHtoD_v2"};
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
    static void require(cu_status status, std::string_view call) {
        if (status != 0) {
            throw error(call, get().name_of(status));
        }
    }
    /// Throws where the driver does not take the kernels: it may be older than what built them.
    static void require_loaded(cu_status status) {
        int version = 0;
        if (status != 0 && get().get_version(&version) == 0) {
            throw error("cuModuleLoadData",
                        get().name_of(status) + ": the driver is of CUDA " + std::to_string(version / 1000) + "." +
                            std::to_string(version % 1000 / 10) + ", and the kernels need one of CUDA " +
                            FLOPTALLY_KERNELS_NEED
                            " or later: update it, or build floptally with an older ptxas "
                            "(FLOPTALLY_PTXAS)");
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

/// The kernels of the package on one device, loaded once a process and until it ends: its primary context, which
/// PyTorch, JAX and CuPy work in too, and each kernel by its name.
struct loaded_kernels {
    int ordinal;
    cu_context context = nullptr;
    std::uint32_t multiprocessors = 0;
    std::map<std::string_view, cu_function> functions{};

    /// `image()` is what nvcc has made of examples/python/src/kernels.cu.
    loaded_kernels(int number, const std::function<std::string()>& image);
};

/// A device by the driver: for `device_words`. All but `launch` works on the current device.
class driver_api {
  public:
    using stream = cu_stream;

    driver_api(int ordinal, const std::function<std::string()>& image) {
        static std::map<int, loaded_kernels> of_process;  // under the GIL
        kernels_ = &of_process.try_emplace(ordinal, ordinal, image).first->second;
    }

    [[nodiscard]] int number() const { return kernels_->ordinal; }
    [[nodiscard]] std::uint32_t multiprocessors() const { return kernels_->multiprocessors; }

    /// Makes a context current until its end, and then what was current before.
    class scope {
      public:
        explicit scope(const loaded_kernels& of) {
            cuda_driver::require(cuda_driver::get().push_context(of.context), "cuCtxPushCurrent");
        }
        explicit scope(const driver_api& of, stream /*on*/ = nullptr) : scope(*of.kernels_) {}
        scope(const scope&) = delete;
        scope& operator=(const scope&) = delete;
        ~scope() {
            cu_context popped = nullptr;
            cuda_driver::get().pop_context(&popped);
        }
    };

    [[nodiscard]] static void* allocate(std::size_t bytes) {
        cu_memory memory = 0;
        cuda_driver::require(cuda_driver::get().allocate(&memory, bytes), "cuMemAlloc");
        return reinterpret_cast<void*>(memory);
    }
    static void release(void* memory) noexcept { cuda_driver::get().release(address_of(memory)); }
    [[nodiscard]] static void* allocate_pinned(std::size_t bytes) {
        void* memory = nullptr;
        cuda_driver::require(cuda_driver::get().allocate_pinned(&memory, bytes, cuda_driver::portable_and_mapped),
                             "cuMemHostAlloc");
        return memory;
    }
    static void release_pinned(void* memory) noexcept { cuda_driver::get().release_pinned(memory); }
    [[nodiscard]] static std::uint64_t* seen_by_device(std::uint64_t* pinned) {
        cu_memory seen = 0;
        cuda_driver::require(cuda_driver::get().device_address(&seen, pinned, 0), "cuMemHostGetDevicePointer");
        return reinterpret_cast<std::uint64_t*>(seen);
    }
    static void copy_to_device(void* to, const void* from, std::size_t bytes) {
        cuda_driver::require(cuda_driver::get().copy_to_device(address_of(to), from, bytes), "cuMemcpyHtoD");
        finish(nullptr);  // from pageable memory it may be on its way still
    }
    static void copy_to_host(void* to, const void* from, std::size_t bytes, stream on) {
        cuda_driver::require(cuda_driver::get().copy_to_host_async(to, address_of(from), bytes, on),
                             "cuMemcpyDtoHAsync");
        cuda_driver::require(cuda_driver::get().synchronize_stream(on), "cuStreamSynchronize");
    }
    static void set_to_zero(void* memory, std::size_t bytes, stream on) {
        cuda_driver::require(cuda_driver::get().set_bytes_async(address_of(memory), 0, bytes, on), "cuMemsetD8Async");
    }
    static void refuse_capture(stream on, const char* call, const char* why) {
        int captures = 0;
        cuda_driver::require(cuda_driver::get().is_capturing(on, &captures), "cuStreamIsCapturing");
        if (captures != 0) {
            throw error(call, why);
        }
    }
    static void finish(stream on) noexcept { cuda_driver::get().synchronize_stream(on); }

    template <class Body>
    void launch(const launch_shape& shape, stream on, std::string_view name,
                const typename Body::arguments& given) const {
        void* arguments[] = {const_cast<void*>(static_cast<const void*>(&given))};
        cuda_driver::require(
            cuda_driver::get().launch_kernel(
                kernels_->functions.at(device_kernel<Body>::symbol), shape.blocks, 1, 1, shape.threads, 1, 1,
                static_cast<unsigned>(shape.shared_words * sizeof(std::uint64_t)), on, arguments, nullptr),
            name);
    }

  private:
    [[nodiscard]] static cu_memory address_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

    const loaded_kernels* kernels_;
};

}  // namespace floptally::detail::python
