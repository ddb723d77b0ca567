// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <pybind11/pybind11.h>
#include <span>
#include <string>
#include <string_view>

#include <floptally/batch/mask_set.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/cuda/refusals.hpp>
#include <floptally/detail/cuda/snapshots.hpp>
#include <floptally/detail/cuda/word_schema.hpp>
#include <floptally/detail/python/cuda_driver.hpp>
#include <floptally/detail/python/device_kernels.hpp>
#include <floptally/error.hpp>
#include <floptally/statistics/library_rules.hpp>
#include <floptally/tally.hpp>

namespace floptally::detail::python {

namespace py = pybind11;

/// The words of a tally on a device, and what launches kernels on them: `device_tally` by the kernels that the package
/// has, through the driver. Nothing is allocated, loaded or waited for but in the constructor, `read` and at the end.
class device_state {
  public:
    /// `kernels` is what nvcc has made of examples/python/kernels.cu.
    device_state(const mask_set& masks, int device, std::uint32_t snapshots, const std::string& kernels)
        : empty_(known(masks)), schema_(masks) {
        require_positive(snapshots, "snapshots");
        context_.emplace(device);
        const driver_context::scope on(*context_);
        load(kernels);
        multiprocessors_ = context_->multiprocessors();

        const cuda_driver& driver = cuda_driver::get();
        const std::size_t bytes = (std::size_t{state_words()} + 1) * sizeof(std::uint64_t);
        owns_.words = allocate_on_device<std::uint64_t>(state_words() + 1);
        owns_.staging = allocate_pinned_words(state_words());
        owns_.ring = allocate_pinned_words(std::size_t{snapshots} * (std::size_t{1} + state_words()));
        cu_memory seen = 0;
        cuda_driver::require(driver.device_address(&seen, owns_.ring.get(), 0), "cuMemHostGetDevicePointer");
        slots_ = {reinterpret_cast<std::uint64_t*>(seen), owns_.words.get() + state_words(), snapshots, state_words()};
        reader_.emplace(snapshot_slots{owns_.ring.get(), nullptr, snapshots, state_words()});
        cuda_driver::require(driver.set_bytes_async(address_of(owns_.words.get()), 0, bytes, nullptr),
                             "cuMemsetD8Async");
        cuda_driver::require(driver.synchronize_context(), "cuCtxSynchronize");
    }
    device_state(const device_state&) = delete;
    device_state& operator=(const device_state&) = delete;
    ~device_state() {
        try {
            const driver_context::scope on(*context_);
            static_cast<void>(cuda_driver::get().synchronize_context());  // kernels may use what is given back
            owns_ = {};
        } catch (const error&) {  // the process ends, and so the driver
        }
    }

    /// One launch that adds a list.
    template <class List>
    void add(const List& list, cu_stream stream) {
        launch(device_kernel<List>::symbol, launch_of(list, schema_.columns(), multiprocessors_), stream, "add", list,
               schema_, owns_.words.get(), ++calls_);
    }

    /// Keeps what the stream has counted so far for `poll`; with `reset` it begins anew behind it. One launch.
    void snapshot(bool reset, cu_stream stream) {
        launch(snapshot_kernel, launch_of_snapshot, stream, "snapshot", owns_.words.get(), slots_, reset);
        calls_ = reset ? 0 : calls_;
    }

    /// Begins anew, error included.
    void reset(cu_stream stream) {
        const driver_context::scope on(*context_);
        cuda_driver::require(cuda_driver::get().set_bytes_async(address_of(owns_.words.get()), 0,
                                                                state_words() * sizeof(std::uint64_t), stream),
                             "cuMemsetD8Async");
        calls_ = 0;
    }

    /// The words of the next snapshot that is there, in order, or none: it reads memory, and asks nobody.
    [[nodiscard]] std::optional<std::span<const std::uint64_t>> next() { return reader_->next(); }

    /// What the stream has counted so far. Waits until it has done all that is queued on it, without the GIL.
    [[nodiscard]] std::span<const std::uint64_t> read(cu_stream stream) {
        const cuda_driver& driver = cuda_driver::get();
        const driver_context::scope on(*context_);
        int captures = 0;
        cuda_driver::require(driver.is_capturing(stream, &captures), "cuStreamIsCapturing");
        if (captures != 0) {
            throw error("read", "waits for the stream, which is being captured: take a snapshot, and poll");
        }
        cuda_driver::require(driver.copy_to_host_async(owns_.staging.get(), address_of(owns_.words.get()),
                                                       state_words() * sizeof(std::uint64_t), stream),
                             "cuMemcpyDtoHAsync");
        const py::gil_scoped_release released;
        cuda_driver::require(driver.synchronize_stream(stream), "cuStreamSynchronize");
        return {owns_.staging.get(), state_words()};
    }

    [[nodiscard]] int device() const { return context_->ordinal(); }
    [[nodiscard]] const mask_set& masks() const { return empty_.masks(); }

  private:
    /// What is on the device, and what it writes to.
    struct resources {
        loaded_module module{};
        driver_memory<std::uint64_t> words{};  // of both views, the record behind them, how many snapshots there were
        driver_pinned_words staging{};
        driver_pinned_words ring{};
    };

    [[nodiscard]] static tally known(const mask_set& masks) {
        tally empty{masks};
        require_known(empty.masks(), library_rules{});
        return empty;
    }

    void load(const std::string& kernels) {
        const cuda_driver& driver = cuda_driver::get();
        cu_module loaded = nullptr;
        cuda_driver::require(driver.load_module(&loaded, kernels.data()), "cuModuleLoadData");
        owns_.module = loaded_module(loaded);
        for (const char* const name : device_kernels) {
            cu_function function = nullptr;
            int registers = 0;
            cuda_driver::require(driver.get_function(&function, loaded, name), name);
            // Loads it: left alone, the driver may do so at the first launch, which must not be in a capture.
            cuda_driver::require(driver.get_function_attribute(&registers, cuda_driver::registers, function), name);
            functions_[name] = function;
        }
    }

    [[nodiscard]] std::uint32_t state_words() const { return schema_.size() + refusal_words; }
    template <class... Arguments>
    void launch(const char* kernel, const launch_shape& shape, cu_stream stream, const char* name,
                const Arguments&... arguments) {
        void* pointers[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
        const driver_context::scope on(*context_);
        cuda_driver::require(
            cuda_driver::get().launch_kernel(functions_.at(kernel), shape.blocks, 1, 1, shape.threads, 1, 1,
                                             static_cast<unsigned>(shape.shared_words * sizeof(std::uint64_t)), stream,
                                             pointers, nullptr),
            name);
    }

    tally empty_;
    word_schema schema_;
    std::optional<driver_context> context_;
    resources owns_;
    std::map<std::string_view, cu_function> functions_;
    snapshot_slots slots_{};
    std::optional<snapshot_reader> reader_;
    std::uint32_t multiprocessors_ = 0;
    std::uint32_t calls_ = 0;  // since the last reset
};

}  // namespace floptally::detail::python
