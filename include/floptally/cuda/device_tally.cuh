// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <optional>
#include <span>

#include <floptally/batch/length_refusals.hpp>
#include <floptally/batch/lengths.hpp>
#include <floptally/batch/sample_checks.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/cuda/cuda_error.hpp>
#include <floptally/cuda/detail/cuda_context.hpp>
#include <floptally/cuda/detail/kernels.cuh>
#include <floptally/cuda/detail/length_lists.hpp>
#include <floptally/cuda/detail/snapshot_ring.cuh>
#include <floptally/cuda/detail/word_schema.hpp>
#include <floptally/cuda/device_reading.hpp>
#include <floptally/cuda/device_tally_ref.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/text/error.hpp>

/// @file
/// A tally in the memory of a device, which adds arrays that are there.

namespace floptally {

/// The sizes of a device tally.
struct device_tally_options {
    std::uint32_t snapshots = 64;  ///< the most that wait for `poll`
    std::uint32_t max_blocks = 0;  ///< of one launch; 0: as many as the device runs at once
};

/// A tally in the memory of the device that is current where it is constructed: exact sums of lengths that are on the
/// device already, without a copy to the host and without waiting for one.
///
/// It works on that device whichever device is current where it is called, and takes streams of that device; the
/// default stream of another is an error. Everything but `read` is queued on a stream and returns at once; each add is
/// one launch, whatever the number of masks, and can be captured in a graph. Arrays hold 32- or 64-bit integers in
/// device memory, and must stay until the stream has passed. A sequence that cannot be counted is left out and
/// recorded: `read` and `poll` throw `left_out` for it, with the words that a tally of the host would have thrown. Adds
/// on several streams add up; a snapshot or a reset must be ordered after them, by a stream or an event. One host
/// thread at a time. Its destructor waits for all work that is queued on its device.
///
/// Its kernels are compiled with the structs of `Rules`, a `rule_list`; masks of other structs are an error in the
/// constructor, before any call to the device.
template <class Rules>
class basic_device_tally {
  public:
    /// The type of the tally inside a kernel.
    using ref_type = basic_device_tally_ref<Rules>;

