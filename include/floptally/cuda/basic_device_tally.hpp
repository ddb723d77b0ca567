// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include <floptally/batch/formats.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/cuda/detail/accumulator_schema.hpp>
#include <floptally/cuda/detail/add_lengths.hpp>
#include <floptally/cuda/detail/add_samples.hpp>
#include <floptally/cuda/detail/attention_rows.hpp>
#include <floptally/cuda/detail/device_accumulators.hpp>
#include <floptally/cuda/device_reading.hpp>
#include <floptally/cuda/device_tally_ref.hpp>
#include <floptally/statistics/library_statistics.hpp>
#include <floptally/statistics/mask_set.hpp>

/// @file
/// `basic_device_tally`: a tally in device memory. Its kernels are launched through the CUDA runtime (device_tally.cuh)
/// or through the CUDA driver.

namespace floptally::inline v0_3 {

class device_reduction;

/// A list of integers in device memory: a span of 32- or 64-bit integers converts to it.
using device_integers = detail::any_list;

/// The limits of a device tally: for its waiting snapshots and for the blocks of a launch.
struct device_tally_options {
    std::uint32_t snapshots = 64;  ///< largest number of snapshots that can wait for `poll`
    std::uint32_t max_blocks = 0;  ///< largest number of blocks of a launch; 0: as many as the device runs at once
};

/// A tally in the memory of one device. It exactly sums lengths that are in device memory, without copying them to the
/// host and without waiting.
///
/// The tally uses the device that is current at its construction, and accepts streams of that device at any time. A
/// default stream of another device throws `error`. All calls except `read` queue work on a stream and return at once.
/// Each add is one launch for any number of masks, and a graph can capture it. Arrays hold 32- or 64-bit integers in
/// device memory. They must stay valid until the stream has run the add. A sequence that cannot be counted is left out
/// and recorded. `read` and `poll` then throw `left_out` with the text of the error that a host tally throws. Adds may
/// run on several streams. Order a snapshot or a reset after these adds, by a stream or an event. Use the tally from
/// one host thread at a time. The destructor waits for the whole device and uses no streams, so they may already be
/// destroyed.
///
/// The kernels are compiled for the statistics in `Statistics`, a `statistic_list`. For a mask that is not in this list
/// the constructor throws `error` before any call to the device. `Api` makes the device calls
/// (cuda/detail/device_accumulators.hpp).
template <class Statistics, class Api>
class basic_device_tally {
  public:
    using stream_type = typename Api::stream;
    /// The type of the tally inside a kernel. With the library's statistics it can count only window masks. With your
    /// own list of statistics it can count all masks of that list.
    using ref_type = basic_device_tally_ref<
        std::conditional_t<std::is_same_v<Statistics, library_statistics>, window_statistics, Statistics>>;

    /// Makes an empty tally. Passes `where` to the constructor of `Api`. That constructor selects the device.
    template <class... Where>
    explicit basic_device_tally(const mask_set& masks, const device_tally_options& options = {}, const Where&... where)
        : empty_(empty_tally(masks)),
          schema_(masks),
          accumulators_(Api(where...), schema_.size() + detail::refusal_words, std::as_bytes(std::span(&schema_, 1)),
                        options.snapshots),
          max_blocks_(options.max_blocks) {}

    /// Returns the tally for use inside a kernel. There any thread may call `add({.length = …})`. Throws `error` if the
    /// returned type has no code for one of the masks. In that case pass the kernel `ref<library_statistics>()`
    /// instead, a `basic_device_tally_ref<library_statistics>`.
    [[nodiscard]] ref_type ref() const { return ref<typename ref_type::statistics>(); }
    template <class Listed>
    [[nodiscard]] basic_device_tally_ref<Listed> ref() const {
        detail::require_known(masks(), Listed{},
                              "this device_tally_ref counts windows alone: use ref<library_statistics>()");
        return {accumulators_.template constants<detail::accumulator_schema>(), accumulators(), refusals()};
    }

    // The functions below add batches in the same formats as those of `tally` (batch/formats.hpp). They take spans of
    // device memory, and a stream as the last argument. In the templates the integer type of the first list selects the
    // kernel. The other lists may have integers of any width.

