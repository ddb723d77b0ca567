// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <floptally/batch/decoding.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/seen_keys.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/sequence_masks.hpp>
#include <floptally/rules/sparse_masks.hpp>

/// @file
/// Keys of the past that new tokens see, of one pass and, in closed form, of the passes of a run.

namespace floptally::detail {

/// Keys of the past that the new tokens of a sequence see. Where the data choose them: as many as there may be.
[[nodiscard]] constexpr std::uint64_t past_keys(const rule& attends, const sequence& s) {
    if (s.past == 0 || s.length == 0 || attends.reads_other_side() || attends.is_of_other_side()) {
        return 0;
    }
    std::uint64_t past = s.past;
    if (attends.is<mask_rules::compressed_keys>()) {
        past /= static_cast<std::uint64_t>(attends.as<mask_rules::compressed_keys>().ratio);
    }
    if (!attends.says_which_keys()) {
        return std::min(past, attends.pairs(s));
    }
    seen_keys keys;
    attends.add_keys(s, s.past, std::uint64_t{s.past} + s.length, keys);
    return keys.before(past);
}

/// Keys of passes of one token each, the first with a past. `exists` is false for masks without a closed form.
struct decoded_keys {
    bool exists = false;
    std::uint64_t keys = 0;
};
[[nodiscard]] constexpr decoded_keys decoded_past_keys(const rule& attends, const pass_run& run) {
    const sequence all = run.whole();
    // A query sees of keys that data choose at most those of its past: all pairs, but for itself while it sees all.
    const auto chosen = [&](std::uint64_t seeing_all) -> decoded_keys {
        const std::uint64_t end = std::min<std::uint64_t>(std::uint64_t{all.past} + all.length, seeing_all);
        return {true, attends.pairs(all) - (end > all.past ? end - all.past : 0)};
    };
    const auto product = [](std::int32_t a, std::int64_t b) { return static_cast<std::uint64_t>(a * b); };
    if (attends.is<mask_rules::top_k>()) {
        return chosen(product(attends.as<mask_rules::top_k>().keys, 1));
    }
    if (attends.is<mask_rules::best_blocks>()) {
        const auto best = attends.as<mask_rules::best_blocks>();
        return chosen(product(best.block, best.blocks));
    }
    if (attends.is<mask_rules::best_pools>()) {
        const auto best = attends.as<mask_rules::best_pools>();
        return chosen(product(best.pool, std::int64_t{best.pools} + 1) - 1);
    }
    if (attends.is<mask_rules::best_compressed_keys>()) {
        return {true, attends.pairs(all)};
    }
    if (attends.is<mask_rules::compressed_keys>()) {  // whole blocks of the past: those that the token before saw
        return {true, attends.pairs({.length = all.length, .past = all.past - 1})};
    }
    if (attends.is<mask_rules::chunked>() ||
        (attends.is<mask_rules::band>() && attends.as<mask_rules::band>().right == 0)) {
        return {true, attends.pairs(all) - all.length};  // each sees itself
    }
    return {};
}

/// Keys of the past that the passes of a run see, each pass by itself.
[[nodiscard]] constexpr std::uint64_t past_keys(const rule& attends, const pass_run& run) {
    const pass_run later = run.past == 0 ? run.after(1) : run;
    if (run.tokens == 1 && later.passes != 0) {
        if (const decoded_keys all = decoded_past_keys(attends, later); all.exists) {
            return all.keys;
        }
    }
    checked sum(0, "past");
    for (std::uint32_t n = 0; n < run.passes; ++n) {
        sum += past_keys(attends, run.pass(n));
    }
    return sum;
}

/// The keys of the past that a sequence sees under each mask, and then 1 where it has a past.
struct cached_sums {
    const mask_set& masks;

    std::uint64_t operator()(const sequence& s, std::size_t i) const {
        return i < masks.size() ? past_keys(masks[i], s) : s.past != 0 && s.length != 0 ? 1 : 0;
    }
    std::uint64_t operator()(const pass_run& run, std::size_t i) const {
        return i < masks.size() ? past_keys(masks[i], run) : run.passes - (run.past == 0 ? 1U : 0U);
    }
};

}  // namespace floptally::detail
