// SPDX-License-Identifier: Apache-2.0
//
// The text of the kernels, run on the host block by block and thread by thread: strides, tails, shuffles, merges. What
// they count must be what a tally of the host counts, bit for bit, and what they refuse must be what it refuses.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/cuda/detail/accumulator_schema.hpp>
#include <floptally/cuda/detail/add_lengths.hpp>
#include <floptally/cuda/detail/add_samples.hpp>
#include <floptally/cuda/detail/attention_rows.hpp>
#include <floptally/cuda/detail/length_lists.hpp>
#include <floptally/cuda/device_reading.hpp>
#include <floptally/cuda/device_tally_ref.hpp>
#include <floptally/statistics/mask.hpp>

#include "../catch2.hpp"
#include "../error_of.hpp"
#include "../own_masks.hpp"
#include "../sanitized.hpp"
#include "batches.hpp"
#include "emulated_block.hpp"

namespace kernels_test {
namespace {

using namespace floptally;

struct launch_shape {
    std::uint32_t blocks = 1;
    emulated::order running = emulated::order::ascending;
};

/// A device's tally in memory of the host, with kernels that know these statistics.
template <class Statistics>
class emulated_tally_of {
  public:
    explicit emulated_tally_of(const mask_set& masks)
        : masks_(tally{masks}.masks()), schema_(masks), accumulators_(schema_.size() + detail::refusal_words) {
        detail::require_known(masks_, Statistics{});
    }

    [[nodiscard]] basic_device_tally_ref<Statistics> ref() { return {&schema_, accumulators_.data(), record()}; }

    /// Lengths, eight at a time where a device_tally would.
    void add(const launch_shape& shape, const detail::length_list& list) {
        if (!schema_.is_plain()) {
            return add(shape, detail::sample_list<sequence>{.lengths = list});
        }
        list.real.bytes == 4 ? add_by<4>(shape, list) : add_by<8>(shape, list);
    }
    /// The same, one by one.
    void add_samples(const launch_shape& shape, const detail::length_list& list) {
        add(shape, detail::sample_list<sequence>{.lengths = list});
    }
    template <class Unit>
    void add(const launch_shape& shape, const detail::sample_list<Unit>& list) {
        using body = detail::add_samples<Statistics, Unit>;
        launch<body>(shape, body::shared_words(schema_), {list, schema_, accumulators_.data(), ++call_});
    }
    template <class T>
    void add_flags(const launch_shape& shape, const T* flags, std::size_t rows, std::size_t columns) {
        using flag = detail::flag_of<sizeof(T)>;
        const detail::flag_rows list(flags, rows, columns);
        if (schema_.only_windows) {
            using body = detail::add_rows<window_statistics, flag>;
            launch<body>(shape, body::shared_words(schema_), {list, schema_, accumulators_.data(), ++call_});
        } else {
            using body = detail::add_rows<Statistics, flag>;
            launch<body>(shape, body::shared_words(schema_), {list, schema_, accumulators_.data(), ++call_});
        }
    }

    [[nodiscard]] tally read() const { return detail::tally_of_device(masks_, accumulators_); }

  private:
    template <class Body>
    void launch(const launch_shape& shape, std::size_t shared_words, const typename Body::arguments& args) {
        emulated::grid_of_blocks(shape.blocks, Body::threads, shared_words, shape.running).run([&](const auto& block) {
            Body::run(block, args);
        });
    }
    template <std::uint32_t Bytes>
    void add_by(const launch_shape& shape, const detail::length_list& list) {
        switch (list.slot) {
            case detail::slots_by::sequence:
                return list.by_boundaries ? add_as<Bytes, true, detail::slots_by::sequence, 4>(shape, list)
                                          : add_as<Bytes, false, detail::slots_by::sequence, 4>(shape, list);
            case detail::slots_by::row:
                return add_as<Bytes, false, detail::slots_by::row, 4>(shape, list);
            default:
                return list.slots.bytes == 4 ? add_as<Bytes, true, detail::slots_by::boundaries, 4>(shape, list)
                                             : add_as<Bytes, true, detail::slots_by::boundaries, 8>(shape, list);
        }
    }
    template <std::uint32_t Bytes, bool ByBoundaries, detail::slots_by Slot, std::uint32_t SlotBytes>
    void add_as(const launch_shape& shape, const detail::length_list& list) {
        const auto by = [&]<std::uint32_t Sides>(std::integral_constant<std::uint32_t, Sides>) {
            using body = detail::add_lengths<Bytes, ByBoundaries, Slot, SlotBytes, Sides>;
            launch<body>(shape, body::shared_words(schema_), {list, schema_, accumulators_.data(), ++call_});
        };
        schema_.side_count == 0   ? by(std::integral_constant<std::uint32_t, 0>{})
        : schema_.side_count == 1 ? by(std::integral_constant<std::uint32_t, 1>{})
                                  : by(std::integral_constant<std::uint32_t, 4>{});
    }
    [[nodiscard]] detail::refusal_record* record() { return detail::record_after(schema_, accumulators_.data()); }