    template <class T>
    void add_cu_seqlens(std::span<T> cu_seqlens, stream_type stream = nullptr) {
        add_lists<sizeof(T), true>(detail::listed_boundaries(cu_seqlens), stream, "add_cu_seqlens");
    }
    /// Adds a pack. Its first `num_real_seqs` sequences are real, the others are mock sequences. `num_real_seqs` is a
    /// number, or a pointer to a 32- or 64-bit integer in device memory.
    template <class T, class S, class Number = std::size_t>
    void add_cu_seqlens(std::span<T> cu_seqlens, std::span<S> cu_seqlens_padded, Number num_real_seqs = all_sequences,
                        stream_type stream = nullptr) {
        add_pack<T, S>(detail::pack_of(cu_seqlens, cu_seqlens_padded, num_real_seqs), stream, "add_cu_seqlens");
    }
    template <class T, class S>
    void add_packed(std::span<T> cu_seqlens_real, std::span<S> slots, stream_type stream = nullptr) {
        add_pack<T, S>(detail::real_pack_of(cu_seqlens_real, slots), stream, "add_packed");
    }
    template <class T>
    void add_lengths(std::span<T> lengths, stream_type stream = nullptr) {
        add_lists<sizeof(T), false>(detail::length_list_of(lengths), stream, "add_lengths");
    }
    template <class T>
    void add_padded(std::span<T> lengths, std::uint64_t row_length, stream_type stream = nullptr) {
        add_lists<sizeof(T), false, detail::slots_by::row>(detail::in_rows(detail::length_list_of(lengths), row_length),
                                                           stream, "add_padded");
    }
    /// Adds the rows of an attention mask. Each flag of the mask is an integer of 1 to 8 bytes.
    template <class T>
    void add_attention_mask(std::span<T> flags, const batch_shape& shape, stream_type stream = nullptr) {
        static_cast<void>(attention_mask_rows(flags, shape));  // This call throws if the number of flags does not fit
                                                               // the shape.
        masks().require(modality::text, "attention_mask");
        const detail::flag_rows list(flags.data(), shape.rows, shape.columns);
        using flag = detail::flag_of<sizeof(T)>;
        schema_.only_windows ? launch<detail::add_rows<window_statistics, flag>>(list, stream, "add_attention_mask")
                             : launch<detail::add_rows<Statistics, flag>>(list, stream, "add_attention_mask");
    }
    void add_shape(const batch_shape& shape, stream_type stream = nullptr) { add(full_rows(shape), stream); }
    void add_encoder_decoder(device_integers lengths, device_integers encoder_lengths, stream_type stream = nullptr) {
        add_samples(detail::with_part({.lengths = detail::length_list_of(lengths)}, detail::list_name::encoder_lengths,
                                      encoder_lengths),
                    stream, "add_encoder_decoder");
    }
    void add_new_tokens(device_integers lengths, device_integers past, stream_type stream = nullptr) {
        add_samples(detail::with_part({.lengths = detail::length_list_of(lengths)}, detail::list_name::past, past),
                    stream, "add_new_tokens");
    }
    /// Adds HSTU sequences. An empty list `contextual` or `targets` means 0 for every sequence.
    void add_hstu(device_integers lengths, device_integers contextual, device_integers targets,
                  std::uint32_t target_group = 1, stream_type stream = nullptr) {
        add_samples(detail::hstu_samples(lengths, contextual, targets, target_group), stream, "add_hstu");
    }
    template <class T>
    void add_grid_thw(std::span<T> grid_thw, stream_type stream = nullptr) {
        static_cast<void>(listed_grids(grid_thw));  // throws unless `grid_thw` has three numbers for each grid
        add_samples(detail::sample_list<grid>(grid_thw), stream, "add_grid_thw");
    }
    void add_audio_frames(device_integers audio_frames, stream_type stream = nullptr) {
        add_samples(detail::sample_list<audio_clip>(audio_frames), stream, "add_audio_frames");
    }

    /// Adds a batch in host memory, in any format (batch/source.hpp). The host computes the sums of the batch.
    template <batch_source Source>
    void add(const Source& source, stream_type stream = nullptr) {
        tally counted{masks()};
        counted.add(source);
        add(counted, stream);
    }
    /// Adds a host tally with the same masks.
    void add(const tally& counted, stream_type stream = nullptr) {
        if (!(counted.masks() == masks())) {
            throw error("masks", "tallies of different masks cannot be added up: build both with the same masks");
        }
        detail::add_counted::arguments args{{}, schema_, accumulators()};
        std::copy(counted.accumulators().begin(), counted.accumulators().end(), args.counted);
        next_call();
        accumulators_.template launch<detail::add_counted>({.threads = detail::add_counted::threads}, stream, "add",
                                                           args);
    }

    /// Queues a reset of all sums. The reset also clears the record of samples that could not be counted.
    void reset_async(stream_type stream) {
        accumulators_.reset_async(stream);
        calls_ = 0;
    }
    /// Queues a snapshot of the sums for `poll`.
    void snapshot_async(stream_type stream) { accumulators_.snapshot_async(false, stream, "snapshot_async"); }
    /// Queues a snapshot and a reset, in one launch: the end of a step.
    void snapshot_and_reset_async(stream_type stream) {
        accumulators_.snapshot_async(true, stream, "snapshot_and_reset_async");
        calls_ = 0;
    }