    explicit basic_device_tally(const mask_set& masks, const device_tally_options& options = {})
        : empty_(known(masks)),
          device_(detail::current_cuda_device()),
          schema_(masks),
          schema_on_device_(detail::copied_to_device(std::span<const detail::word_schema>(&schema_, 1))),
          words_(detail::make_device_words(state_words())),
          ring_(options.snapshots, state_words()),
          max_blocks_(options.max_blocks) {
        detail::load_kernels();
        int multiprocessors = 0;
        require_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device_.number()),
                     "cudaDeviceGetAttribute");
        multiprocessors_ = static_cast<std::uint32_t>(multiprocessors);
    }

    /// The tally as a kernel adds to it: `ref().add({.length = …})` from any of its threads.
    [[nodiscard]] ref_type ref() const { return {schema_on_device_.get(), words(), refusals()}; }

    /// Adds a packed row by its boundaries 0, L₁, L₁+L₂, …, `count` of them: at least 1.
    template <detail::integer T>
    void add_cu_seqlens(const T* cu_seqlens, std::size_t count, cudaStream_t stream) {
        add_list(detail::listed_boundaries<T>(cu_seqlens, count), "lengths", "add_cu_seqlens", stream);
    }
    /// Adds a packed row by the boundaries of its sequences and of their slots; the sequences from `num_real_seqs` on
    /// are mock sequences. `num_real_seqs` is a number, or a pointer to one of 32 or 64 bits on the device.
    template <detail::integer T, detail::integer S, class Number>
    void add_cu_seqlens(const T* cu_seqlens, const S* cu_seqlens_padded, std::size_t count, Number num_real_seqs,
                        cudaStream_t stream) {
        add_list(detail::pack_of(cu_seqlens, cu_seqlens_padded, count, num_real_seqs), "lengths", "add_cu_seqlens",
                 stream);
    }

    /// Adds a packed row by the boundaries of its real sequences alone, `real_count` of them, and of all its `count` −
    /// 1 slots, which may be more.
    template <detail::integer T, detail::integer S>
    void add_cu_seqlens_real(const T* cu_seqlens_real, std::size_t real_count, const S* cu_seqlens, std::size_t count,
                             cudaStream_t stream) {
        add_list(detail::real_pack_of(cu_seqlens_real, real_count, cu_seqlens, count), "lengths", "add_cu_seqlens",
                 stream);
    }

    /// Adds sequences that fill their slots by their lengths.
    template <detail::integer T>
    void add_lengths(const T* lengths, std::size_t count, cudaStream_t stream) {
        add_list(detail::listed_lengths<T>(lengths, count), "lengths", "add_lengths", stream);
    }
    /// Adds a BSHD batch: one row for each length, all of them padded to `row_length`.
    template <detail::integer T>
    void add_padded(const T* lengths, std::size_t count, std::uint64_t row_length, cudaStream_t stream) {
        detail::require_row_length(row_length);
        add_list(detail::padded_rows<T>({lengths, count}, {count, static_cast<std::uint32_t>(row_length)}), "lengths",
                 "add_padded", stream);
    }
    /// Adds a BSHD batch by its attention mask, `rows` x `columns` flags row by row, of 1 to 8 bytes each.
    template <std::integral T>
    void add_attention_mask(const T* flags, std::size_t rows, std::size_t columns, cudaStream_t stream) {
        detail::require_row_length(columns);
        static_cast<void>(checked(rows, "attention_mask") * columns);
        add_list(detail::attention_rows<T>(flags, rows, columns), "attention_mask", "add_attention_mask", stream);
    }
    /// Adds a BSHD batch without padding.
    void add_shape(std::uint64_t rows, std::uint64_t columns, cudaStream_t stream) {
        add(full_rows(rows, columns), stream);
    }

    /// Adds images and clips, three numbers (t, h, w) for each of `grids`.
    template <detail::integer T>
    void add_grid_thw(const T* grid_thw, std::size_t grids, cudaStream_t stream) {
        add_list(detail::listed_grids(grid_thw, grids), "grid_thw", "add_grid_thw", stream);
    }
    /// Adds clips of sound by their frames.
    template <detail::integer T>
    void add_audio_frames(const T* audio_frames, std::size_t clips, cudaStream_t stream) {
        add_list(detail::listed_clips(audio_frames, clips), "audio_frames", "add_audio_frames", stream);
    }

    /// Adds samples of HSTU: their total lengths, and the contextual tokens and targets among them; targets are in
    /// groups of `target_group`. A null list is all zeros.
    template <detail::integer T>
    void add_hstu(const T* lengths, const T* contextual, const T* targets, std::size_t count,
                  std::uint32_t target_group, cudaStream_t stream) {
        add_list(detail::hstu_samples(lengths, contextual, targets, count, target_group), "lengths", "add_hstu",
                 stream);
    }

    /// Adds a batch that the host knows, in any format (batch/source.hpp): it is counted on the host and added here.
    template <batch_source Source>
    void add(const Source& source, cudaStream_t stream) {
        tally counted{empty_.masks()};
        counted.add(source);
        add(counted, stream);
    }
    /// Adds a tally that the host has counted with the same masks.
    void add(const tally& counted, cudaStream_t stream) {
        if (!(counted.masks() == empty_.masks())) {
            throw error("masks", "two tallies of different masks cannot be added");
        }
        detail::counted_words counted_words{};
        std::copy(counted.words().begin(), counted.words().end(), counted_words.words);
        ++calls_;
        const detail::owned_device::scope on(device_, stream);
        detail::launch<detail::add_counted_kernel<Rules>>({.threads = 2 * detail::warp_size}, stream, "add",
                                                          counted_words, schema_, words());
    }

    /// Queues a reset of all sums and of the recorded error.
    void reset_async(cudaStream_t stream) {
        const detail::owned_device::scope on(device_, stream);
        require_cuda(cudaMemsetAsync(words(), 0, state_words() * sizeof(std::uint64_t), stream), "cudaMemsetAsync");
        calls_ = 0;
    }

    /// Queues a snapshot of the sums for `poll`.
    void snapshot_async(cudaStream_t stream) { take_snapshot(false, stream); }
    /// Queues a snapshot and a reset, in one launch: the end of a step.
    void snapshot_and_reset_async(cudaStream_t stream) {
        take_snapshot(true, stream);
        calls_ = 0;
    }

    /// The next snapshot that has arrived, in the order in which they were taken, or none. Never blocks: it makes no
    /// call to the runtime. Throws where sequences were left out (`left_out` has the others), where a sum does not fit,
    /// and where a snapshot was overwritten before; the next call then continues with the one after it.
    [[nodiscard]] std::optional<tally> poll() {
        const auto words = ring_.next();
        return words ? std::optional(detail::tally_of_device(empty_.masks(), *words)) : std::nullopt;
    }

    /// The tally that the stream has counted so far. Blocks until the stream has done all work that is queued on it.
    [[nodiscard]] tally read(cudaStream_t stream) const {
        const detail::owned_device::scope on(device_, stream);
        return detail::tally_of_device(empty_.masks(), ring_.read(words(), stream));
    }

    /// The number of the device that has its memory.
    [[nodiscard]] int device() const { return device_.number(); }
    [[nodiscard]] const mask_set& masks() const { return empty_.masks(); }
    /// The bytes of shared memory that a block needs for `device_tally_ref::local`.
    [[nodiscard]] std::size_t block_bytes() const { return schema_.size() * sizeof(std::uint64_t); }
    /// The words of both views in device memory, in the order of `tally::words`.
    [[nodiscard]] std::uint64_t* words() const { return words_.get(); }
    /// The record of refusals, in device memory.
    [[nodiscard]] detail::refusal_record* refusals() const {
        return reinterpret_cast<detail::refusal_record*>(words() + schema_.size());
    }

  private:
    /// Adds a list in one launch. `field` is the name of the list in errors, `name` that of the call.
    template <class List>
    void add_list(const List& list, const char* field, const char* name, cudaStream_t stream) {
        detail::require_modality(empty_.masks(), detail::modality_of(typename List::unit{}), field);
        const detail::owned_device::scope on(device_, stream);
        detail::launch<detail::add_list_kernel<Rules, List>>(
            detail::launch_of(list, schema_.columns(), multiprocessors_, max_blocks_), stream, name, list, schema_,
            words(), ++calls_);
    }
    void take_snapshot(bool reset, cudaStream_t stream) {
        const detail::owned_device::scope on(device_, stream);
        ring_.take_async(words(), reset, stream);
    }

    /// The number of words of both views and of the record after them.
    [[nodiscard]] std::uint32_t state_words() const { return schema_.size() + detail::refusal_words; }

    /// An empty tally of these masks. Throws where these kernels cannot count one of them.
    [[nodiscard]] static tally known(const mask_set& masks) {
        tally empty{masks};
        detail::require_known(empty.masks(), Rules{});
        return empty;
    }

    tally empty_;
    detail::owned_device device_;
    detail::word_schema schema_;
    detail::device_array<detail::word_schema> schema_on_device_;
    detail::device_words words_;  // both views, the record
    detail::snapshot_ring ring_;
    std::uint32_t max_blocks_;
    std::uint32_t multiprocessors_ = 0;
    std::uint32_t calls_ = 0;  // since the last reset
};

/// The device tally with the library's rules. A tally with a caller's own rules has kernels that are compiled with
/// them: `basic_device_tally<library_rules::with<dilated_window>>`.
using device_tally = basic_device_tally<library_rules>;

}  // namespace floptally