    mask_set masks_;
    detail::accumulator_schema schema_;
    std::vector<std::uint64_t> accumulators_;
    std::uint32_t call_ = 0;
};
using emulated_tally = emulated_tally_of<library_statistics>;

mask_set every_tower() {
    mask_set masks = mask_set::of_towers();
    for (const statistic& m : std::initializer_list<statistic>{
             mask::sliding_window(400), mask::grid_windows(8), mask::grid_windows(8, 4), mask::clip_squares(),
             unit::merged_patches(2), unit::clips(), mask::bidirectional().in(modality::vision),
             unit::kept_squares(750'000, 1), mask::level_windows(7, 1, true, true), mask::reduced_pairs(1, 2, 2, 4),
             mask::across_frames(), mask::window_lines(3), unit::strided_frames(3, 2),
             mask::strided_squares(3, 2, 100, 50)}) {
        masks.find_or_add(m, "masks");
    }
    return masks;
}

/// True where a case is left out: with all masks a fiber waits some hundred times, so that one number of sequences is
/// enough.
bool is_spared(const mask_set& masks, std::size_t count) { return masks.size() > 2 && count != 129; }

const std::vector<launch_shape> shapes{{1}, {1, emulated::order::descending}, {3}, {5, emulated::order::descending}};

template <class T>
std::vector<T> as(const std::vector<std::uint32_t>& lengths) {
    return {lengths.begin(), lengths.end()};
}

template <class T>
void lengths_are_counted() {
    std::mt19937_64 random(20261122);
    for (const mask_set& masks : {mask_set{}, mask_set{mask::sliding_window(400)}, every_text_mask}) {
        for (const launch_shape& shape : shapes) {
            for (const std::size_t count : {0U, 1U, 3U, 4U, 5U, 127U, 128U, 129U, 1000U}) {
                if (is_spared(masks, count)) {
                    continue;
                }
                const auto lengths = as<T>(random_lengths(random, count, 40'000'000));
                const auto boundaries = boundaries_of<T>(random_lengths(random, count, 1'000'000));
                tally host{masks};
                host.add_lengths(lengths);
                host.add_cu_seqlens(boundaries);
                emulated_tally device{masks};
                device.add(shape, detail::length_list_of(std::span(lengths)));
                device.add(shape, detail::listed_boundaries(std::span(boundaries)));
                INFO(shape.blocks << " blocks, " << count);
                CHECK(device.read() == host);
            }
        }
    }
}

/// Checks that the device throws the error of the host, with the place appended.
template <class Host, class Device>
void refuse_alike(const Host& host, const Device& device) {
    const std::string expected = error_of(host);
    const std::string seen = error_of(device);
    INFO(expected << "\n" << seen);
    REQUIRE(expected != "no error");
    CHECK(seen.rfind(expected + " (index ", 0) == 0);
}

/// Two of it do not fit an accumulator.
struct half_an_accumulator {
    static constexpr std::string_view name = "half_an_accumulator";
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return s.length == 0 ? 0 : std::uint64_t{1} << 63U;
    }
};

/// Names of one number under FNV-1a.
struct costarring {
    static constexpr std::string_view name = "costarring";
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const { return s.length; }
};
struct liquid {
    static constexpr std::string_view name = "liquid";
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const { return 2 * s.length; }
};

}  // namespace

TEST_CASE("kernels count lengths and boundaries like a host tally under every mask and grid size") {
    SECTION("int32") { lengths_are_counted<std::int32_t>(); }
    SECTION("uint32") { lengths_are_counted<std::uint32_t>(); }
    SECTION("int64") { lengths_are_counted<std::int64_t>(); }
    SECTION("uint64") { lengths_are_counted<std::uint64_t>(); }
}

TEST_CASE("kernels add a thread's partial sums to the total before the partial sums can overflow") {
    if (is_sanitized) {
        return;  // no shorter list could, and unsigned integers that wrap are no sanitizer's
    }
    // One thread of 256 has the longest lengths that groups have, so many that only just their squares fit 64 bits.
    constexpr std::uint32_t longest = detail::plain_limit - 1;
    std::vector<std::uint32_t> lengths(std::size_t{8192} * 256 * detail::group_size, 0);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        lengths[i] = i / detail::group_size % 256 == 5 ? longest : 1;
    }
    const mask_set masks{mask::window(longest, longest - 1), mask::window(longest / 2, -1), mask::sliding_window(400)};
    tally host{masks};
    host.add_lengths(lengths);
    emulated_tally device{masks};
    device.add({1}, detail::length_list_of(std::span(lengths)));
    CHECK(device.read() == host);
    CHECK(host.get(view::useful, accumulator::squares) > ~std::uint64_t{0} - (std::uint64_t{1} << 42U));
}

