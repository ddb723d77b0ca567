// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include <floptally/batch/attention_mask.hpp>
#include <floptally/batch/lengths.hpp>
#include <floptally/batch/packed.hpp>
#include <floptally/batch/sample_checks.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/batch/tower_inputs.hpp>
#include <floptally/cuda/detail/add_lengths.hpp>
#include <floptally/cuda/detail/add_samples.hpp>
#include <floptally/cuda/detail/attention_rows.hpp>
#include <floptally/cuda/detail/device_words.hpp>
#include <floptally/cuda/detail/word_schema.hpp>
#include <floptally/cuda/device_reading.hpp>
#include <floptally/cuda/device_tally_ref.hpp>
#include <floptally/rules/library_rules.hpp>
#include <floptally/rules/mask_set.hpp>

/// @file
/// A tally in the memory of a device, by whatever launches its kernels: the runtime (device_tally.cuh) or the driver.

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
/// thread at a time. Its destructor waits for the device, as freeing memory does; a stream that it was given may be
/// gone by then.
///
/// Its kernels are compiled with the structs of `Rules`, a `rule_list`; masks of other structs are an error in the
/// constructor, before any call to the device. `Api` is what launches them (detail/device_words.hpp).
template <class Rules, class Api>
class basic_device_tally {
  public:
    using stream_type = typename Api::stream;
    /// The type of the tally inside a kernel: with the library's rules, one of windows; with a caller's list, all.
    using ref_type =
        basic_device_tally_ref<std::conditional_t<std::is_same_v<Rules, library_rules>, window_rules, Rules>>;

    /// `where` is what the launcher takes to find its device.
    template <class... Where>
    explicit basic_device_tally(const mask_set& masks, const device_tally_options& options = {}, const Where&... where)
        : empty_(known(masks)),
          schema_(masks),
          words_(Api(where...), schema_.size() + detail::refusal_words, std::as_bytes(std::span(&schema_, 1)),
                 options.snapshots),
          max_blocks_(options.max_blocks) {}

    /// The tally as a kernel adds to it: `ref().add({.length = …})` from any of its threads. Throws where it has a mask
    /// that the reference has no code for: then the kernel takes a `basic_device_tally_ref<library_rules>`, which is
    /// `ref<library_rules>()`.
    [[nodiscard]] ref_type ref() const { return ref<typename ref_type::rules>(); }
    template <class Of>
    [[nodiscard]] basic_device_tally_ref<Of> ref() const {
        detail::require_known(masks(), Of{}, "this device_tally_ref counts windows alone: use ref<library_rules>()");
        return {words_.template constants<detail::word_schema>(), words(), refusals()};
    }

    // The calls of every tally (batch/adds_batches.hpp), over spans of device memory, with the stream last. Lists that
    // choose a kernel have the type of their integers; others may be of any width.

