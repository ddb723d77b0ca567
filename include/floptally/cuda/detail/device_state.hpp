// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <floptally/batch/sample_checks.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/cuda/detail/add_lengths.hpp>
#include <floptally/cuda/detail/add_samples.hpp>
#include <floptally/cuda/detail/attention_rows.hpp>
#include <floptally/cuda/detail/device_words.hpp>
#include <floptally/cuda/detail/word_schema.hpp>
#include <floptally/cuda/device_reading.hpp>
#include <floptally/rules/mask_set.hpp>

namespace floptally::detail {

/// The words of a tally that the host has counted, added by one block.
struct add_counted {
    static constexpr std::uint32_t threads = 2 * warp_size;
    static constexpr std::uint32_t resident = 1;

    struct arguments {
        std::uint64_t counted[2 * word_schema::most];
        word_schema schema;
        std::uint64_t* words;
    };

    template <class Block>
    static FLOPTALLY_HOST_DEVICE void run(const Block& block, const arguments& given) {
        const word_schema& schema = given.schema;
        const basic_device_tally_ref<window_rules> into(&schema, given.words, record_after(schema, given.words));
        for (std::uint32_t word = block.thread(); word < schema.size(); word += threads) {
            into.add_to(word / schema.stride(), word % schema.stride(), given.counted[word]);
        }
    }
};

/// A tally on a device and every launch that adds to it, by kernels that know the structs of `Rules`: what C++ and the
/// Python package share.
template <class Rules, class Api>
class device_state {
  public:
    using stream = typename Api::stream;

    /// `make_api` is called once the masks are known to be right: before that nothing is asked of the device.
    template <class MakeApi>
    device_state(const mask_set& masks, std::uint32_t snapshots, std::uint32_t max_blocks, MakeApi make_api)
        : empty_(known(masks)),
          schema_(masks),
          words_(make_api(), schema_.size() + refusal_words, std::as_bytes(std::span(&schema_, 1)), snapshots),
          max_blocks_(max_blocks) {}

    /// Adds lengths of so many bytes: eight at a time where all masks are windows, else one by one.
    template <std::uint32_t Bytes, bool ByBoundaries, slots_by Slot = slots_by::sequence, std::uint32_t SlotBytes = 4>
    void add_lengths(const length_list& list, stream on, std::string_view name) {
        if (!schema_.is_plain()) {
            return add(sample_list<sequence>{list}, name_of(list.real.field), on, name);
        }
        require_modality(masks(), modality::text, "lengths");
        switch (schema_.side_count) {
            case 0:
                return launch_lengths<detail::add_lengths<Bytes, ByBoundaries, Slot, SlotBytes, 0>>(list, on, name);
            case 1:
                return launch_lengths<detail::add_lengths<Bytes, ByBoundaries, Slot, SlotBytes, 1>>(list, on, name);
            default:
                return launch_lengths<
                    detail::add_lengths<Bytes, ByBoundaries, Slot, SlotBytes, word_schema::max_sides>>(list, on, name);
        }
    }
    /// Adds samples one by one.
    template <class Unit>
    void add(const sample_list<Unit>& list, const char* field, stream on, std::string_view name) {
        require_modality(masks(), modality_of(Unit{}), modality_of(Unit{}) == modality::text ? "lengths" : field);
        using body = add_samples<Rules, Unit>;
        launch<body>(list.size(), body::shared_words(schema_), on, name, {list, schema_, words_.words(), next_call()});
    }
    /// Adds rows of an attention mask of flags of the type.
    template <class T>
    void add(const flag_rows& list, stream on, std::string_view name) {
        require_modality(masks(), modality::text, "attention_mask");
        const auto add_by = [&]<class List>(List) {
            using body = add_rows<List, T>;
            launch<body>(list.rows, body::shared_words, on, name, {list, schema_, words_.words(), next_call()});
        };
        schema_.only_windows ? add_by(window_rules{}) : add_by(Rules{});
    }
    /// Adds a tally that the host has counted with the same masks.
    void add(const tally& counted, stream on) {
        if (!(counted.masks() == masks())) {
            throw error("masks", "two tallies of different masks cannot be added");
        }
        add_counted::arguments given{{}, schema_, words_.words()};
        std::copy(counted.words().begin(), counted.words().end(), given.counted);
        next_call();
        words_.template launch<add_counted>({.threads = add_counted::threads}, on, "add", given);
    }

    void snapshot_async(bool reset, stream on, std::string_view name) {
        words_.snapshot_async(reset, on, name);
        calls_ = reset ? 0 : calls_;
    }
    void reset_async(stream on) {
        words_.reset_async(on);
        calls_ = 0;
    }
    /// The words of the next snapshot that has arrived, or none.
    [[nodiscard]] std::optional<std::span<const std::uint64_t>> next() { return words_.next(); }
    /// The words that the stream has counted so far. Blocks until the stream has done all work that is queued on it.
    [[nodiscard]] std::span<const std::uint64_t> read(stream on) const { return words_.read(on); }
    /// The tally made of such words, or their error.
    [[nodiscard]] tally tally_of(std::span<const std::uint64_t> words) const { return tally_of_device(masks(), words); }

    [[nodiscard]] const Api& api() const { return words_.api(); }
    [[nodiscard]] const tally& empty() const { return empty_; }
    [[nodiscard]] const mask_set& masks() const { return empty_.masks(); }
    [[nodiscard]] const word_schema& schema() const { return schema_; }
    [[nodiscard]] const word_schema* schema_on_device() const { return words_.template constants<word_schema>(); }
    [[nodiscard]] std::uint64_t* words() const { return words_.words(); }

  private:
    template <class Body>
    void launch_lengths(const length_list& list, stream on, std::string_view name) {
        launch<Body>(list.count, Body::shared_words, on, name, {list, schema_, words_.words(), next_call()});
    }
    template <class Body>
    void launch(std::size_t units, std::size_t shared_words, stream on, std::string_view name,
                const typename Body::arguments& given) {
        words_.template launch<Body>(launch_of<Body>(units, shared_words, api().multiprocessors(), max_blocks_), on,
                                     name, given);
    }
    /// The number of a call since the last reset, as far as refusals can name it.
    std::uint32_t next_call() { return calls_ = std::min(calls_ + 1, refusal_place::own_kernel - 1); }

    /// An empty tally of these masks. Throws where these kernels cannot count one of them.
    [[nodiscard]] static tally known(const mask_set& masks) {
        tally empty{masks};
        require_known(empty.masks(), Rules{});
        return empty;
    }

    tally empty_;
    word_schema schema_;
    device_words<Api> words_;
    std::uint32_t max_blocks_;
    std::uint32_t calls_ = 0;  // since the last reset
};

}  // namespace floptally::detail