TEST_CASE("kernels count a pack with slots and mock sequences like a host tally") {
    std::mt19937_64 random(7);
    for (const mask_set& masks : {mask_set{}, every_text_mask}) {
        for (const launch_shape& shape : shapes) {
            for (const std::size_t count : {0U, 1U, 4U, 6U, 129U}) {
                if (is_spared(masks, count)) {
                    continue;
                }
                const std::vector<std::uint32_t> lengths = random_lengths(random, count, 100'000);
                std::vector<std::uint32_t> slots = lengths;
                for (std::uint32_t& slot : slots) {
                    slot += static_cast<std::uint32_t>(random() % 64);
                }
                const auto real = boundaries_of<std::int32_t>(lengths);
                const auto padded = boundaries_of<std::int64_t>(slots);
                for (const std::size_t num_real : {count, count / 2, std::size_t{0}}) {
                    tally host{masks};
                    host.add_cu_seqlens(real, padded, num_real);
                    const auto accumulator = static_cast<std::int32_t>(num_real);
                    emulated_tally device{masks};
                    device.add(shape, detail::pack_of(std::span(real), std::span(padded), num_real));
                    CHECK(device.read() == host);
                    emulated_tally told{masks};
                    told.add(shape, detail::pack_of(std::span(real), std::span(padded), &accumulator));
                    CHECK(told.read() == host);
                    // The boundaries of the real sequences alone say the same.
                    emulated_tally alone{masks};
                    alone.add(shape, detail::real_pack_of(std::span(real).first(num_real + 1), std::span(padded)));
                    CHECK(alone.read() == host);
                }
            }
        }
    }
}

TEST_CASE("kernels count lists at any offset from 16-byte alignment, empty sequences included") {
    std::mt19937_64 random(23);
    std::size_t number = 0;
    const auto check = [&](auto real_type, auto slot_type) {
        using real_number = decltype(real_type);
        using slot_number = decltype(slot_type);
        for (const mask_set& masks : {mask_set{}, mask_set{mask::sliding_window(400)},
                                      mask_set{mask::window(7, -1), mask::window(-1, 400), mask::sliding_window(9000)},
                                      mask_set{mask::window(3, 4), mask::window(-1, 400), mask::window(5, 0)}}) {
            for (const std::size_t real_lead : {0U, 1U, 2U, 3U}) {
                for (const std::size_t slot_lead : {0U, 1U, 3U}) {
                    for (const std::size_t count : {1U, 7U, 8U, 9U, 64U, 300U}) {
                        if (skipped_when_sanitized(number++, 5)) {
                            continue;
                        }
                        std::vector<std::uint32_t> lengths = random_lengths(random, count, 8000);
                        std::vector<std::uint32_t> slots = lengths;
                        for (std::size_t i = 0; i < count; ++i) {
                            lengths[i] = i % 11 == 9 ? 0 : lengths[i] + 1;
                            slots[i] = i % 13 == 5 ? lengths[i] : slots[i] + 5;
                        }
                        const auto real = boundaries_of<real_number>(lengths);
                        const auto padded = boundaries_of<slot_number>(slots);
                        // Vectors of so many numbers lie on 16 bytes.
                        std::vector<real_number> shifted(real_lead, real_number{77});
                        shifted.insert(shifted.end(), real.begin(), real.end());
                        std::vector<slot_number> shifted_slots(slot_lead, slot_number{77});
                        shifted_slots.insert(shifted_slots.end(), padded.begin(), padded.end());
                        const real_number* const at = shifted.data() + real_lead;
                        const slot_number* const slots_at = shifted_slots.data() + slot_lead;
                        const std::size_t num_real = count - count / 3;
                        tally host{masks};
                        host.add_cu_seqlens(real);
                        host.add_cu_seqlens(real, padded, num_real);
                        host.add_lengths(lengths);
                        host.add_padded(lengths, 9000);
                        emulated_tally device{masks};
                        const std::vector<std::uint32_t> as_lengths = [&] {
                            std::vector<std::uint32_t> all(real_lead, 77U);
                            all.insert(all.end(), lengths.begin(), lengths.end());
                            return all;
                        }();
                        const std::uint32_t* const lengths_at = as_lengths.data() + real_lead;
                        device.add({2}, detail::listed_boundaries(std::span(at, count + 1)));
                        device.add({2},
                                   detail::pack_of(std::span(at, count + 1), std::span(slots_at, count + 1), num_real));
                        device.add({2}, detail::length_list_of(std::span(lengths_at, count)));
                        device.add({2}, detail::in_rows(detail::length_list_of(std::span(lengths_at, count)), 9000));
                        INFO(real_lead << ", " << slot_lead << ", " << count << " of " << masks.size() << " masks");
                        CHECK(device.read() == host);
                    }
                }
            }
        }
    };
    SECTION("int32, int32") { check(std::int32_t{}, std::int32_t{}); }
    SECTION("int64, int64") { check(std::int64_t{}, std::int64_t{}); }
    SECTION("int32, int64") { check(std::int32_t{}, std::int64_t{}); }
    SECTION("uint64, int32") { check(std::uint64_t{}, std::int32_t{}); }
}

TEST_CASE("kernels refuse 64-bit boundaries that jump by 2^32 but accept boundaries above 2^32") {
    constexpr std::int64_t far = std::int64_t{1} << 32U;
    const mask_set masks{mask::sliding_window(400)};
    std::vector<std::int64_t> boundaries{0, 10, 20, far + 25, 30, 40, 50, 60, 70, 80};
    emulated_tally device{masks};
    device.add({1}, detail::listed_boundaries(std::span(boundaries)));
    refuse_alike([&] { tally{masks}.add_cu_seqlens(boundaries); }, [&] { static_cast<void>(device.read()); });
    for (std::int64_t& at : boundaries) {
        at = 0;
    }
    for (std::size_t i = 1; i < boundaries.size(); ++i) {
        boundaries[i] = boundaries[i - 1] + (std::int64_t{1} << 30U) - 7;
    }
    for (std::int64_t i = 0; i < 40; ++i) {
        boundaries.push_back(boundaries.back() + 1'000'003);
    }
    tally host{masks};
    host.add_cu_seqlens(boundaries);
    emulated_tally passing{masks};
    passing.add({1}, detail::listed_boundaries(std::span(boundaries)));
    CHECK(passing.read() == host);
}

TEST_CASE("kernels refuse boundaries that wrap around in their integer type by a small step") {
    const auto check = []<class T>(T last) {
        std::vector<T> boundaries{0, 1, 2, 3, 4, 5, 6, 7, static_cast<T>(last - 3)};
        for (std::uint32_t i = 0; i < 9; ++i) {  // a plain step each, were they not of this type
            boundaries.push_back(static_cast<T>(static_cast<std::uint32_t>(boundaries.back()) + 2U));
        }
        emulated_tally device{mask_set{}};
        device.add({1}, detail::listed_boundaries(std::span(boundaries)));
        refuse_alike([&] { tally{mask_set{}}.add_cu_seqlens(boundaries); }, [&] { static_cast<void>(device.read()); });
    };
    check(std::numeric_limits<std::int32_t>::max());
    check(std::int64_t{0xFFFF'FFFF});
}

TEST_CASE("kernels count packs whose lists start at different 16-byte offsets") {
    std::vector<std::int32_t> boundaries{77, 0};  // of which the first is another's
    std::vector<std::int32_t> slots{0};
    for (std::int32_t i = 0; i < 40; ++i) {
        boundaries.push_back(boundaries.back() + 100);
        slots.push_back(slots.back() + 128 + i);
    }
    const std::span<const std::int32_t> real = std::span<const std::int32_t>(boundaries).subspan(1);
    tally host{mask_set{}};
    host.add_cu_seqlens(real, slots);
    emulated_tally device{mask_set{}};
    device.add({1}, detail::pack_of(real, std::span<const std::int32_t>(slots), all_sequences));
    CHECK(device.read() == host);
}

TEST_CASE(
    "if several GPU threads find invalid input at once, the error record has all its fields or reports a collision") {
    const auto refused_by = [](std::uint64_t index, std::uint64_t value) {
        detail::refusal_record record{};
        detail::refuse(&record, {3, index}, {detail::refused::length, detail::list_name::lengths, 0}, value, 0);
        return record;
    };
    const auto merged = [](const detail::refusal_record& a, const detail::refusal_record& b) {  // as both at once do
        detail::refusal_record both = a;
        for (std::size_t i = 0; i < detail::refusal_record::parts; ++i) {
            both.first[i] = std::max(a.first[i], b.first[i]);
        }
        return both;
    };
    const detail::read_refusal first(merged(refused_by(9, 0x1234'5678'9ABC'DEF0U), refused_by(8, 0x1'0000'0005U)));
    CHECK(first.is_whole);
    CHECK(first.place.call == 3);
    CHECK(first.place.index == 8);
    CHECK(first.number(0) == 0x1'0000'0005U);
    const detail::read_refusal two(merged(refused_by(8, 0x1'0000'0005U), refused_by(8, 0x9'0000'0001U)));
    CHECK_FALSE(two.is_whole);
    CHECK(error_of([&] { two.repeat(mask_set{}); }) ==
          "device: several invalid samples have the same index, so that the first is unknown: pass a different index "
          "with "
          "each sample");
}

TEST_CASE("kernels count rows of a BSHD batch like a host tally") {
    std::mt19937_64 random(11);
    const mask_set masks{mask::sliding_window(400), mask::chunked(7)};
    for (const launch_shape& shape : shapes) {
        for (const std::size_t rows : {0U, 7U, 150U}) {
            const std::vector<std::int64_t> lengths = as<std::int64_t>(random_lengths(random, rows, 9000));
            tally host{masks};
            host.add_padded(lengths, 9000);
            emulated_tally device{masks};
            device.add(shape, detail::in_rows(detail::length_list_of(std::span(lengths)), 9000));
            CHECK(device.read() == host);
        }
        for (const std::size_t columns : {1U, 31U, 32U, 33U, 257U}) {
            const std::size_t rows = 9;
            std::vector<std::uint8_t> flags(rows * columns);
            for (std::size_t row = 0; row < rows; ++row) {
                const std::size_t first = random() % columns;
                const std::size_t last = first + random() % (columns - first + 1);
                for (std::size_t at = first; at < last; ++at) {
                    flags[row * columns + at] = 1;
                }
            }
            tally host{masks};
            host.add_attention_mask(flags, {.rows = rows, .columns = columns});
            emulated_tally device{masks};
            device.add_flags(shape, flags.data(), rows, columns);
            CHECK(device.read() == host);
        }
    }
}

TEST_CASE("kernels count HSTU samples, image grids and audio clips like a host tally") {
    std::mt19937_64 random(13);
    const mask_set masks = every_tower();
    const mask_set of_hstu{mask::hstu(), mask::hstu({.max_attn_len = 400}), unit::hstu_part(hstu_rows::targets, 2)};
    for (const launch_shape& shape : shapes) {
        for (const std::size_t count : {0U, 1U, 70U}) {
            std::vector<std::int32_t> lengths(count);
            std::vector<std::int32_t> contextual(count);
            std::vector<std::int32_t> targets(count);
            std::vector<std::int64_t> thw(3 * count);
            std::vector<std::int32_t> frames(count);
            tally host{of_hstu};
            tally towers{masks};
            for (std::size_t i = 0; i < count; ++i) {
                contextual[i] = static_cast<std::int32_t>(random() % 4);
                targets[i] = static_cast<std::int32_t>(random() % 9);
                lengths[i] = contextual[i] + targets[i] + static_cast<std::int32_t>(random() % 3000);
                host.add(sequence{.length = static_cast<std::uint32_t>(lengths[i]),
                                  .context = static_cast<std::uint32_t>(contextual[i]),
                                  .targets = static_cast<std::uint32_t>(targets[i]),
                                  .target_group = 3});
                thw[3 * i] = 1 + static_cast<std::int64_t>(random() % 3);
                thw[3 * i + 1] = 2 * static_cast<std::int64_t>(random() % 40);
                thw[3 * i + 2] = 2 * static_cast<std::int64_t>(random() % 40);
                frames[i] = static_cast<std::int32_t>(random() % 3000);
            }
            towers.add_grid_thw(thw);
            towers.add_audio_frames(frames);
            emulated_tally device{of_hstu};
            device.add(shape, detail::hstu_samples(std::span(lengths), std::span(contextual), std::span(targets), 3));
            CHECK(device.read() == host);
            emulated_tally of_towers{masks};
            of_towers.add(shape, detail::sample_list<grid>(std::span(thw)));
            of_towers.add(shape, detail::sample_list<audio_clip>(std::span(frames)));
            CHECK(of_towers.read() == towers);
        }
    }
}

TEST_CASE("kernels compiled with user-defined masks count these masks like a host tally") {
    using own_statistics = library_statistics::with<dilated_window, block_sparse>;
    const mask_set masks{dilated_window{4, 3}, block_sparse{64, 2, 1}, mask::sliding_window(400)};
    std::mt19937_64 random(17);
    for (const launch_shape& shape : shapes) {
        const auto lengths = as<std::int32_t>(random_lengths(random, 129));
        const auto boundaries = boundaries_of<std::int64_t>(random_lengths(random, 70));
        std::vector<std::int64_t> slots = boundaries;
        for (std::size_t i = 0; i < slots.size(); ++i) {
            slots[i] += static_cast<std::int64_t>(64 * i);
        }
        std::vector<std::uint8_t> flags(3 * std::size_t{100}, std::uint8_t{1});
        flags[199] = 0;

        tally host{masks};
        host.add_lengths(lengths);
        host.add_cu_seqlens(boundaries);
        host.add_cu_seqlens(boundaries, slots, 50);
        host.add_padded(lengths, 9000);
        host.add_attention_mask(flags, {.rows = 3, .columns = 100});
        host.add(sequence{.length = 700, .past = 300}, sequence{.length = 1000, .past = 300});

        emulated_tally_of<own_statistics> device{masks};
        device.add(shape, detail::length_list_of(std::span(lengths)));
        device.add(shape, detail::listed_boundaries(std::span(boundaries)));
        device.add(shape, detail::pack_of(std::span(boundaries), std::span(slots), 50));
        device.add(shape, detail::in_rows(detail::length_list_of(std::span(lengths)), 9000));
        device.add_flags(shape, flags.data(), 3, 100);
        device.ref().add({.length = 700, .past = 300}, {.length = 1000, .past = 300});
        CHECK(device.read() == host);
        CHECK(host.pairs(view::useful, dilated_window{4, 3}) != 0);
        CHECK(host.pairs(view::padded, block_sparse{64, 2, 1}) > host.pairs(view::useful, block_sparse{64, 2, 1}));
    }
}

TEST_CASE("a device tally refuses a statistic that its kernels were not compiled for", "[cuda][errors]") {
    const std::string without =
        ": these kernels were compiled without this statistic: use a basic_device_tally of library_statistics::with<…>";
    const mask_set masks = tally{mask_set{mask::chunked(7), dilated_window{4, 3}, block_sparse{64, 2, 1}}}.masks();
    CHECK(error_of([&] { detail::require_known(masks, library_statistics{}); }) == "dilated_window(4,3)" + without);
    CHECK(error_of([&] { detail::require_known(masks, library_statistics::with<dilated_window>{}); }) ==
          "block_sparse(64,2,1)" + without);
    CHECK_NOTHROW(detail::require_known(masks, library_statistics::with<dilated_window, block_sparse>{}));
    CHECK(error_of([&] { detail::require_known(masks, statistic_list<dilated_window, block_sparse>{}); }) ==
          "chunked(7)" + without);

    STATIC_REQUIRE(statistic(costarring{}).id() == statistic(liquid{}).id());
    STATIC_REQUIRE_FALSE(detail::numbers_differ(statistic_list<costarring, liquid>{}));
    STATIC_REQUIRE_FALSE(detail::numbers_differ(statistic_list<block_sparse, dilated_window, block_sparse>{}));
    STATIC_REQUIRE(detail::numbers_differ(library_statistics::with<dilated_window, block_sparse, liquid>{}));
    CHECK(error_of([&] { detail::require_known(mask_set{costarring{}}, library_statistics::with<liquid>{}); }) ==
          "costarring" + without);
}

TEST_CASE("every statistic gives the same number on device and host", "[cuda]") {
    using own_statistics = library_statistics::with<dilated_window, block_sparse>;
    const sequence sample{.length = 500, .past = 20, .keys = 30};
    for (const statistic& of_sequences : {statistic(mask::causal()), statistic(mask::top_k(11)),
                                          statistic(mask::cross_attention()), statistic(moment_statistics::squares{}),
                                          statistic(dilated_window{4, 3}), statistic(block_sparse{64, 2, 1})}) {
        uint128 amount = 0;
        INFO(of_sequences.name());
        CHECK(device_amount<own_statistics>(of_sequences, sample, amount));
        CHECK(amount == of_sequences.amount(sample));
    }
    uint128 none = 5;
    CHECK_FALSE(device_amount(statistic(dilated_window{4, 3}), sample, none));
    CHECK_FALSE(device_amount(statistic(mask::cross_attention()), grid{1, 2, 2}, none));
    CHECK_FALSE(device_amount(statistic(unit::clips()), sample, none));
    CHECK(none == 5);
}

TEST_CASE("a device_tally_ref that many GPU threads use, directly or through block sums, adds like a host tally") {
    const mask_set masks = every_tower();
    emulated_tally device{masks};
    tally host{masks};
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < 4; ++t) {
        threads.emplace_back([&device, t] {
            const basic_device_tally_ref<library_statistics> ref = device.ref();
            for (std::uint32_t i = 0; i < 500; ++i) {
                ref.add({.length = i, .past = t, .keys = 2 * i}, {.length = i + 3, .past = t, .keys = 2 * i});
                ref.add(grid{t, 2 * i, 4}, grid{t + 1, 2 * i, 8});
                ref.add(audio_clip{i});
                ref.add_routed({.useful = i, .padded = i + t});
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (std::uint32_t t = 0; t < 4; ++t) {
        for (std::uint32_t i = 0; i < 500; ++i) {
            host.add({.length = i, .past = t, .keys = 2 * i}, {.length = i + 3, .past = t, .keys = 2 * i});
            host.add(grid{t, 2 * i, 4}, grid{t + 1, 2 * i, 8});
            host.add(audio_clip{i});
            host.add_routed({.useful = i, .padded = i + t});
        }
    }
    CHECK(device.read() == host);

    emulated_tally merged{masks};
    tally once{masks};
    emulated::grid_of_blocks(3, 64, merged.ref().size()).run([&](const emulated::block& block) {
        const basic_device_tally_ref<library_statistics> local = merged.ref().local(block.shared());
        local.clear(block.thread(), block.threads());
        block.sync();
        local.add({.length = block.index() * 64 + block.thread()});
        block.sync();
        merged.ref().merge(local, block.thread(), block.threads());
    });
    for (std::uint32_t i = 0; i < 3 * 64; ++i) {
        once.add({.length = i});
    }
    CHECK(merged.read() == once);
}

TEST_CASE("a kernel skips input that a host tally refuses, counts the rest, and the host reports the reason") {
    const mask_set masks{mask::sliding_window(400)};
    for (const launch_shape& shape : shapes) {
        std::vector<std::int32_t> lengths(200, 10);
        lengths[3] = -4;
        lengths[170] = -5;
        emulated_tally device{masks};
        device.add(shape, detail::length_list_of(std::span(lengths).first(3)));
        device.add(shape, detail::length_list_of(std::span(lengths)));
        refuse_alike([&] { tally{masks}.add_lengths(lengths); }, [&] { static_cast<void>(device.read()); });
        try {
            static_cast<void>(device.read());
        } catch (const left_out& seen) {
            CHECK(std::string(seen.what()) ==
                  "lengths[3]: must be at least 0, got -4 (index 3 of add 2 since the reset, the first of 2 that the "
                  "device left out)");
            CHECK(seen.field() == "lengths[3]");
            CHECK(seen.sequences() == 2);
            tally rest{masks};
            rest.add_lengths(std::vector<int>(201, 10));
            CHECK(seen.counted() == rest);
        }

        const std::vector<std::uint64_t> long_lengths{1, 2, std::uint64_t{1} << 32U, ~std::uint64_t{0}};
        emulated_tally too_long{masks};
        too_long.add(shape, detail::length_list_of(std::span(long_lengths)));
        refuse_alike([&] { tally{masks}.add_lengths(long_lengths); }, [&] { static_cast<void>(too_long.read()); });

        for (const auto& boundaries :
             {std::vector<std::int32_t>{0, 5, 3, 9},
              {1, 5, 9},
              {-1, 5},
              {0, 7, -2},
              {0, 1, 2, 3, 4, 5, 6, 7, 8, 7},
              {0, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min() + 5}}) {
            emulated_tally decreasing{masks};
            decreasing.add(shape, detail::listed_boundaries(std::span(boundaries)));
            refuse_alike([&] { tally{masks}.add_cu_seqlens(boundaries); },
                         [&] { static_cast<void>(decreasing.read()); });
        }
        // A sequence that begins below 0 is left out with the one that ends there.
        const std::vector<std::int32_t> below{0, 10, -5, 3, 20};
        emulated_tally negative_start{masks};
        negative_start.add(shape, detail::listed_boundaries(std::span(below)));
        try {
            static_cast<void>(negative_start.read());
            CHECK(false);
        } catch (const left_out& seen) {
            CHECK(seen.sequences() == 2);
            CHECK(seen.field() == "cu_seqlens[2]");
            CHECK(seen.counted().get(view::useful, accumulator::tokens) == 10 + 17);
        }
        // Small steps, of which the last wraps.
        const auto wraps = [&](auto first) {
            using number = decltype(first);
            const std::uint64_t end = std::numeric_limits<number>::max();
            std::vector<number> boundaries{first};
            for (std::uint64_t at = 0; at <= end; at += detail::plain_limit - 1) {
                boundaries.push_back(static_cast<number>(at));
            }
            boundaries.push_back(static_cast<number>(static_cast<std::make_unsigned_t<number>>(end) + 5U));
            emulated_tally wrapped{masks};
            wrapped.add(shape, detail::listed_boundaries(std::span(boundaries)));
            refuse_alike([&] { tally{masks}.add_cu_seqlens(boundaries); }, [&] { static_cast<void>(wrapped.read()); });
        };
        wraps(std::int32_t{0});
        wraps(std::uint32_t{0});
        const std::vector<std::int64_t> far{0, std::int64_t{1} << 33U};
        emulated_tally above{masks};
        above.add(shape, detail::listed_boundaries(std::span(far)));
        refuse_alike([&] { tally{masks}.add_cu_seqlens(far); }, [&] { static_cast<void>(above.read()); });

        const std::vector<std::int32_t> real{0, 5, 20, 30};
        const std::vector<std::int32_t> narrow{0, 8, 20, 32};
        emulated_tally no_room{masks};
        no_room.add(shape, detail::pack_of(std::span(real), std::span(narrow), 3));
        refuse_alike([&] { tally{masks}.add_cu_seqlens(real, narrow, 3); }, [&] { static_cast<void>(no_room.read()); });
        const std::vector<std::int32_t> falling{0, 8, 20, 12};
        emulated_tally bad_slot{masks};
        bad_slot.add(shape, detail::pack_of(std::span(real), std::span(falling), std::size_t{0}));
        refuse_alike([&] { tally{masks}.add_cu_seqlens(real, falling, 0); },
                     [&] { static_cast<void>(bad_slot.read()); });

        emulated_tally no_room_for_real{masks};
        no_room_for_real.add(shape, detail::real_pack_of(std::span(real).first(3), std::span(narrow)));
        refuse_alike([&] { tally{masks}.add_packed(std::span(real).first(3), narrow); },
                     [&] { static_cast<void>(no_room_for_real.read()); });
        const std::vector<std::int32_t> real_falling{0, 5, 3};
        emulated_tally bad_real{masks};
        bad_real.add(shape, detail::real_pack_of(std::span(real_falling).first(3), std::span(narrow)));
        refuse_alike([&] { tally{masks}.add_packed(real_falling, narrow); },
                     [&] { static_cast<void>(bad_real.read()); });

        const std::int32_t four = 4;
        const std::int64_t negative = -1;
        emulated_tally too_many{masks};
        too_many.add(shape, detail::pack_of(std::span(real), std::span(real), &four));
        refuse_alike([&] { tally{masks}.add_cu_seqlens(real, real, 4); }, [&] { static_cast<void>(too_many.read()); });
        emulated_tally too_few{masks};
        too_few.add(shape, detail::pack_of(std::span(real), std::span(real), &negative));
        CHECK(error_of([&] { static_cast<void>(too_few.read()); })
                  .rfind("num_real_seqs: must be at least 0, got -1 (index 0 of add 1 since the reset, the first of 3 ",
                         0) == 0);

        emulated_tally too_long_row{masks};
        too_long_row.add(shape, detail::in_rows(detail::length_list_of(std::span(real)), 20));
        refuse_alike([&] { tally{masks}.add_padded(real, 20); }, [&] { static_cast<void>(too_long_row.read()); });
    }
}

TEST_CASE("a kernel skips mask rows, samples, grids and clips that a host tally refuses") {
    const mask_set masks = every_tower();
    const mask_set text{mask::sliding_window(400)};
    for (const launch_shape& shape : shapes) {
        for (const auto& flags : {std::vector<std::int32_t>{1, 1, 0, 0, 0, 1, 0, 1},
                                  {1, 1, 0, 0, 0, 1, 1, 2},
                                  {1, 1, 0, 0, -7, 1, 1, 0},
                                  {0, 1, 0, 1, 1, 2, 0, 0}}) {
            emulated_tally device{text};
            device.add_flags(shape, flags.data(), 2, 4);
            refuse_alike([&] { tally{text}.add_attention_mask(flags, {.rows = 2, .columns = 4}); },
                         [&] { static_cast<void>(device.read()); });
        }
        const std::vector<std::int32_t> lengths{50, 9, 60};
        const std::vector<std::int32_t> targets{5, 10, 5};
        emulated_tally sample{text};
        sample.add(shape, detail::hstu_samples(std::span(lengths), {}, std::span(targets), 1));
        refuse_alike([&] { tally{text}.add({.length = 9, .targets = 10, .target_group = 1}); },
                     [&] { static_cast<void>(sample.read()); });
        const std::vector<std::int32_t> negative{5, -1, 5};
        emulated_tally below{text};
        below.add(shape, detail::hstu_samples(std::span(lengths), std::span(negative), {}, 1));
        CHECK(error_of([&] {
                  static_cast<void>(below.read());
              }).rfind("contextual[1]: must be at least 0, got -1 (index 1 ", 0) == 0);

        for (const auto& thw : {std::vector<std::int64_t>{1, 4, 4, 1, 5, 4},
                                {1, 4, 4, 1, 4, -4},
                                {1, 4, 4, 1, 70'000, 70'000},
                                {1, 4, 4, 4'000'000'000, 1000, 1000}}) {
            emulated_tally grids{masks};
            grids.add(shape, detail::sample_list<grid>(std::span(thw).first(6)));
            refuse_alike([&] { tally{masks}.add_grid_thw(thw); }, [&] { static_cast<void>(grids.read()); });
        }
        const std::vector<std::int64_t> frames{5, 1, std::int64_t{1} << 40U};
        emulated_tally clips{masks};
        clips.add(shape, detail::sample_list<audio_clip>(std::span(frames).first(3)));
        refuse_alike([&] { tally{masks}.add_audio_frames(frames); }, [&] { static_cast<void>(clips.read()); });
    }
    emulated_tally own{masks};
    own.ref().add({.length = 9}, {.length = 8}, 77);
    CHECK(error_of([&] { static_cast<void>(own.read()); }) ==
          "length: a slot of 8 has no room for 9: enlarge the slot (index 77 in a kernel of your own, the first of 1 "
          "that the device left "
          "out)");
    emulated_tally routed{masks};
    routed.ref().add_routed({.useful = 9, .padded = 8});
    refuse_alike([&] { tally{masks}.add_routed({.useful = 9, .padded = 8}); },
                 [&] { static_cast<void>(routed.read()); });
}

TEST_CASE("a sum that overflows on the device is reported when the host reads the sum") {
    const std::uint32_t longest = 0xFFFF'FFFFU;
    for (const launch_shape& shape : shapes) {
        // within a thread, between threads, between warps or blocks, and between launches
        for (const std::size_t apart : {1U, 4U, 128U, 0U}) {
            std::vector<std::uint32_t> lengths(600, 0);
            lengths[0] = longest;
            lengths[apart] = longest;
            emulated_tally device{mask_set{mask::window(longest / 2, -1)}};
            device.add(shape, detail::length_list_of(std::span(lengths)));
            if (apart == 0) {
                CHECK(device.read().get(view::useful, accumulator::squares) == std::uint64_t{longest} * longest);
                device.add(shape, detail::length_list_of(std::span(lengths)));
            }
            CHECK(error_of([&] { static_cast<void>(device.read()); }) ==
                  "squares: the sum does not fit 64 bits: count fewer samples");
        }
        // One alone fits, whichever thread has it.
        for (const std::size_t place : {0U, 32U, 64U, 68U, 124U}) {
            std::vector<std::uint32_t> lengths(600, 0);
            lengths[place] = longest;
            emulated_tally device{mask_set{}};
            device.add(shape, detail::length_list_of(std::span(lengths)));
            CHECK(device.read().get(view::useful, accumulator::tokens) == longest);
        }
        // A caller's own statistic has sums that nothing bounds: within a group, between groups and between warps.
        for (const std::size_t apart : {0U, 1U, 256U, 512U}) {
            std::vector<std::int32_t> lengths(2000, 0);
            lengths[0] = 7;
            lengths[apart] = 7;
            emulated_tally_of<library_statistics::with<half_an_accumulator>> own{mask_set{half_an_accumulator{}}};
            own.add(shape, detail::length_list_of(std::span(lengths)));
            CHECK(error_of([&] { static_cast<void>(own.read()); }) ==
                  (apart == 0 ? "no error" : "half_an_accumulator: the sum does not fit 64 bits: count fewer samples"));
        }
        const std::vector<std::int64_t> thw{4'000'000'000, 60'000, 60'000};
        emulated_tally grids{mask_set::of_towers()};
        grids.add(shape, detail::sample_list<grid>(std::span(thw).first(3)));
        CHECK(error_of([&] { static_cast<void>(grids.read()); }) ==
              "vision.squares: the sum does not fit 64 bits: count fewer samples");
    }
}

TEST_CASE("checks on the device refuse the same sequences and slots as checks on the host") {
    const std::vector<std::uint32_t> values{0, 1, 2, 0xFFFF'FFFFU};
    const auto throws = [](auto check) { return error_of(check) != "no error"; };
    for (const std::uint32_t length : values) {
        for (const std::uint32_t past : values) {
            for (const std::uint32_t context : values) {
                for (const std::uint32_t targets : values) {
                    for (const std::uint32_t group : {0U, 1U}) {
                        const sequence s{length, past, 0, context, targets, group};
                        CHECK(detail::is_valid(s) == !throws([&] { detail::check_sequence(s); }));
                        const sequence slot{2, 1, 0, 1, 1, 1};
                        if (detail::is_valid(s)) {
                            CHECK(detail::has_room(s, slot) == !throws([&] { detail::require_room(s, slot); }));
                            CHECK(detail::has_room(slot, s) == !throws([&] { detail::require_room(slot, s); }));
                        }
                    }
                }
            }
        }
    }
}

TEST_CASE("a device tally refuses more masks than its kernels can count", "[cuda][errors]") {
    mask_set masks{mask::causal(), mask::bidirectional()};  // without accumulators of their own
    for (std::int64_t window = 1; window <= 17; ++window) {
        masks.find_or_add(mask::sliding_window(window), "masks");
    }
    CHECK(detail::accumulator_schema(masks).mask_count == 17);
    masks.find_or_add(mask::sliding_window(18), "masks");
    const std::string refused =
        "masks: this model needs accumulators for 18 masks, and a device's tally has room for 17: count it on the host";
    CHECK(error_of([&] { static_cast<void>(detail::accumulator_schema(masks)); }) == refused);
}

}  // namespace kernels_test
