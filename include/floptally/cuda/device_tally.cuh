// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include <floptally/batch/attention_mask.hpp>
#include <floptally/batch/lengths.hpp>
#include <floptally/batch/packed.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/batch/tower_inputs.hpp>
#include <floptally/cuda/detail/device_state.hpp>
#include <floptally/cuda/detail/kernels.cuh>
#include <floptally/cuda/detail/vendor.hpp>
#include <floptally/cuda/device_tally_ref.hpp>
#include <floptally/rules/library_rules.hpp>
#include <floptally/rules/mask_set.hpp>

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
/// thread at a time. Its destructor waits for the streams that it was given, which must still be there; replays of a
/// graph must be over.
///
/// Its kernels are compiled with the structs of `Rules`, a `rule_list`; masks of other structs are an error in the
/// constructor, before any call to the device.
template <class Rules>
class basic_device_tally {
  public:
    /// The type of the tally inside a kernel: with the library's rules, one of windows; with a caller's list, all.
    using ref_type =
        basic_device_tally_ref<std::conditional_t<std::is_same_v<Rules, library_rules>, window_rules, Rules>>;

    explicit basic_device_tally(const mask_set& masks, const device_tally_options& options = {})
        : state_(masks, options.snapshots, options.max_blocks, [] { return detail::cuda_api(); }) {}

    /// The tally as a kernel adds to it: `ref().add({.length = …})` from any of its threads. Throws where it has a mask
    /// that the reference has no code for: then the kernel takes a `basic_device_tally_ref<library_rules>`, which is
    /// `ref<library_rules>()`.
    [[nodiscard]] ref_type ref() const { return ref<typename ref_type::rules>(); }
    template <class Of>
    [[nodiscard]] basic_device_tally_ref<Of> ref() const {
        detail::require_known(masks(), Of{}, "this device_tally_ref counts windows alone: use ref<library_rules>()");
        return {state_.schema_on_device(), words(), refusals()};
    }

    // The calls of every tally (batch/adds_batches.hpp), over spans of device memory, with the stream last.

    template <class T>
    void add_cu_seqlens(std::span<T> cu_seqlens, cudaStream_t stream = nullptr) {
        state_.template add_lengths<sizeof(T), true>(detail::listed_boundaries(cu_seqlens.data(), cu_seqlens.size()),
                                                     stream, "add_cu_seqlens");
    }
    /// `num_real_seqs` is a number, or a pointer to one of 32 or 64 bits on the device.
    template <class T, class S, class Number = std::size_t>
    void add_cu_seqlens(std::span<T> cu_seqlens, std::span<S> cu_seqlens_padded, Number num_real_seqs = all_sequences,
                        cudaStream_t stream = nullptr) {
        add_pack<T, S>(detail::pack_of(cu_seqlens, cu_seqlens_padded, num_real_seqs), stream, "add_cu_seqlens");
    }
    template <class T, class S>
    void add_packed(std::span<T> cu_seqlens_real, std::span<S> slots, cudaStream_t stream = nullptr) {
        add_pack<T, S>(detail::real_pack_of(cu_seqlens_real, slots), stream, "add_packed");
    }
    template <class T>
    void add_lengths(std::span<T> lengths, cudaStream_t stream = nullptr) {
        state_.template add_lengths<sizeof(T), false>(detail::listed_lengths(lengths.data(), lengths.size()), stream,
                                                      "add_lengths");
    }
    template <class T>
    void add_padded(std::span<T> lengths, std::uint64_t row_length, cudaStream_t stream = nullptr) {
        state_.template add_lengths<sizeof(T), false, detail::slots_by::row>(
            detail::in_rows(detail::listed_lengths(lengths.data(), lengths.size()), row_length), stream, "add_padded");
    }
    /// Flags have 1 to 8 bytes.
    template <class T>
    void add_attention_mask(std::span<T> flags, std::size_t rows, std::size_t columns, cudaStream_t stream = nullptr) {
        static_cast<void>(attention_mask_rows(flags, rows, columns));  // or an error: they are not so many
        state_.template add<detail::flag_of<sizeof(T)>>(detail::flag_rows(flags.data(), rows, columns), stream,
                                                        "add_attention_mask");
    }
    void add_shape(std::uint64_t rows, std::uint64_t columns, cudaStream_t stream = nullptr) {
        add(full_rows(rows, columns), stream);
    }
    template <class T, class K>
    void add_encoder_decoder(std::span<T> lengths, std::span<K> encoder_lengths, cudaStream_t stream = nullptr) {
        state_.add(detail::samples_of(encoder_decoder_lengths(lengths, encoder_lengths)), "lengths", stream,
                   "add_encoder_decoder");
    }
    template <class T, class P>
    void add_new_tokens(std::span<T> lengths, std::span<P> past, cudaStream_t stream = nullptr) {
        state_.add(detail::samples_of(cached_lengths(lengths, past)), "lengths", stream, "add_new_tokens");
    }
    template <class T, class P>
    void add_hstu(std::span<T> lengths, std::span<P> contextual, std::span<P> targets, std::uint32_t target_group = 1,
                  cudaStream_t stream = nullptr) {
        state_.add(detail::samples_of(hstu_lengths(lengths, contextual, targets, target_group)), "lengths", stream,
                   "add_hstu");
    }
    template <class T>
    void add_grid_thw(std::span<T> grid_thw, cudaStream_t stream = nullptr) {
        static_cast<void>(listed_grids(grid_thw));  // or an error: no three numbers each
        state_.add(detail::grid_samples(grid_thw.data(), grid_thw.size() / 3), "grid_thw", stream, "add_grid_thw");
    }
    template <class T>
    void add_audio_frames(std::span<T> audio_frames, cudaStream_t stream = nullptr) {
        state_.add(detail::clip_samples(audio_frames.data(), audio_frames.size()), "audio_frames", stream,
                   "add_audio_frames");
    }

