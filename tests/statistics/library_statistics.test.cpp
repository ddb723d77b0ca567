// SPDX-License-Identifier: Apache-2.0
//
// Every statistic of `library_statistics`, by its name: what it counts is enumerated here, and what holds of all of
// them is tested of each. A statistic without its line in `enumerations` fails.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/config/detail/mask_functions.hpp>
#include <floptally/conventions/all.hpp>
#include <floptally/statistics/library_statistics.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/measured.hpp>
#include <floptally/statistics/statistic_table.hpp>
#include <floptally/statistics/statistic_text.hpp>

#include "catch2.hpp"
#include "hstu_definition.hpp"

namespace library_statistics_test {
namespace {

using namespace floptally;
using i64 = std::int64_t;
using u64 = std::uint64_t;
using words = const std::int32_t*;

/// Σ over the rows of a sequence of what each counts.
template <class Row>
u64 rows(const sequence& s, Row row) {
    u64 sum = 0;
    for (i64 i = s.past; i < i64{s.past} + s.length; ++i) {
        sum += static_cast<u64>(row(i));
    }
    return sum;
}
/// The pairs of a row and a key of which `sees` is true.
template <class Sees>
u64 pairs(const sequence& s, Sees sees) {
    return rows(s, [&](i64 i) {
        i64 keys = 0;
        for (i64 j = 0; j < i64{s.past} + s.length; ++j) {
            keys += sees(i, j) ? 1 : 0;
        }
        return keys;
    });
}
/// Whole blocks of so many tokens among the first `tokens`.
i64 whole_blocks(i64 tokens, i64 size) {
    i64 blocks = 0;
    for (; tokens >= size; tokens -= size) {
        ++blocks;
    }
    return blocks;
}
detail::resampled_cells level_of(words p) { return {p[0], p[1], p[2], p[3]}; }
/// The cells of an axis: a kernel is laid wherever it fits, and what it makes is repeated.
u64 made_of(i64 cells, const resampling& by) {
    i64 outcome = 0;
    for (i64 first = 0; cells != 0 && first + by.field <= cells; first += by.stride) {
        outcome += by.up;
    }
    return outcome == 0 ? 0 : static_cast<u64>(std::max<i64>(outcome + by.add, 0));
}
u64 made_frame(words p, const grid& g) { return made_of(g.h, level_of(p).space()) * made_of(g.w, level_of(p).space()); }
u64 made_frames(words p, const grid& g) { return made_of(g.t, level_of(p).frames()); }
bool is_in_band(words p, i64 i, i64 j) { return (p[0] < 0 || i - j <= p[0]) && (p[1] < 0 || j - i <= p[1]); }

hstu_definition::parts parts_of(const sequence& s) {
    const i64 end = i64{s.past} + s.length;
    return {s.context, end - s.context - s.targets, s.targets, s.target_group == 0 ? 1 : s.target_group, s.past};
}
/// True where row i is in a part, 0 all, 1 context, 2 items, 3 history, 4 targets, in the order of `hstu_rows`.
bool is_of_part(i64 part, const hstu_definition::parts& s, i64 i) {
    const bool context = i < s.context;
    const bool target = i >= s.context + s.history;
    switch (static_cast<hstu_rows>(part)) {
        case hstu_rows::context:
            return context;
        case hstu_rows::items:
            return !context;
        case hstu_rows::history:
            return !context && !target;
        case hstu_rows::targets:
            return target;
        default:
            return true;
    }
}

/// Cells of an axis by the first of every window that a convolution reads.
i64 left(i64 cells, i64 field, i64 stride) {
    i64 count = 0;
    for (i64 first = 0; cells != 0 && first + field <= cells; first += stride) {
        ++count;
    }
    return count;
}
/// The window that a cell of an axis stands in, of which the first ends after `shift`.
i64 window_of(i64 cell, i64 side, i64 shift) { return cell < shift ? -1 : (cell - shift) / side; }

/// Pairs of cells of a frame in one window.
u64 windowed(i64 h, i64 w, i64 side, i64 shift) {
    u64 sum = 0;
    for (i64 a = 0; a < h * w; ++a) {
        for (i64 b = 0; b < h * w; ++b) {
            sum += window_of(a / w, side, shift) == window_of(b / w, side, shift) &&
                           window_of(a % w, side, shift) == window_of(b % w, side, shift)
                       ? 1U
                       : 0U;
        }
    }
    return sum;
}
i64 merged(const grid& g, i64 side) { return whole_blocks(g.h, side) * whole_blocks(g.w, side); }
i64 kept(const grid& g, words p) {
    return g.frame_patches() == 0 ? 0 : i64{g.h} * g.w * (1'000'000 - p[0]) / 1'000'000 + p[1];
}
i64 listed(const grid& g, words p) {
    const i64 patches = i64{g.h} * g.w;
    return patches == p[0] ? p[1] : patches == p[2] ? p[3] : 0;
}
i64 frames_left(i64 frames, words p, i64 chunk) {
    i64 sum = 0;
    for (; chunk != 0 && frames > chunk; frames -= chunk) {
        sum += left(chunk, p[0], p[1]);
    }
    return sum + left(frames, p[0], p[1]);
}

/// The items of a factor of a product, where the product has so many of that length.
u64 factor(std::int32_t exponent, std::int32_t number, u64 length) { return exponent >= number ? length : 1; }
/// How many tuples there are of an item of each factor, one by one.
u64 tuples(const std::vector<u64>& factors) {
    u64 sum = 0;
    std::vector<u64> at(factors.size());
    const bool any = std::find(factors.begin(), factors.end(), 0U) == factors.end();
    for (bool more = any; more;) {
        ++sum;
        more = false;
        for (std::size_t k = 0; !more && k < at.size(); ++k) {
            at[k] = at[k] + 1 == factors[k] ? 0 : at[k] + 1;
            more = at[k] != 0;
        }
    }
    return sum;
}
/// The count of one statistic over a sample, item by item; null where the statistic counts no such sample.
struct enumeration {
    std::string_view name;
    std::vector<statistic> made;
    u64 (*of_sequence)(words, const sequence&);
    u64 (*of_grid)(words, const grid&) = nullptr;
    u64 (*of_clip)(words, const audio_clip&) = nullptr;
};

/// The most that a statistic may count: a square of what a sample has, or a cube.
u64 most_of(const enumeration& line, u64 all) { return line.name == "powers" ? all * all * all : all * all; }

const std::vector<enumeration>& enumerations() {
    // clang-format off
    static const std::vector<enumeration> all{
        {"window", {mask::causal(), mask::bidirectional(), mask::window(2, -1), mask::window(3, 1)},
         [](words p, const sequence& s) { return pairs(s, [&](i64 i, i64 j) { return is_in_band(p, i, j); }); }},
        {"chunked", {mask::chunked(3), mask::chunked(8)},
         [](words p, const sequence& s) { return pairs(s, [&](i64 i, i64 j) { return j <= i && i / p[0] == j / p[0]; }); }},
        {"top_k", {mask::top_k(1), mask::top_k(5)},
         [](words p, const sequence& s) { return rows(s, [&](i64 i) { return std::min<i64>(i + 1, p[0]); }); }},
        {"compressed_keys", {mask::compressed_keys(2), mask::compressed_keys(5)},
         [](words p, const sequence& s) { return rows(s, [&](i64 i) { return whole_blocks(i + 1, p[0]); }); }},
        {"cross_attention", {mask::cross_attention()},
         [](words, const sequence& s) { return rows(s, [&](i64) { return s.keys; }); }},
        {"encoder", {mask::encoder()},
         [](words, const sequence& s) { return pairs({.length = s.keys}, [](i64, i64) { return true; }); }},
        {"encoder_window", {mask::encoder_window(2, 1), mask::encoder_window(-1, 0)},
         [](words p, const sequence& s) { return pairs({.length = s.keys}, [&](i64 i, i64 j) { return is_in_band(p, i, j); }); }},
        {"prefix_lm", {mask::prefix_lm(2), mask::prefix_lm(7)},
         [](words p, const sequence& s) { return pairs(s, [&](i64 i, i64 j) { return j <= i || j < p[0]; }); }},
        {"best_compressed_keys", {mask::best_compressed_keys(2, 3), mask::best_compressed_keys(4, 1)},
         [](words p, const sequence& s) { return rows(s, [&](i64 i) { return std::min<i64>(whole_blocks(i + 1, p[0]), p[1]); }); }},
        {"block_causal", {mask::block_causal(3), mask::block_causal(7, 2)},
         [](words p, const sequence& s) { return pairs(s, [&](i64 i, i64 j) { return j / p[0] <= i / p[0]; }); }},
        {"best_blocks", {mask::best_blocks(2, 3), mask::best_blocks(5, 1)},
         [](words p, const sequence& s) { return pairs(s, [&](i64 i, i64 j) { return j <= i && i / p[0] - j / p[0] < p[1]; }); }},
        {"best_pools", {mask::best_pools(2, 3), mask::best_pools(5, 1)},
         [](words p, const sequence& s) { return rows(s, [&](i64 i) {
             const i64 pools = whole_blocks(i + 1, p[0]);
             return p[0] * std::min<i64>(pools, p[1]) + i + 1 - p[0] * pools; }); }},
        {"box", {mask::box(4), mask::box(100)},
         [](words p, const sequence& s) { return pairs(s, [&](i64, i64 j) { return j <= p[0]; }); }},
        {"hstu", {mask::hstu()},
         [](words, const sequence& s) { return hstu_definition::pairs({}, parts_of(s)); }},
        {"grid_windows", {mask::grid_windows(2), mask::grid_windows(3, 1)}, nullptr,
         [](words p, const grid& g) { return g.t * windowed(g.h, g.w, p[0], p[1]); }},
        {"clip_squares", {mask::clip_squares(), mask::clip_squares(2)}, nullptr,
         [](words p, const grid& g) {
             const u64 tokens = g.frame_patches() == 0 ? 0 : g.t * (g.frame_patches() + static_cast<u64>(p[0]));
             return pairs({.length = static_cast<std::uint32_t>(tokens)}, [](i64, i64) { return true; }); }},
        {"level_windows", {mask::level_windows(2, 0, false, false), mask::level_windows(2, 1, true, false)}, nullptr,
         [](words p, const grid& g) {
             const i64 by = i64{1} << p[1];
             return g.t * windowed(left(g.h, 1, by), left(g.w, 1, by), p[0], p[2] != 0 ? p[0] / 2 : 0); }},
        {"reduced_pairs", {mask::reduced_pairs(1, 1, 2, 2), mask::reduced_pairs(1, 2, 3, 2)}, nullptr,
         [](words p, const grid& g) { return static_cast<u64>(g.t * left(g.h, p[2], p[3]) * left(g.w, p[2], p[3]) *
                                                              left(g.h, p[0], p[1]) * left(g.w, p[0], p[1])); }},
        {"across_frames", {mask::across_frames()}, nullptr,
         [](words, const grid& g) { return g.frame_patches() * pairs({.length = g.t}, [](i64, i64) { return true; }); }},
        {"window_lines", {mask::window_lines(), mask::window_lines(2)}, nullptr,
         [](words p, const grid& g) {
             u64 sum = 0;
             const auto near = [&](i64 a, i64 b) { return p[0] == 0 || a / p[0] == b / p[0]; };
             for (i64 patch = 0; patch < i64{g.h} * g.w; ++patch) {
                 for (i64 row = 0; row < g.h; ++row) { sum += near(patch / g.w, row) ? 1U : 0U; }
                 for (i64 column = 0; column < g.w; ++column) { sum += near(patch % g.w, column) ? 1U : 0U; }
             }
             return g.t * sum; }},
        {"later_image_tokens", {mask::later_image_tokens(1), mask::later_image_tokens(2, 2)}, nullptr,
         [](words p, const grid& g) {
             return g.t * pairs({.length = static_cast<std::uint32_t>(merged(g, p[0]))},
                                [&](i64 i, i64 j) { return j > i || (p[1] > 0 && i - j >= p[1]); }); }},
        {"strided_squares", {mask::strided_squares(1, 2), mask::strided_squares(3, 2, 5, 4)}, nullptr, nullptr,
         [](words p, const audio_clip& clip) {
             return pairs({.length = static_cast<std::uint32_t>(frames_left(clip.frames, p, p[2]))},
                          [&](i64 i, i64 j) { return p[3] == 0 || i / p[3] == j / p[3]; }); }},
        {"strided_band", {mask::strided_band(1, 2, 2, 0), mask::strided_band(3, 1, -1, 1), mask::strided_band(3, 3, 4, 0, 2)},
         nullptr, nullptr, [](words p, const audio_clip& clip) {
             const std::int32_t strides[]{p[0], p[1] & 0xFF'FFFF};
             return pairs({.length = static_cast<std::uint32_t>((p[1] >> 24) * frames_left(clip.frames, strides, 0))},
                          [&](i64 i, i64 j) { return is_in_band(p + 2, i, j); }); }},
        {"hstu_part", {unit::hstu_part(hstu_rows::targets, 2), unit::hstu_part(hstu_rows::history),
                       unit::hstu_part(hstu_rows::items, 3), unit::hstu_part(hstu_rows::context)},
         [](words p, const sequence& s) {
             i64 place = 0;  // among the rows of the part
             u64 sum = 0;
             for (i64 i = 0; i < i64{s.past} + s.length; ++i) {
                 if (is_of_part(p[0], parts_of(s), i)) { sum += place++ % p[1] == 0 && i >= s.past ? 1U : 0U; }
             }
             return sum; }},
        {"whole_blocks", {unit::whole_blocks(1), unit::whole_blocks(3)},
         [](words p, const sequence& s) { return rows(s, [&](i64 i) { return (i + 1) % p[0] == 0 ? 1 : 0; }); }},
        {"merged_patches", {unit::merged_patches(1), unit::merged_patches(2, 1)}, nullptr,
         [](words p, const grid& g) { return static_cast<u64>(g.t * (merged(g, p[0]) + whole_blocks(g.h, p[0]) * p[1])); }},
        {"pooled_patches", {unit::pooled_patches(2)}, nullptr,
         [](words p, const grid& g) { return static_cast<u64>(g.t == 0 ? 0 : merged(g, p[0])); }},
        {"clips", {unit::clips()}, nullptr,
         [](words, const grid& g) { return u64{g.t != 0 && g.h != 0 && g.w != 0 ? 1U : 0U}; }},
        {"pooled_clips", {unit::pooled_clips(2)}, nullptr,
         [](words p, const grid& g) { return static_cast<u64>(g.t * (g.t > 1 ? merged(g, p[0]) : i64{g.h} * g.w)); }},
        {"merged_pairs", {unit::merged_pairs(2)}, nullptr,
         [](words p, const grid& g) { return static_cast<u64>(merged(g, p[0]) * (g.t > 1 ? whole_blocks(g.t, 2) : g.t)); }},
        {"merged_squares", {unit::merged_squares(1), unit::merged_squares(2)}, nullptr,
         [](words p, const grid& g) {
             return g.t * pairs({.length = static_cast<std::uint32_t>(merged(g, p[0]))}, [](i64, i64) { return true; }); }},
        {"strided_cells", {unit::strided_cells(1, 2), unit::strided_cells(3, 1), unit::strided_cells(1, 2, 3)}, nullptr,
         [](words p, const grid& g) {
             i64 cells = 0;
             for (i64 level = 0, stride = p[1]; level < p[2]; ++level, stride *= 2) {
                 cells += left(g.h, p[0], stride) * left(g.w, p[0], stride);
             }
             return static_cast<u64>(g.t * cells); }},
        {"kept_patches", {unit::kept_patches(750'000, 1), unit::kept_patches(0, 0)}, nullptr,
         [](words p, const grid& g) { return static_cast<u64>(g.t * kept(g, p)); }},
        {"kept_squares", {unit::kept_squares(750'000, 1)}, nullptr,
         [](words p, const grid& g) {
             return g.t * pairs({.length = static_cast<std::uint32_t>(kept(g, p))}, [](i64, i64) { return true; }); }},
        {"strided_frames", {unit::strided_frames(1, 2), unit::strided_frames(3, 2, 5)}, nullptr, nullptr,
         [](words p, const audio_clip& clip) { return static_cast<u64>(frames_left(clip.frames, p, p[2])); }},
        {"latent_tokens", {unit::latent_tokens(), unit::latent_tokens({.side = 2})}, nullptr,
         [](words p, const grid& g) { return u64{g.t} * static_cast<u64>(merged(g, p[0])); }},
        {"joint_tokens", {unit::joint_tokens({.side = 2})}, nullptr,
         [](words p, const grid& g) { return u64{g.t} * static_cast<u64>(merged(g, p[0])) + g.keys; }},
        {"latent_pairs", {mask::latent_pairs(), mask::latent_pairs({.side = 2})}, nullptr,
         [](words p, const grid& g) {
             return pairs({.length = static_cast<std::uint32_t>(g.t * merged(g, p[0]))}, [](i64, i64) { return true; }); }},
        {"joint_pairs", {mask::joint_pairs({.side = 2})}, nullptr,
         [](words p, const grid& g) {
             return pairs({.length = static_cast<std::uint32_t>(g.t * merged(g, p[0]) + g.keys)}, [](i64, i64) { return true; }); }},
        {"level_cells", {unit::level_cells({2, 2}, {1, 2}), unit::level_cells({3, 4, 2, 1}, {.up = 2, .add = -1}),
                         unit::level_cells({1, 3})}, nullptr,
         [](words p, const grid& g) { return made_frames(p, g) * made_frame(p, g); },
         [](words p, const audio_clip& clip) { return made_of(clip.frames, level_of(p).space()); }},
        {"level_pairs", {mask::level_pairs({2, 2}), mask::level_pairs({1, 2}, {1, 2}, level_reach::frame),
                         mask::level_pairs({2, 3, 2}, {}, level_reach::place),
                         mask::level_pairs({2, 2}, {.up = 2, .add = -1}, level_reach::past),
                         mask::level_pairs({1, 2}, {}, level_reach::before)}, nullptr,
         [](words p, const grid& g) {
             const i64 frame = static_cast<i64>(made_frame(p, g));
             const auto reach = floptally::mask_statistics::level_pairs{level_of(p)}.reach();
             return pairs({.length = static_cast<std::uint32_t>(static_cast<i64>(made_frames(p, g)) * frame)}, [&](i64 i, i64 j) {
                 return reach == level_reach::sample || (reach == level_reach::frame && i / frame == j / frame) ||
                        (reach == level_reach::place && i % frame == j % frame) ||
                        (reach == level_reach::past && j / frame <= i / frame) ||
                        (reach == level_reach::before && i % frame == j % frame && j <= i); }); },
         [](words p, const audio_clip& clip) {
             const auto reach = floptally::mask_statistics::level_pairs{level_of(p)}.reach();
             return pairs({.length = static_cast<std::uint32_t>(made_of(clip.frames, level_of(p).space()))},
                          [&](i64 i, i64 j) { return (reach != level_reach::place && reach != level_reach::before) || i == j; }); }},
        {"measured", {measured("routed"), measured("loss_tokens")}, nullptr},  // no sample adds to it
        {"count", {moment_statistics::count{}}, [](words, const sequence& s) { return u64{s.length != 0 ? 1U : 0U}; }},
        {"tokens", {moment_statistics::tokens{}}, [](words, const sequence& s) { return rows(s, [](i64) { return 1; }); }},
        {"squares", {moment_statistics::squares{}},
         [](words, const sequence& s) { return pairs({.length = s.length}, [](i64, i64) { return true; }); }},
        {"cached", {moment_statistics::cached{}}, [](words, const sequence& s) { return rows(s, [&](i64) { return s.past; }); }},
        {"keys", {moment_statistics::keys{}}, [](words, const sequence& s) { return rows({.length = s.keys}, [](i64) { return 1; }); },
         [](words, const grid& g) { return rows({.length = g.keys}, [](i64) { return 1; }); }},
        {"crossed", {moment_statistics::crossed{}}, [](words, const sequence& s) { return rows(s, [&](i64) { return s.keys; }); },
         [](words, const grid& g) { return u64{g.t} * g.h * g.w * g.keys; }},
        {"within_window", {make_statistic<megatron_bridge::within_window>(9)},
         [](words p, const sequence& s) { return rows(s, [&](i64 i) { return i64{s.past} + s.length <= p[0] + 1 ? 2 * i + 1 : 0; }); }},
        {"limited_by_window", {make_statistic<megatron_bridge::limited_by_window>(9)},
         [](words p, const sequence& s) { return pairs(s, [&](i64 i, i64 j) {
             return i64{s.past} + s.length > p[0] + 1 && j <= i && i - j <= p[0]; }); }},
        {"window_squares", {make_statistic<maxtext::window_squares>(4)},  // n², less the square beyond: a row and a column each
         [](words p, const sequence& s) { return rows(s, [&](i64 i) { return i <= p[0] ? 2 * i + 1 : 2 * (i64{p[0]} + 1); }); }},
        {"chunk_squares", {maxtext::chunk_squares{4}},
         [](words p, const sequence& s) { return rows(s, [&](i64 i) { return 2 * (i % p[0]) + 1; }); }},
        {"hstu_history_squares", {recsys_examples::history_squares{0}},
         [](words, const sequence& s) { return rows(s, [&](i64 i) {
             return is_of_part(static_cast<i64>(hstu_rows::history), parts_of(s), i) ? 2 * (i - s.context) + 1 : 0; }); }},
        {"hstu_other_pairs", {recsys_examples::other_pairs{0}},
         [](words, const sequence& s) { return pairs(s, [&](i64 i, i64 j) {
             const hstu_definition::parts own = parts_of(s);
             const i64 seen = own.context + own.history;
             return i == j ? i < own.context || i >= seen : j < seen && (i < own.context || i >= seen || j < own.context); }); }},
        {"compressed_box", {mask_statistics::compressed_box{3, 2}, mask_statistics::compressed_box{2, mask_statistics::compressed_box::every}},
         [](words p, const sequence& s) { return rows(s, [&](i64) {
             return std::min<i64>(whole_blocks(i64{s.past} + s.length, p[0]), p[1]); }); }},
        {"best_compressed_squares", {maxtext::best_compressed_squares{3, 2}},  // a stair: a block more is its square more
         [](words p, const sequence& s) { return rows(s, [&](i64 i) {
             const bool completes = (i + 1) % p[0] == 0 && (i + 1) / p[0] <= p[1];
             return 2 * std::min<i64>(whole_blocks(i, p[0]), p[1]) + (completes ? p[0] : 0); }); }},
        {"powers", {unit::powers(3), unit::powers(2, 1), unit::powers(1, 2), unit::powers(0, 2), unit::powers(0, 0, 2, 2)},
         [](words p, const sequence& s) {
             const u64 seen = u64{s.past} + s.length;
             return p[2] != 0 ? 0 : tuples({p[0] == 0 ? 1U : s.length, factor(p[0], 2, seen), factor(p[0], 3, seen),
                                            factor(p[1], 1, s.keys), factor(p[1], 2, s.keys)}); },
         [](words p, const grid& g) {
             const u64 cells = u64{g.t} * g.h * g.w;
             const u64 windows = static_cast<u64>(left(g.second, 1, p[3]));
             return tuples({factor(p[0], 1, cells), factor(p[0], 2, cells), factor(p[0], 3, cells), factor(p[1], 1, g.keys),
                            factor(p[1], 2, g.keys), factor(p[2], 1, windows), factor(p[2], 2, windows)}); }},
        {"listed_units", {unit::listed_units(6, 4, 4, 2)}, nullptr,
         [](words p, const grid& g) { return static_cast<u64>(g.t * listed(g, p)); }},
        {"listed_pairs", {mask::listed_pairs(6, 4, 4, 2)}, nullptr,
         [](words p, const grid& g) { return static_cast<u64>(g.t * listed(g, p)) * g.frame_patches(); }},
    };
    // clang-format on
    return all;
}

/// Calls with the line of each statistic of the list; one without a line fails.
template <class Each>
void for_each_statistic(Each each) {
    for (const detail::statistic_table* table : detail::tables_in(library_statistics{})) {
        const std::string name(table->name);
        const auto found = std::find_if(enumerations().begin(), enumerations().end(),
                                        [&](const enumeration& line) { return line.name == name; });
        if (found == enumerations().end()) {
            FAIL("the statistic " << name << " needs its enumeration in tests/statistics/library_statistics.test.cpp");
        }
        INFO("the statistic " << name);
        REQUIRE(found->made.size() != 0);
        REQUIRE((found->of_sequence != nullptr) == bool{table->of_sequence});
        REQUIRE((found->of_grid != nullptr) == (table->of_grid || table->of_frame));
        REQUIRE((found->of_clip != nullptr) == bool{table->of_clip});
        for (const statistic& result : found->made) {
            INFO(result.name());
            each(result, *found);
        }
    }
}

std::vector<sequence> sequences() {
    std::vector<sequence> all;
    for (std::uint32_t length = 0; length < 18; ++length) {
        for (const std::uint32_t past : {0U, 1U, 6U, 11U}) {
            for (const std::uint32_t keys : {0U, 7U}) {
                all.push_back({.length = length, .past = past, .keys = keys});
                if (past + length >= 9) {
                    all.push_back(
                        {.length = length, .past = past, .keys = keys, .context = 3, .targets = 5, .target_group = 2});
                }
            }
        }
    }
    return all;
}
std::vector<grid> grids() {
    std::vector<grid> all;
    for (const std::uint32_t t : {0U, 1U, 2U, 3U}) {
        for (std::uint32_t h = 0; h < 7; ++h) {
            for (std::uint32_t w = 0; w < 5; ++w) {
                all.push_back({t, h, w});
                all.push_back({t, h, w, 2});
                all.push_back({t, h, w, 2, 3});
            }
        }
    }
    return all;
}

}  // namespace

TEST_CASE("every library statistic equals its enumeration and is at most L^2 or L^3", "[statistic]") {
    for_each_statistic([](const statistic& which, const enumeration& line) {
        const words p = which.parameters().values;
        u64 counted = 0;
        for (const sequence& s : sequences()) {
            if (line.of_sequence != nullptr) {
                INFO(s.length << " tokens, past " << s.past << ", keys " << s.keys << ", targets " << s.targets);
                REQUIRE(which(s) == line.of_sequence(p, s));
                const u64 all = u64{s.past} + s.length + s.keys;
                REQUIRE(which(s) <= most_of(line, all));
                counted += which(s);
            }
        }
        for (const grid& g : grids()) {
            if (line.of_grid != nullptr && which.problem_of(g) == grid_problem::none) {
                INFO(g.t << " x " << g.h << " x " << g.w);
                REQUIRE(which(g) == line.of_grid(p, g));
                const u64 all = g.t * (g.frame_patches() + 3) + g.keys + g.second;
                REQUIRE(which(g) <= most_of(line, all));
                counted += which(g);
            }
        }
        for (std::uint32_t frames = 0; line.of_clip != nullptr && frames < 30; ++frames) {
            INFO(frames << " frames");
            REQUIRE(which(audio_clip{frames}) == line.of_clip(p, audio_clip{frames}));
            REQUIRE(which(audio_clip{frames}) <= u64{frames} * frames);
            counted += which(audio_clip{frames});
        }
        REQUIRE((counted != 0 || which.is_measured()));
    });
}

TEST_CASE("moving queries of a sequence into the cache never increases a library statistic", "[statistic]") {
    for_each_statistic([](const statistic& parsed, const enumeration& line) {
        if (line.of_sequence == nullptr || parsed.reads_other_side()) {
            return;
        }
        for (const sequence& whole : sequences()) {
            u64 before = parsed(whole);
            for (std::uint32_t row = 1; row <= whole.length; ++row) {
                sequence rest = whole;
                rest.length -= row;
                rest.past += row;
                INFO(whole.length << " tokens, past " << whole.past << ", from row " << row << " on");
                if (parsed.is<moment_statistics::cached>()) {
                    continue;  // Σ n·past, of which a row's share is n of it: split by the tally's own words
                }
                REQUIRE(parsed(rest) <= before);
                before = parsed(rest);
            }
            REQUIRE((before == 0 || whole.length == 0 || parsed.is<moment_statistics::cached>()));
        }
    });
}

TEST_CASE("the text of every library statistic can be parsed and starts with a reserved name", "[statistic]") {
    for_each_statistic([](const statistic& value, const enumeration& line) {
        CHECK(statistic_named(value.name()) == value);
        const std::string text = value.name().substr(value.name().find('.') + 1);
        CHECK(detail::is_name_in(library_statistics{}, text.substr(0, text.find('('))));
        CHECK(detail::is_name_in(library_statistics{}, line.name));
    });
}

TEST_CASE("a spec can call every library statistic with numeric parameters", "[statistic]") {
    for (const detail::statistic_table* table : detail::tables_in(library_statistics{})) {
        INFO(std::string(table->name));
        CHECK((detail::specs::statistic_called(table->name) == table) == !table->read);
    }
    CHECK(detail::specs::statistic_called("chunk") == &detail::table_of<mask_statistics::chunked>);
    CHECK(detail::specs::statistic_called("around") == &detail::table_of<mask_statistics::band>);
    CHECK(detail::specs::statistic_called("best_blocks") == &detail::table_of<mask_statistics::best_blocks>);
    CHECK(detail::specs::statistic_called("best_block") == nullptr);
}

}  // namespace library_statistics_test