    template <class T>
    void add_cu_seqlens(std::span<T> cu_seqlens, stream_type stream = nullptr) {
        add_lists<sizeof(T), true>(detail::listed_boundaries(cu_seqlens), stream, "add_cu_seqlens");
    }
    /// `num_real_seqs` is a number, or a pointer to one of 32 or 64 bits on the device.
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
        add_lists<sizeof(T), false>(detail::listed_lengths(lengths), stream, "add_lengths");
    }
    template <class T>
    void add_padded(std::span<T> lengths, std::uint64_t row_length, stream_type stream = nullptr) {
        add_lists<sizeof(T), false, detail::slots_by::row>(detail::in_rows(detail::listed_lengths(lengths), row_length),
                                                           stream, "add_padded");
    }
    /// Flags have 1 to 8 bytes.
    template <class T>
    void add_attention_mask(std::span<T> flags, std::size_t rows, std::size_t columns, stream_type stream = nullptr) {
        static_cast<void>(attention_mask_rows(flags, rows, columns));  // or an error: they are not so many
        detail::require_modality(masks(), modality::text, "attention_mask");
        const detail::flag_rows list(flags.data(), rows, columns);
        using flag = detail::flag_of<sizeof(T)>;
        schema_.only_windows ? launch<detail::add_rows<window_rules, flag>>(list, stream, "add_attention_mask")
                             : launch<detail::add_rows<Rules, flag>>(list, stream, "add_attention_mask");
    }
    void add_shape(std::uint64_t rows, std::uint64_t columns, stream_type stream = nullptr) {
        add(full_rows(rows, columns), stream);
    }
    void add_encoder_decoder(detail::any_list lengths, detail::any_list encoder_lengths, stream_type stream = nullptr) {
        add_samples(detail::with_part({.lengths = detail::listed_lengths(lengths)}, detail::list_name::encoder_lengths,
                                      encoder_lengths),
                    stream, "add_encoder_decoder");
    }
    void add_new_tokens(detail::any_list lengths, detail::any_list past, stream_type stream = nullptr) {
        add_samples(detail::with_part({.lengths = detail::listed_lengths(lengths)}, detail::list_name::past, past),
                    stream, "add_new_tokens");
    }
    /// An empty list of `contextual` or `targets` is all zeros.
    void add_hstu(detail::any_list lengths, detail::any_list contextual, detail::any_list targets,
                  std::uint32_t target_group = 1, stream_type stream = nullptr) {
        add_samples(detail::hstu_samples(lengths, contextual, targets, target_group), stream, "add_hstu");
    }
    template <class T>
    void add_grid_thw(std::span<T> grid_thw, stream_type stream = nullptr) {
        static_cast<void>(listed_grids(grid_thw));  // or an error: no three numbers each
        add_samples(detail::sample_list<grid>(grid_thw), stream, "add_grid_thw");
    }
    void add_audio_frames(detail::any_list audio_frames, stream_type stream = nullptr) {
        add_samples(detail::sample_list<audio_clip>(audio_frames), stream, "add_audio_frames");
    }

    /// Adds a batch that the host knows, in any format (batch/source.hpp): it is counted on the host and added here.
    template <batch_source Source>
    void add(const Source& source, stream_type stream = nullptr) {
        tally counted{masks()};
        counted.add(source);
        add(counted, stream);
    }
    /// Adds a tally that the host has counted with the same masks.
    void add(const tally& counted, stream_type stream = nullptr) {
        if (!(counted.masks() == masks())) {
            throw error("masks", "two tallies of different masks cannot be added");
        }
        detail::add_counted::arguments given{{}, schema_, words()};
        std::copy(counted.words().begin(), counted.words().end(), given.counted);
        next_call();
        words_.template launch<detail::add_counted>({.threads = detail::add_counted::threads}, stream, "add", given);
    }

    /// Queues a reset of all sums and of the recorded error.
    void reset_async(stream_type stream) {
        words_.reset_async(stream);
        calls_ = 0;
    }
    /// Queues a snapshot of the sums for `poll`.
    void snapshot_async(stream_type stream) { words_.snapshot_async(false, stream, "snapshot_async"); }
    /// Queues a snapshot and a reset, in one launch: the end of a step.
    void snapshot_and_reset_async(stream_type stream) {
        words_.snapshot_async(true, stream, "snapshot_and_reset_async");
        calls_ = 0;
    }

    /// The next snapshot that has arrived, in the order in which they were taken, or none. Never blocks: it makes no
    /// call to the device. Throws where sequences were left out (`left_out` has the others), where a sum does not fit,
    /// and where a snapshot was overwritten before; the next call then continues with the one after it.
    [[nodiscard]] std::optional<tally> poll() {
        const auto seen = words_.next();
        return seen ? std::optional(detail::tally_of_device(masks(), *seen)) : std::nullopt;
    }
    /// The number of snapshots that `poll` has passed.
    [[nodiscard]] std::uint64_t polled() const { return words_.passed(); }
    /// The tally that the stream has counted so far. Blocks until the stream has done all work that is queued on it.
    [[nodiscard]] tally read(stream_type stream) const { return detail::tally_of_device(masks(), words_.read(stream)); }

    /// The number of the device that has its memory.
    [[nodiscard]] int device() const { return owner().number(); }
    /// That device, for what works there beside the tally.
    [[nodiscard]] const Api& owner() const { return words_.api(); }
    [[nodiscard]] const mask_set& masks() const { return empty_.masks(); }
    /// The bytes of shared memory that a block needs for `device_tally_ref::local`.
    [[nodiscard]] std::size_t block_bytes() const { return schema_.size() * sizeof(std::uint64_t); }
    /// The words of both views in device memory, in the order of `tally::words`.
    [[nodiscard]] std::uint64_t* words() const { return words_.words(); }
    /// The record of refusals, in device memory.
    [[nodiscard]] detail::refusal_record* refusals() const { return detail::record_after(schema_, words()); }

  private:
    template <class T, class S>
    void add_pack(const detail::length_list& pack, stream_type stream, const char* name) {
        add_lists<sizeof(T), true, detail::slots_by::boundaries, sizeof(S)>(pack, stream, name);
    }
    /// Adds lengths of so many bytes: eight at a time where all masks are windows, else one by one.
    template <std::uint32_t Bytes, bool ByBoundaries, detail::slots_by Slot = detail::slots_by::sequence,
              std::uint32_t SlotBytes = 4>
    void add_lists(const detail::length_list& list, stream_type stream, std::string_view name) {
        if (!schema_.is_plain()) {
            return add_samples(detail::sample_list<sequence>{list}, stream, name);
        }
        detail::require_modality(masks(), modality::text, "lengths");
        const auto launch_with = [&]<std::uint32_t Sides>() {
            launch<detail::add_lengths<Bytes, ByBoundaries, Slot, SlotBytes, Sides>>(list, stream, name);
        };
        schema_.side_count == 0   ? launch_with.template operator()<0>()
        : schema_.side_count == 1 ? launch_with.template operator()<1>()
                                  : launch_with.template operator()<detail::word_schema::max_sides>();
    }
    /// Adds samples one by one.
    template <class Unit>
    void add_samples(const detail::sample_list<Unit>& list, stream_type stream, std::string_view name) {
        detail::require_modality(masks(), detail::modality_of(Unit{}), detail::name_of(list.name));
        launch<detail::add_samples<Rules, Unit>>(list, stream, name);
    }
    template <class Body>
    void launch(const typename Body::list_type& list, stream_type stream, std::string_view name) {
        const auto shape =
            detail::launch_of<Body>(list.size(), Body::shared_words(schema_), owner().multiprocessors(), max_blocks_);
        words_.template launch<Body>(shape, stream, name, {list, schema_, words(), next_call()});
    }
    /// The number of a call since the last reset, as far as refusals can name it.
    std::uint32_t next_call() { return calls_ = std::min(calls_ + 1, detail::refusal_place::own_kernel - 1); }

    /// An empty tally of these masks. Throws where these kernels cannot count one of them.
    [[nodiscard]] static tally known(const mask_set& masks) {
        tally empty{masks};
        detail::require_known(empty.masks(), Rules{});
        return empty;
    }

    tally empty_;
    detail::word_schema schema_;
    detail::device_words<Api> words_;
    std::uint32_t max_blocks_;
    std::uint32_t calls_ = 0;  // since the last reset
};

}  // namespace floptally