    /// Adds a batch that the host knows, in any format (batch/source.hpp): it is counted on the host and added here.
    template <batch_source Source>
    void add(const Source& source, cudaStream_t stream = nullptr) {
        tally counted{masks()};
        counted.add(source);
        add(counted, stream);
    }
    /// Adds a tally that the host has counted with the same masks.
    void add(const tally& counted, cudaStream_t stream = nullptr) { state_.add(counted, stream); }

    /// Queues a reset of all sums and of the recorded error.
    void reset_async(cudaStream_t stream) { state_.reset_async(stream); }
    /// Queues a snapshot of the sums for `poll`.
    void snapshot_async(cudaStream_t stream) { state_.snapshot_async(false, stream, "snapshot_async"); }
    /// Queues a snapshot and a reset, in one launch: the end of a step.
    void snapshot_and_reset_async(cudaStream_t stream) {
        state_.snapshot_async(true, stream, "snapshot_and_reset_async");
    }

    /// The next snapshot that has arrived, in the order in which they were taken, or none. Never blocks: it makes no
    /// call to the runtime. Throws where sequences were left out (`left_out` has the others), where a sum does not fit,
    /// and where a snapshot was overwritten before; the next call then continues with the one after it.
    [[nodiscard]] std::optional<tally> poll() {
        const auto words = state_.next();
        return words ? std::optional(state_.tally_of(*words)) : std::nullopt;
    }
    /// The tally that the stream has counted so far. Blocks until the stream has done all work that is queued on it.
    [[nodiscard]] tally read(cudaStream_t stream) const { return state_.tally_of(state_.read(stream)); }

    /// The number of the device that has its memory.
    [[nodiscard]] int device() const { return state_.api().number(); }
    /// That device, for what works there beside the tally.
    [[nodiscard]] const detail::owned_device& owner() const { return state_.api(); }
    [[nodiscard]] const mask_set& masks() const { return state_.masks(); }
    /// The bytes of shared memory that a block needs for `device_tally_ref::local`.
    [[nodiscard]] std::size_t block_bytes() const { return state_.schema().size() * sizeof(std::uint64_t); }
    /// The words of both views in device memory, in the order of `tally::words`.
    [[nodiscard]] std::uint64_t* words() const { return state_.words(); }
    /// The record of refusals, in device memory.
    [[nodiscard]] detail::refusal_record* refusals() const {
        return detail::record_after(state_.schema(), state_.words());
    }

  private:
    template <class T, class S>
    void add_pack(const detail::length_list& pack, cudaStream_t stream, const char* name) {
        state_.template add_lengths<sizeof(T), true, detail::slots_by::boundaries, sizeof(S)>(pack, stream, name);
    }

    detail::device_state<Rules, detail::cuda_api> state_;
};

/// The device tally with the library's rules. A tally with a caller's own rules has kernels that are compiled with
/// them: `basic_device_tally<library_rules::with<dilated_window>>`.
using device_tally = basic_device_tally<library_rules>;

}  // namespace floptally
