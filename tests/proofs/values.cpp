// SPDX-License-Identifier: Apache-2.0
// The values that the library computes, for the proofs to compare their formulas with: a line in, a number out.
//
//     pairs STATISTIC A B C D LENGTH PAST KEYS CONTEXT TARGETS GROUP
//         of a sequence; A … D are the statistic's parameters
//     patches STATISTIC A B C D T H W       of a grid
//     frames STATISTIC A B C D FRAMES       of a clip of sound
//     block STATISTIC A B C D N LENGTH…     of N lengths, which a tally adds up in blocks
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/conventions/all.hpp>
#include <floptally/statistics/mask.hpp>

namespace {

namespace unit = floptally::unit;
using floptally::hstu_rows;
using floptally::mask;

struct parameters {
    std::int64_t a = 0;
    std::int64_t b = 0;
    std::int64_t c = 0;
    std::int64_t d = 0;
};

/// Its three flags are bits of the third parameter: bidirectional, without context, targets without limit.
mask hstu_of(const parameters& p) {
    return mask::hstu({.is_causal = p.c % 2 == 0,
                       .contextual = p.c / 2 % 2 == 0,
                       .max_attn_len = p.a,
                       .min_full_attn_seq_len = p.b,
                       .windowed_targets = p.c / 4 % 2 == 0,
                       .targets_share_place = p.c / 8 % 2 != 0});
}

/// The statistics, by the names that the table of tests/proofs/statistics.py has for them.
mask statistic_of(const std::string& name, const parameters& p) {
    if (name == "causal")
        return mask::causal();
    if (name == "bidirectional")
        return mask::bidirectional();
    if (name == "sliding_window")
        return mask::sliding_window(p.a);
    if (name == "window")
        return mask::window(p.a, p.b);
    if (name == "chunked")
        return mask::chunked(p.a);
    if (name == "top_k")
        return mask::top_k(p.a);
    if (name == "best_compressed_keys")
        return mask::best_compressed_keys(p.a, p.b);
    if (name == "block_causal")
        return mask::block_causal(p.a);
    if (name == "whole_blocks")
        return unit::whole_blocks(p.a);
    if (name == "best_blocks")
        return mask::best_blocks(p.a, p.b);
    if (name == "best_pools")
        return mask::best_pools(p.a, p.b);
    if (name == "compressed_keys")
        return mask::compressed_keys(p.a);
    if (name == "cross_attention")
        return mask::cross_attention();
    if (name == "encoder")
        return mask::encoder();
    if (name == "encoder_window")
        return mask::encoder_window(p.a, p.b);
    if (name == "compressed_box")
        return floptally::make_statistic<floptally::mask_statistics::compressed_box>(p.a, p.b);
    if (name == "best_compressed_squares")
        return floptally::make_statistic<floptally::maxtext::best_compressed_squares>(p.a, p.b);
    if (name == "prefix_lm")
        return mask::prefix_lm(p.a);
    if (name == "box")
        return mask::box(p.a);
    if (name == "window_squares")
        return floptally::make_statistic<floptally::maxtext::window_squares>(p.a);
    if (name == "chunk_squares")
        return floptally::make_statistic<floptally::maxtext::chunk_squares>(p.a);
    if (name == "within_window")
        return floptally::make_statistic<floptally::megatron_bridge::within_window>(p.a);
    if (name == "limited_by_window")
        return floptally::make_statistic<floptally::megatron_bridge::limited_by_window>(p.a);
    if (name == "hstu")
        return hstu_of(p);
    if (name == "hstu_history_squares")
        return floptally::recsys_examples::history_squares{hstu_of(p).as<floptally::mask_statistics::hstu>().flags & 3};
    if (name == "hstu_others")
        return floptally::recsys_examples::other_pairs{hstu_of(p).as<floptally::mask_statistics::hstu>().flags & 3};
    if (name == "hstu_part")
        return unit::hstu_part(static_cast<hstu_rows>(p.a), p.b);
    if (name == "grid_windows")
        return mask::grid_windows(p.a, p.b);
    if (name == "merged_patches")
        return unit::merged_patches(p.a, p.b);
    if (name == "pooled_patches")
        return unit::pooled_patches(p.a);
    if (name == "pooled_clips")
        return unit::pooled_clips(p.a);
    if (name == "merged_pairs")
        return unit::merged_pairs(p.a);
    if (name == "merged_squares")
        return unit::merged_squares(p.a);
    if (name == "clip_squares")
        return mask::clip_squares(p.a);
    if (name == "later_image_tokens")
        return mask::later_image_tokens(p.a, p.b);
    if (name == "strided_cells")
        return unit::strided_cells(p.a, p.b);
    if (name == "reduced_pairs")
        return mask::reduced_pairs(p.c, p.d, p.a, p.b);
    if (name == "window_lines")
        return mask::window_lines(p.a);
    if (name == "across_frames")
        return mask::across_frames();
    if (name == "level_windows")
        return mask::level_windows(p.a, p.b, p.c != 0, p.d != 0);
    if (name == "strided_frames")
        return unit::strided_frames(p.a, p.b, p.c);
    if (name == "strided_squares")
        return mask::strided_squares(p.a, p.b, p.c, p.d);
    if (name == "strided_band")
        return mask::strided_band(p.a, p.b, p.c, p.d);
    std::cerr << "no statistic has the name " << name << '\n';
    std::exit(2);
}

std::uint64_t of_block(const mask& statistic, const std::vector<std::uint32_t>& lengths) {
    floptally::mask_set masks;
    masks.find_or_add(statistic, "masks");
    floptally::tally sum{masks};
    sum.add_lengths(lengths);
    return sum.pairs(floptally::view::useful, statistic);
}

template <class T>
T next() {
    T number{};
    std::cin >> number;
    return number;
}

std::uint64_t value_of(const std::string& what) {
    const auto name = next<std::string>();
    parameters p;
    std::cin >> p.a >> p.b >> p.c >> p.d;
    const mask statistic = statistic_of(name, p);
    if (what == "patches") {
        floptally::grid g;
        std::cin >> g.t >> g.h >> g.w;
        return static_cast<std::uint64_t>(statistic.amount_of_countable(g));  // modulo 2^64, as the formulas
    }
    if (what == "frames") {
        return static_cast<std::uint64_t>(statistic.amount_of_countable(floptally::audio_clip{next<std::uint32_t>()}));
    }
    if (what == "block") {
        std::vector<std::uint32_t> lengths(next<std::size_t>());
        for (std::uint32_t& index : lengths) {
            index = next<std::uint32_t>();
        }
        return of_block(statistic, lengths);
    }
    floptally::sequence s;
    std::cin >> s.length >> s.past >> s.keys >> s.context >> s.targets >> s.target_group;
    return static_cast<std::uint64_t>(statistic.amount_of_countable(s));
}

}  // namespace

int main() {
    for (std::string what; std::cin >> what;) {
        std::cout << value_of(what) << '\n';
    }
}