    /// Returns the next snapshot that has arrived, in order, or an empty result. Never blocks and makes no device call.
    /// Throws `left_out` (with the tally of the other sequences) if sequences were left out. Throws `overflow` if a sum
    /// does not fit, and `error` if the snapshot was overwritten. After an error, the next call continues with the
    /// following snapshot.
    [[nodiscard]] std::optional<tally> poll() {
        const auto snapshot = accumulators_.next();
        return snapshot ? std::optional(detail::tally_of_device(masks(), *snapshot)) : std::nullopt;
    }
    /// Returns how many snapshots `poll` has handled: returned, reported by an error, or skipped because they were
    /// overwritten.
    [[nodiscard]] std::uint64_t polled() const { return accumulators_.passed(); }
    /// Returns the tally that the stream has counted so far. Blocks until the stream has done all its queued work.
    [[nodiscard]] tally read(stream_type stream) const {
        return detail::tally_of_device(masks(), accumulators_.read(stream));
    }

    /// Returns the number of the device that holds the tally.
    [[nodiscard]] int device() const { return owner().number(); }
    /// Returns the device API, for other work on the tally's device.
    [[nodiscard]] const Api& owner() const { return accumulators_.api(); }
    [[nodiscard]] const mask_set& masks() const { return empty_.masks(); }
    /// Returns the bytes of shared memory that a block needs to call `device_tally_ref::local`.
    [[nodiscard]] std::size_t block_bytes() const { return schema_.size() * sizeof(std::uint64_t); }
    /// Returns the accumulators of both views (useful, padded) in device memory, in the order of `tally::accumulators`.
    [[nodiscard]] std::uint64_t* accumulators() const { return accumulators_.accumulators(); }

  private:
    friend class device_reduction;

    /// Returns the record of samples that could not be counted, in device memory.
    [[nodiscard]] detail::refusal_record* refusals() const { return detail::record_after(schema_, accumulators()); }

    template <class T, class S>
    void add_pack(const detail::length_list& pack, stream_type stream, const char* name) {
        add_lists<sizeof(T), true, detail::slots_by::boundaries, sizeof(S)>(pack, stream, name);
    }
    /// Adds lengths that are integers of `Bytes` bytes. A kernel thread adds eight lengths at a time if all masks are
    /// windows, otherwise one length.
    template <std::uint32_t Bytes, bool ByBoundaries, detail::slots_by Slot = detail::slots_by::sequence,
              std::uint32_t SlotBytes = 4>
    void add_lists(const detail::length_list& list, stream_type stream, std::string_view name) {
        if (!schema_.is_plain()) {
            return add_samples(detail::sample_list<sequence>{list}, stream, name);
        }
        masks().require(modality::text, "lengths");
        const auto launch_with = [&]<std::uint32_t Sides>() {
            launch<detail::add_lengths<Bytes, ByBoundaries, Slot, SlotBytes, Sides>>(list, stream, name);
        };
        schema_.side_count == 0   ? launch_with.template operator()<0>()
        : schema_.side_count == 1 ? launch_with.template operator()<1>()
                                  : launch_with.template operator()<detail::accumulator_schema::max_sides>();
    }
    /// Adds samples of type `Unit` (sequence, grid, audio clip). Each thread of the kernel adds one sample at a time.
    template <class Unit>
    void add_samples(const detail::sample_list<Unit>& list, stream_type stream, std::string_view name) {
        masks().require(detail::modality_of(Unit{}), detail::name_of(list.name));
        launch<detail::add_samples<Statistics, Unit>>(list, stream, name);
    }
    template <class Body>
    void launch(const typename Body::list_type& list, stream_type stream, std::string_view name) {
        const auto shape =
            detail::launch_of<Body>(list.size(), Body::shared_words(schema_), owner().multiprocessors(), max_blocks_);
        accumulators_.template launch<Body>(shape, stream, name, {list, schema_, accumulators(), next_call()});
    }
    /// Counts one more add and returns the number of adds since the last reset. The number stops growing at the largest
    /// one that a record of refused samples can store.
    std::uint32_t next_call() { return calls_ = std::min(calls_ + 1, detail::refusal_place::own_kernel - 1); }

    /// Returns an empty tally with these masks. Throws `error` if the kernels cannot count one of the masks.
    [[nodiscard]] static tally empty_tally(const mask_set& masks) {
        tally empty{masks};
        detail::require_known(empty.masks(), Statistics{});
        return empty;
    }

    tally empty_;
    detail::accumulator_schema schema_;
    detail::device_accumulators<Api> accumulators_;
    std::uint32_t max_blocks_;
    std::uint32_t calls_ = 0;  // number of adds since the last reset
};

}  // namespace floptally
