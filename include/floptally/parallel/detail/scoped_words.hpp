// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/context_share.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/statistic_scope.hpp>
#include <floptally/parallel/tally_scope.hpp>
#include <floptally/parallel/witnessed_sum.hpp>
#include <floptally/rules/measured.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

namespace floptally::detail {

/// The scope of the words of a tower that the model does not have, which are zeros on all ranks.
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

/// True where a word of a tally, by its place, is a sum over the text's rows, so that a rank's share of context
/// parallelism has a share of it. Words that callers measure are not: they are held as they were measured.
[[nodiscard]] inline bool is_sum_over_text(const tally& like, std::size_t word) {
    const std::size_t stride = like.words().size() / 2;
    const std::size_t masks = stride - like.masks().size();
    const std::size_t at = word % stride;
    return at < masks ? at < tally::fixed_words && static_cast<statistic>(at) != statistic::routed
                      : like.masks()[at - masks].in() == modality::text && !like.masks()[at - masks].is_measured();
}

/// The mark of a tally that was added up over these axes of a layout.
[[nodiscard]] inline added_up added_up_over(axis_set axes, const parallel_layout& layout) {
    std::uint32_t bits = 0;
    for (const parallel_axis axis : dense_axes) {
        bits |= axes.contains(axis) && layout.size(axis) > 1 ? 1U << static_cast<unsigned>(axis) : 0U;
    }
    return {bits, layout.sizes().vpp > 1};
}

/// The values of a tally or another `record`, to be summed. Throws where they were added up over ranks before, and the
/// sum would add up the same ranks again. Along an axis that a value's scope says to be replicated it may be: all ranks
/// have the same sum there, which is divided out.
inline std::span<const std::uint64_t> not_added_up(const added_up& before, std::span<const std::uint64_t> values,
                                                   const witnessed_sum& sum, std::string_view record) {
    if (!before.is_said()) {
        return values;
    }
    const parallel_layout& layout = sum.layout();
    const std::string twice = text_of({", says its scope, and this ", record, " was added up over "});
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] == 0) {
            continue;
        }
        const auto& [name, scope] = sum.words()[i];
        for (const parallel_axis axis : dense_axes) {
            if (before.over(static_cast<std::uint32_t>(axis)) && layout.size(axis) > 1 && !scope.is_copied(axis)) {
                refuse(name, {scope.where(axis), twice, name_of(axis), " before: sum it once"});
            }
        }
        if (before.over_visits() && layout.sizes().vpp > 1 && scope.along_virtual_stages() == share::replicated) {
            refuse(name, {"is replicated over vpp", twice, "vpp before: sum it once"});
        }
    }
    return values;
}

/// Throws where a tally says that it is one rank's share of context parallelism (`context_share`), and the scope or the
/// layout says something else. Equal shares pass for replicas in every sum, so that it must be found here.
inline void require_share(const tally& mine, const witnessed_sum& sum) {
    const context_share& held = mine.share_of_context();
    const parallel_layout& layout = sum.layout();
    const std::uint64_t cp = layout.size(parallel_axis::cp);
    const std::uint64_t here = layout.coordinate(parallel_axis::cp);
    const std::string share_text = text_of({"this tally is the share of cp rank ", held.rank(), " of ", held.cp()});
    if (cp == held.cp() && here != held.rank()) {
        refuse("cp_rank", {share_text, ", and this rank is ", here});
    }
    for (std::size_t i = 0; i < mine.words().size(); ++i) {
        if (mine.words()[i] == 0 || !is_sum_over_text(mine, i)) {
            continue;
        }
        const auto& [name, scope] = sum.words()[i];
        if (cp > 1 && scope.along(parallel_axis::cp) != share::sharded) {
            refuse(name, {scope.where(parallel_axis::cp), ", says its scope, and ", share_text,
                          ": scopes::context_slice is sharded over cp"});
        }
        if (scope.parts(layout) < held.cp()) {
            refuse(name, {"is held in ", scope.parts(layout), " parts, says its scope, and ", share_text});
        }
    }
}

}  // namespace floptally::detail
