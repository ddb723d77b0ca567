// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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
/// CUDA's driver, loaded at the first use, so that the extension builds and runs without CUDA. The types are those of
/// its C ABI (cuda.h), where a device address is a number as large as a pointer.

namespace floptally::python {

using cu_context = struct cu_context_of_driver*;
using cu_function = struct cu_function_of_driver*;
using cu_stream = struct cu_stream_of_driver*;

/// The name of a function in the driver's library: "cuMemAlloc_v2".
struct driver_name {
    char text[32]{};

    template <std::size_t Size>
    consteval driver_name(const char (&name)[Size]) {  // NOLINT(google-explicit-constructor): a literal
        std::copy_n(name, Size, text);
    }
};

/// The driver's library: libcuda.so.1, or the file that FLOPTALLY_CUDA_DRIVER names.
[[nodiscard]] inline void* driver_library() {
    static void* const opened = [] {
        const char* const said = std::getenv("FLOPTALLY_CUDA_DRIVER");
        void* const found = dlopen(said == nullptr ? "libcuda.so.1" : said, RTLD_NOW | RTLD_LOCAL);
        if (found == nullptr) {
            throw error(
                "device",
                "has no CUDA driver that can be loaded: install one, or set FLOPTALLY_CUDA_DRIVER to its path; " +
                    std::string(dlerror()));
        }
        return found;
    }();
    return opened;
}

/// Calls a function of the driver. Its parameter types must be exactly the types of the arguments.
template <driver_name Name, class... Arguments>
int status_of(Arguments... args) {
    static void* const found = dlsym(driver_library(), Name.text);
    if (found == nullptr) {
        throw error("device", std::string("this CUDA driver has no ") + Name.text + ": CUDA 11 or later is needed");
    }
    return reinterpret_cast<int (*)(Arguments...)>(found)(args...);
}
/// Like the above. Throws if the call fails, with the driver's own name of the error.
template <driver_name Name, class... Arguments>
void call_driver(Arguments... args) {
    if (const int status = status_of<Name>(args...); status != 0) {
        const std::string_view call = Name.text;
        const char* name = nullptr;
        const bool is_named = status_of<"cuGetErrorName">(status, &name) == 0 && name != nullptr;
        throw error(call.substr(0, call.find("_v2")), is_named ? name : "CUresult " + std::to_string(status));
    }
}

/// A device of the driver, for `basic_device_tally`: its primary context, which PyTorch, JAX and CuPy also use, and the
/// kernels of the package. Kernels are loaded once per process and stay loaded.
class driver_api {
  public:
    using stream = cu_stream;

    /// `image()`: the result of nvcc for examples/python/src/kernels.cu.
    driver_api(int ordinal, const std::function<std::string()>& image);

    [[nodiscard]] int number() const { return number_; }
    [[nodiscard]] std::uint32_t multiprocessors() const { return static_cast<std::uint32_t>(loaded_->multiprocessors); }

    /// Makes the device current during a scope.
    class scope {
      public:
        explicit scope(const driver_api& owner, stream /*on*/ = nullptr) {
            call_driver<"cuCtxPushCurrent_v2">(owner.loaded_->context);
        }
        scope(const scope&) = delete;
        scope& operator=(const scope&) = delete;
        ~scope() {
            cu_context popped = nullptr;
            status_of<"cuCtxPopCurrent_v2">(&popped);
        }
    };

    [[nodiscard]] static void* allocate(std::size_t bytes) {
        void* memory = nullptr;
        call_driver<"cuMemAlloc_v2">(&memory, bytes);
        return memory;
    }
    static void release(void* memory) { call_driver<"cuMemFree_v2">(memory); }
    [[nodiscard]] static void* allocate_pinned(std::size_t bytes) {
        void* memory = nullptr;
        call_driver<"cuMemHostAlloc">(&memory, bytes, 3U);  // CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP
        return memory;
    }
    static void release_pinned(void* memory) { call_driver<"cuMemFreeHost">(memory); }
    static void copy_async(void* to, const void* from, std::size_t bytes, stream on) {
        call_driver<"cuMemcpyAsync">(to, from, bytes, on);
    }
    static void set_to_zero_async(void* memory, std::size_t bytes, stream on) {
        call_driver<"cuMemsetD8Async">(memory, static_cast<unsigned char>(0), bytes, on);
    }
    static void synchronize(stream on) { call_driver<"cuStreamSynchronize">(on); }
    [[nodiscard]] static bool is_capturing(stream on) {
        int captures = 0;
        call_driver<"cuStreamIsCapturing">(on, &captures);
        return captures != 0;
    }
    template <class Body>
    void launch(const detail::launch_shape& shape, stream on, std::string_view /*call*/,
                const typename Body::arguments& parameters) const {
        static_assert(symbol_of<Body> != nullptr, "device_kernels.hpp does not list this kernel");
        void* arguments[] = {const_cast<void*>(static_cast<const void*>(&parameters))};
        const auto bytes = static_cast<unsigned>(shape.shared_words * sizeof(std::uint64_t));
        call_driver<"cuLaunchKernel">(loaded_->kernels.at(symbol_of<Body>), shape.blocks, 1U, 1U, shape.threads, 1U, 1U,
                                      bytes, on, &arguments[0], static_cast<void**>(nullptr));
    }

  private:
    struct loaded_device {
        cu_context context = nullptr;
        int multiprocessors = 0;
        std::map<std::string_view, cu_function> kernels{};
    };

    int number_;
    const loaded_device* loaded_;
};

}  // namespace floptally::python
