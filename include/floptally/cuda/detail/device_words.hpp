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
#include <vector>

#include <floptally/cuda/detail/block.hpp>
#include <floptally/cuda/detail/snapshots.hpp>
#include <floptally/text/error.hpp>

namespace floptally::detail {

/// Words in the memory of a device, with snapshots of them, constants for kernels beside them, and what launches
/// kernels on them: one allocation on the device and one on the host.
///
/// `Api` is a device by the runtime (`cuda_api`) or by the driver: `scope`, in which it is current, memory, copies and
/// launches. Nothing is allocated, loaded or waited for but in the constructor, in `read` and at the end, which waits
/// for the streams that it was given, since kernels may use the memory until then.
template <class Api>
class device_words {
  public:
    using stream = typename Api::stream;

    /// `size` words, all 0, of which at most `snapshots` wait for `next`.
    device_words(Api api, std::uint32_t size, std::span<const std::byte> constants, std::uint32_t snapshots)
        : api_(std::move(api)), size_(size) {
        require_positive(snapshots, "snapshots");
        const typename Api::scope on(api_);
        const std::size_t before = std::size_t{size} + 1;
        std::vector<std::uint64_t> image(before +
                                         (constants.size() + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
        std::memcpy(image.data() + before, constants.data(), constants.size());
        words_.reset(static_cast<std::uint64_t*>(Api::allocate(image.size() * sizeof(std::uint64_t))));
        Api::copy_to_device(words_.get(), image.data(), image.size() * sizeof(std::uint64_t));
        const std::size_t slots = std::size_t{snapshots} * (std::size_t{1} + size);
        pinned_.reset(static_cast<std::uint64_t*>(Api::allocate_pinned((slots + size) * sizeof(std::uint64_t))));
        std::fill_n(pinned_.get(), slots + size, 0);
        staging_ = pinned_.get() + slots;
        slots_ = {pinned_.get(), words_.get() + size, snapshots, size};
        reader_.emplace(slots_);
        slots_.words = Api::seen_by_device(pinned_.get());
    }
    device_words(const device_words&) = delete;
    device_words& operator=(const device_words&) = delete;
    ~device_words() {
        try {
            const typename Api::scope on(api_);
            for (const stream one : streams_) {
                Api::finish(one);
            }
            words_.reset();
            pinned_.reset();
        } catch (const error&) {  // the process ends, and so the driver
        }
    }

    /// Launches the kernel of `Body`; `name` is the call in errors.
    template <class Body>
    void launch(const launch_shape& shape, stream on, std::string_view name, const typename Body::arguments& given) {
        const typename Api::scope here(api_, on);
        remember(on);
        api_.template launch<Body>(shape, on, name, given);
    }
    /// Takes a snapshot in one launch. With `reset` the words are set to 0 after it.
    void snapshot_async(bool reset, stream on, std::string_view name) {
        launch<take_snapshot>(take_snapshot::shape, on, name, {words_.get(), slots_, reset});
    }
    void reset_async(stream on) {
        const typename Api::scope here(api_, on);
        remember(on);
        Api::set_to_zero(words_.get(), size_ * sizeof(std::uint64_t), on);
    }
    /// The words of the next snapshot, or none; valid until the next call. Never blocks, and asks nobody.
    [[nodiscard]] std::optional<std::span<const std::uint64_t>> next() { return reader_->next(); }
    /// The words after all that is queued on the stream. Blocks until the stream has done it.
    [[nodiscard]] std::span<const std::uint64_t> read(stream on) const {
        const typename Api::scope here(api_, on);
        Api::refuse_capture(on, "read", "waits for the stream, which is being captured: take a snapshot, and poll");
        Api::copy_to_host(staging_, words_.get(), size_ * sizeof(std::uint64_t), on);
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
    struct release {
        void operator()(std::uint64_t* memory) const noexcept { Api::release(memory); }
    };
    struct release_pinned {
        void operator()(std::uint64_t* memory) const noexcept { Api::release_pinned(memory); }
    };

    void remember(stream on) {
        if (std::find(streams_.rbegin(), streams_.rend(), on) == streams_.rend()) {
            streams_.push_back(on);
        }
    }

    Api api_;
    std::uint32_t size_;
    std::unique_ptr<std::uint64_t[], release> words_;          // the number of snapshots and the constants after them
    std::unique_ptr<std::uint64_t[], release_pinned> pinned_;  // slots of snapshots, and what `read` copies to
    std::uint64_t* staging_ = nullptr;
    snapshot_slots slots_{};
    std::optional<snapshot_reader> reader_;
    std::vector<stream> streams_;
};

}  // namespace floptally::detail
