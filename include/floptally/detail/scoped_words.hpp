// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/context_share.hpp>
#include <floptally/detail/witnessed_sum.hpp>
#include <floptally/error.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/statistic_scope.hpp>
#include <floptally/parallel/tally_scope.hpp>
#include <floptally/statistic.hpp>
#include <floptally/statistics/measured.hpp>
#include <floptally/statistics/rule.hpp>
#include <floptally/tally.hpp>

namespace floptally::detail {

/// Of the words of a tower that the model does not have: zeros, about which there is nothing to declare.
inline constexpr statistic_scope nothing_scope = statistic_scope{}
                                                     .along(parallel_axis::dp, share::replicated)
                                                     .trusting_replicas()
                                                     .along_virtual_stages(share::sharded);

/// The name of a word that a caller measures.
[[nodiscard]] inline std::string word_of(const rule& measured_word) {
    return std::string(measured_word.as<unit_rules::measured>().word());
}

/// The words of a tally, in its order, by name and scope.
[[nodiscard]] inline std::vector<witnessed_sum::word> scoped_words(const tally& like, const tally_scope& scope) {
    const std::size_t stride = like.words().size() / 2;
    const std::size_t masks = stride - like.masks().size();
    const std::size_t fixed = tally::fixed_words;
    std::vector<witnessed_sum::word> words;
    for (std::size_t i = 0; i < 2 * stride; ++i) {
        const std::size_t at = i % stride;
        const statistic what = at < masks ? static_cast<statistic>(at % fixed) : statistic::pairs;
        const modality in = at < masks ? static_cast<modality>(at / fixed) : like.masks()[at - masks].in();
        std::string name = i < stride ? "" : "padded ";
        const statistic_scope* held = &scope.of(in, what);
        if (at < masks) {
            name.append(qualified(in, name_of(what)));
        } else {
            const rule& word = like.masks()[at - masks];
            name.append(word.is_measured() ? "" : "pairs ").append(word.name());
            held = word.is_measured() ? &scope.of_measured(word_of(word), in) : held;
        }
        words.push_back({std::move(name), like.masks().has(in) ? *held : nothing_scope});
    }
    scope.require_measured([&](std::string_view name) {
        for (const rule& word : like.masks()) {
            if (word.is_measured() && word_of(word) == name) {
                return true;
            }
        }
        return false;
    });
    return words;
}

/// Whether a word of a tally, by its place, is a sum over the text's own rows, of which a rank's share has a share. The
/// words that callers measure are held as they were measured.
[[nodiscard]] inline bool is_sum_over_text(const tally& like, std::size_t word) {
    const std::size_t stride = like.words().size() / 2;
    const std::size_t masks = stride - like.masks().size();
    const std::size_t at = word % stride;
    return at < masks ? at < tally::fixed_words && static_cast<statistic>(at) != statistic::routed
                      : like.masks()[at - masks].in() == modality::text && !like.masks()[at - masks].is_measured();
}

/// Throws where a tally says that it is one rank's share of context parallelism (`context_share`), and the scope or the
/// layout says something else. Equal shares pass for replicas in every sum, so that it must be found here.
inline void require_share(const tally& mine, const witnessed_sum& sum) {
    const context_share& held = mine.share_of_context();
    const parallel_layout& layout = sum.layout();
    const std::uint64_t cp = layout.size(parallel_axis::cp);
    const std::uint64_t here = layout.coordinate(parallel_axis::cp);
    const std::string share_text =
        "this tally is the share of cp rank " + std::to_string(held.rank()) + " of " + std::to_string(held.cp());
    if (cp == held.cp() && here != held.rank()) {
        throw error("cp_rank", share_text + ", and this rank is " + std::to_string(here));
    }
    for (std::size_t i = 0; i < mine.words().size(); ++i) {
        if (mine.words()[i] == 0 || !is_sum_over_text(mine, i)) {
            continue;
        }
        const auto& [name, scope] = sum.words()[i];
        if (cp > 1 && scope.along(parallel_axis::cp) != share::sharded) {
            throw error(name, scope.where(parallel_axis::cp) + ", says its scope, and " + share_text +
                                  ": scopes::context_slice is sharded over cp");
        }
        if (scope.parts(layout) < held.cp()) {
            throw error(name, "is held in " + std::to_string(scope.parts(layout)) + " parts, says its scope, and " +
                                  share_text);
        }
    }
}

}  // namespace floptally::detail
