// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <optional>
#include <type_traits>

#include <floptally/batch/length_refusals.hpp>
#include <floptally/batch/lengths.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/cuda/detail/device_state.hpp>
#include <floptally/cuda/detail/kernels.cuh>
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

    /// Adds a packed row by its boundaries 0, L₁, L₁+L₂, …, `count` of them: at least 1.
    template <detail::integer T>
    void add_cu_seqlens(const T* cu_seqlens, std::size_t count, cudaStream_t stream) {
        state_.template add_lengths<sizeof(T), true>(detail::listed_boundaries(cu_seqlens, count), stream,
                                                     "add_cu_seqlens");
    }
    /// Adds a packed row by the boundaries of its sequences and of their slots; the sequences from `num_real_seqs` on
    /// are mock sequences. `num_real_seqs` is a number, or a pointer to one of 32 or 64 bits on the device.
    template <detail::integer T, detail::integer S, class Number>
    void add_cu_seqlens(const T* cu_seqlens, const S* cu_seqlens_padded, std::size_t count, Number num_real_seqs,
                        cudaStream_t stream) {
        add_pack<T, S>(detail::pack_of(cu_seqlens, cu_seqlens_padded, count, num_real_seqs), stream);
    }
    /// Adds a packed row by the boundaries of its real sequences alone, `real_count` of them, and of all its `count` −
    /// 1 slots, which may be more.
    template <detail::integer T, detail::integer S>
    void add_cu_seqlens_real(const T* cu_seqlens_real, std::size_t real_count, const S* cu_seqlens, std::size_t count,
                             cudaStream_t stream) {
        add_pack<T, S>(detail::real_pack_of(cu_seqlens_real, real_count, cu_seqlens, count), stream);
    }

    /// Adds sequences that fill their slots by their lengths.
    template <detail::integer T>
    void add_lengths(const T* lengths, std::size_t count, cudaStream_t stream) {
        state_.template add_lengths<sizeof(T), false>(detail::listed_lengths(lengths, count), stream, "add_lengths");
    }
    /// Adds a BSHD batch: one row for each length, all of them padded to `row_length`.
    template <detail::integer T>
    void add_padded(const T* lengths, std::size_t count, std::uint64_t row_length, cudaStream_t stream) {
        state_.template add_lengths<sizeof(T), false, detail::slots_by::row>(
            detail::in_rows(detail::listed_lengths(lengths, count), row_length), stream, "add_padded");
    }
    /// Adds a BSHD batch by its attention mask, `rows` x `columns` flags row by row, of 1 to 8 bytes each.
    template <std::integral T>
    void add_attention_mask(const T* flags, std::size_t rows, std::size_t columns, cudaStream_t stream) {
        detail::require_row_length(columns);
        static_cast<void>(checked(rows, "attention_mask") * columns);
        state_.template add<detail::flag_of<sizeof(T)>>(detail::flag_rows(flags, rows, columns), stream,
                                                        "add_attention_mask");
    }
    /// Adds a BSHD batch without padding.
    void add_shape(std::uint64_t rows, std::uint64_t columns, cudaStream_t stream) {
        add(full_rows(rows, columns), stream);
    }
    /// Adds both sides of an encoder-decoder: the lengths of its decoder and, one for each, of its encoder.
    template <detail::integer T, detail::integer K>
    void add_encoder_decoder(const T* lengths, const K* encoder_lengths, std::size_t count, cudaStream_t stream) {
        state_.add(detail::encoder_decoder_samples(lengths, encoder_lengths, count), "lengths", stream,
                   "add_encoder_decoder");
    }
    /// Adds new tokens after cached ones: lengths and, one for each, the tokens before them.
    template <detail::integer T, detail::integer P>
    void add_new_tokens(const T* lengths, const P* past, std::size_t count, cudaStream_t stream) {
        state_.add(detail::new_token_samples(lengths, past, count), "lengths", stream, "add_new_tokens");
    }

    /// Adds images and clips, three numbers (t, h, w) for each of `grids`.
    template <detail::integer T>
    void add_grid_thw(const T* grid_thw, std::size_t grids, cudaStream_t stream) {
        state_.add(detail::grid_samples(grid_thw, grids), "grid_thw", stream, "add_grid_thw");
    }
    /// Adds clips of sound by their frames.
    template <detail::integer T>
    void add_audio_frames(const T* audio_frames, std::size_t clips, cudaStream_t stream) {
        state_.add(detail::clip_samples(audio_frames, clips), "audio_frames", stream, "add_audio_frames");
    }

    /// Adds samples of HSTU: their total lengths, and the contextual tokens and targets among them; targets are in
    /// groups of `target_group`. A null list is all zeros.
    template <detail::integer T>
    void add_hstu(const T* lengths, const T* contextual, const T* targets, std::size_t count,
                  std::uint32_t target_group, cudaStream_t stream) {
        state_.add(detail::hstu_samples(lengths, contextual, targets, count, target_group), "lengths", stream,
                   "add_hstu");
    }

    /// Adds a batch that the host knows, in any format (batch/source.hpp): it is counted on the host and added here.
    template <batch_source Source>
    void add(const Source& source, cudaStream_t stream) {
        tally counted{masks()};
        counted.add(source);
        add(counted, stream);
    }
    /// Adds a tally that the host has counted with the same masks.
    void add(const tally& counted, cudaStream_t stream) { state_.add(counted, stream); }

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
    void add_pack(const detail::length_list& pack, cudaStream_t stream) {
        state_.template add_lengths<sizeof(T), true, detail::slots_by::boundaries, sizeof(S)>(pack, stream,
                                                                                              "add_cu_seqlens");
    }

    detail::device_state<Rules, detail::cuda_api> state_;
};

/// The device tally with the library's rules. A tally with a caller's own rules has kernels that are compiled with
/// them: `basic_device_tally<library_rules::with<dilated_window>>`.
using device_tally = basic_device_tally<library_rules>;

}  // namespace floptally
