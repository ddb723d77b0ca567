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

namespace floptally::detail {

/// Words in the memory of a device, with snapshots of them, constants for kernels beside them, and what launches
/// kernels on them: one allocation on the device and one on the host.
///
/// `Api` is a device by the runtime (`cuda_api`) or by the driver: a `scope` in which it is current, what launches a
/// kernel, and calls for memory and streams, which throw where they fail. Nothing is allocated, loaded or waited for
/// but in the constructor, in `read` and at the end, which waits for the device, since kernels may use the memory until
/// then. Streams may be gone by then.
template <class Api>
class device_words {
  public:
    using stream = typename Api::stream;

    /// `size` words, all 0, of which at most `snapshots` wait for `next`.
    device_words(Api api, std::uint32_t size, std::span<const std::byte> constants, std::uint32_t snapshots)
        : api_(std::move(api)), size_(size) {
        require_positive(snapshots, "snapshots");
        const typename Api::scope on(api_);
        const std::size_t in_slots = std::size_t{snapshots} * (std::size_t{1} + size);
        const std::size_t before = std::size_t{size} + 1;
        const std::size_t words = before + (constants.size() + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
        const std::size_t pinned = std::max(in_slots + size, words);
        // Given back within the scope where a later call fails.
        memory<Api::release> on_device(static_cast<std::uint64_t*>(api_.allocate(words * sizeof(std::uint64_t))));
        memory<Api::release_pinned> on_host(
            static_cast<std::uint64_t*>(api_.allocate_pinned(pinned * sizeof(std::uint64_t))));
        std::fill_n(on_host.get(), pinned, 0);
        std::memcpy(on_host.get() + before, constants.data(), constants.size());
        api_.copy_async(on_device.get(), on_host.get(), words * sizeof(std::uint64_t), nullptr);
        api_.synchronize(nullptr);
        std::fill_n(on_host.get(), pinned, 0);
        words_ = std::move(on_device);
        pinned_ = std::move(on_host);
        staging_ = pinned_.get() + in_slots;
        // All devices of a 64-bit program see pinned memory by the host's address.
        slots_ = {pinned_.get(), words_.get() + size, snapshots, size};
        reader_.emplace(slots_);
    }
    device_words(const device_words&) = delete;
    device_words& operator=(const device_words&) = delete;
    ~device_words() {
        quietly([&] {
            const typename Api::scope on(api_);
            words_.reset();  // waits for the device
            pinned_.reset();
        });
    }

    /// Launches the kernel of `Body`; `name` is the call in errors.
    template <class Body>
    void launch(const launch_shape& shape, stream on, std::string_view name, const typename Body::arguments& given) {
        const typename Api::scope here(api_, on);
        api_.template launch<Body>(shape, on, name, given);
    }
    /// Takes a snapshot in one launch. With `reset` the words are set to 0 after it.
    void snapshot_async(bool reset, stream on, std::string_view name) {
        launch<take_snapshot>(take_snapshot::shape, on, name, {words_.get(), slots_, reset});
    }
    void reset_async(stream on) {
        const typename Api::scope here(api_, on);
        api_.set_to_zero_async(words_.get(), size_ * sizeof(std::uint64_t), on);
    }
    /// The words of the next snapshot, or none; valid until the next call. Never blocks, and asks nobody.
    [[nodiscard]] std::optional<std::span<const std::uint64_t>> next() { return reader_->next(); }
    /// The number of snapshots that `next` has passed.
    [[nodiscard]] std::uint64_t passed() const { return reader_->passed(); }
    /// The words after all that is queued on the stream. Blocks until the stream has done it.
    [[nodiscard]] std::span<const std::uint64_t> read(stream on) const {
        const typename Api::scope here(api_, on);
        if (api_.is_capturing(on)) {
            throw error("read", "waits for the stream, which is being captured: take a snapshot, and poll");
        }
        api_.copy_async(staging_, words_.get(), size_ * sizeof(std::uint64_t), on);
        api_.synchronize(on);
        return {staging_, size_};
    }

    [[nodiscard]] const Api& api() const { return api_; }
    [[nodiscard]] std::uint64_t* words() const { return words_.get(); }
    [[nodiscard]] std::uint32_t size() const { return size_; }
    /// The constants, in the memory of the device.
    template <class T>
    [[nodiscard]] const T* constants() const {
        return reinterpret_cast<const T*>(words_.get() + size_ + 1);
    }

  private:
    /// Makes a call at the end, where nobody takes its error: the process ends, and so the driver.
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
    memory<Api::release> words_;          // the number of snapshots and the constants after them
    memory<Api::release_pinned> pinned_;  // slots of snapshots, and what `read` copies to
    std::uint64_t* staging_ = nullptr;
    snapshot_slots slots_{};
    std::optional<snapshot_reader> reader_;
};

}  // namespace floptally::detail
