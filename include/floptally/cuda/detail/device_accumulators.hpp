// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <floptally/cuda/detail/block.hpp>
#include <floptally/cuda/detail/snapshots.hpp>
#include <floptally/text/error.hpp>

namespace floptally::inline v0_3::detail {

/// The accumulators of a tally in device memory, their snapshots, constants for kernels, and the launches of kernels.
/// There is one allocation on the device and one on the host.
///
/// `Api` makes the device calls, through the CUDA runtime (`cuda_api`) or the driver. It has a class `scope` that makes
/// the device current, and functions for kernels, memory and streams. A call that fails throws. Only the constructor,
/// `read` and the destructor allocate, load or wait. The destructor waits for the whole device, because kernels may
/// still use the memory. It uses no stream, because the streams may already be destroyed.
template <class Api>
class device_accumulators {
  public:
    using stream = typename Api::stream;

    /// Makes `size` accumulators with the value 0. At most `snapshots` snapshots can wait for `next`. A later snapshot
    /// overwrites the oldest.
    device_accumulators(Api api, std::uint32_t size, std::span<const std::byte> constants, std::uint32_t snapshots)
        : api_(std::move(api)), size_(size) {
        require_positive(snapshots, "snapshots");
        const typename Api::scope scope(api_);
        const std::size_t in_slots = std::size_t{snapshots} * (std::size_t{1} + size);
        const std::size_t before = std::size_t{size} + 1;
        const std::size_t words = before + (constants.size() + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
        const std::size_t pinned = std::max(in_slots + size, words);
        // A local variable owns the memory. If a later call fails, the memory is released while the device is still
        // current.
        memory<Api::release> on_device(static_cast<std::uint64_t*>(api_.allocate(words * sizeof(std::uint64_t))));
        memory<Api::release_pinned> on_host(
            static_cast<std::uint64_t*>(api_.allocate_pinned(pinned * sizeof(std::uint64_t))));
        std::fill_n(on_host.get(), pinned, 0);
        std::memcpy(on_host.get() + before, constants.data(), constants.size());
        api_.copy_async(on_device.get(), on_host.get(), words * sizeof(std::uint64_t), nullptr);
        api_.synchronize(nullptr);
        std::fill_n(on_host.get(), pinned, 0);
        accumulators_ = std::move(on_device);
        pinned_ = std::move(on_host);
        staging_ = pinned_.get() + in_slots;
        // In 64-bit programs all devices can use pinned host memory at the host's address.
        slots_ = {pinned_.get(), accumulators_.get() + size, snapshots, size};
        reader_.emplace(slots_);
    }
    device_accumulators(const device_accumulators&) = delete;
    device_accumulators& operator=(const device_accumulators&) = delete;
    ~device_accumulators() {
        quietly([&] {
            const typename Api::scope scope(api_);
            accumulators_.reset();  // releasing the memory waits for the device
            pinned_.reset();
        });
    }

    /// Launches the kernel of `Body` on a stream. `name` is the name of the call in errors.
    template <class Body>
    void launch(const launch_shape& shape, stream queue, std::string_view name, const typename Body::arguments& args) {
        const typename Api::scope scope(api_, queue);
        api_.template launch<Body>(shape, queue, name, args);
    }
    /// Queues a snapshot as one launch. If `reset` is true, the accumulators are then set to 0.
    void snapshot_async(bool reset, stream queue, std::string_view name) {
        launch<take_snapshot>(take_snapshot::shape, queue, name, {accumulators_.get(), slots_, reset});
    }
    void reset_async(stream queue) {
        const typename Api::scope scope(api_, queue);
        api_.set_to_zero_async(accumulators_.get(), size_ * sizeof(std::uint64_t), queue);
    }
    /// Returns the accumulators of the next snapshot, or an empty result if it has not arrived. The returned span is
    /// valid until the next call. Never blocks and makes no device call.
    [[nodiscard]] std::optional<std::span<const std::uint64_t>> next() { return reader_->next(); }
    /// Returns how many snapshots `next` has returned, or skipped because they were overwritten.
    [[nodiscard]] std::uint64_t passed() const { return reader_->passed(); }
    /// Returns the accumulators after all work that is queued on the stream. Blocks until the stream has done that
    /// work.
    [[nodiscard]] std::span<const std::uint64_t> read(stream queue) const {
        const typename Api::scope scope(api_, queue);
        if (api_.is_capturing(queue)) {
            throw error(
                "read",
                "cannot wait for a stream that is being captured: take a snapshot and call poll() after the capture");
        }
        api_.copy_async(staging_, accumulators_.get(), size_ * sizeof(std::uint64_t), queue);
        api_.synchronize(queue);
        return {staging_, size_};
    }

    [[nodiscard]] const Api& api() const { return api_; }
    [[nodiscard]] std::uint64_t* accumulators() const { return accumulators_.get(); }
    [[nodiscard]] std::uint32_t size() const { return size_; }
    /// Returns the kernels' constants in device memory, as an object of type `T`.
    template <class T>
    [[nodiscard]] const T* constants() const {
        return reinterpret_cast<const T*>(accumulators_.get() + size_ + 1);
    }

  private:
    /// Makes a device call from a destructor and ignores its error: the process may be ending, and the driver with it.
    template <class Call>
    static void quietly(const Call& call) noexcept {
        try {
            call();
        } catch (const error&) {
        }
    }
    template <void (*Release)(void*)>
    struct released_by {
        void operator()(std::uint64_t* memory) const noexcept {
            quietly([&] { Release(memory); });
        }
    };
    template <void (*Release)(void*)>
    using memory = std::unique_ptr<std::uint64_t[], released_by<Release>>;

    Api api_;
    std::uint32_t size_;
    memory<Api::release> accumulators_;   // device memory with the accumulators, the number of snapshots and the
                                          // kernels' constants
    memory<Api::release_pinned> pinned_;  // host memory with the slots of snapshots, and the memory that `read` copies
                                          // to
    std::uint64_t* staging_ = nullptr;
    snapshot_slots slots_{};
    std::optional<snapshot_reader> reader_;
};

}  // namespace floptally::detail
