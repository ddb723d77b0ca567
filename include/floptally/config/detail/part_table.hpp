// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/config/detail/part_call.hpp>
#include <floptally/config/detail/parts.hpp>
#include <floptally/config/detail/rows.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/page_language/nearest.hpp>
#include <floptally/page_language/page.hpp>
#include <floptally/text/error.hpp>

/// @file
/// All parts that a line of a block may name, those that few models have and no page can express included.

namespace floptally::detail::pages {

/// A part as a line of a block names it.
struct part_kind {
    std::string_view name;
    std::string_view own;  ///< its name and base page in floptally's own format; empty: none
    std::string_view
        lines;  ///< text of its page there besides the keys: values of words, conditions, or its whole block
    cost (*make)(const part_call&);
    const part_word& (*word)(std::size_t);
    std::size_t words;
};
template <const auto& Words>
[[nodiscard]] const part_word& word_of(std::size_t index) {
    return Words[index];
}
/// A part that a table describes.
template <const auto& Words>
[[nodiscard]] constexpr part_kind described(std::string_view name, std::string_view own = {},
                                            std::string_view lines = {}) {
    const auto make = []<class Part, std::size_t Count>(const member_word<Part>(&)[Count]) {
        return part_of_words<Part, Words, Count>;
    };
    return {name, own, lines, make(Words), word_of<Words>, sizeof Words / sizeof *Words};
}
/// A part that a function makes.
template <const auto& Words>
[[nodiscard]] constexpr part_kind made(cost (*make)(const part_call&), std::string_view name, std::string_view own = {},
                                       std::string_view lines = {}) {
    return {name, own, lines, make, word_of<Words>, sizeof Words / sizeof *Words};
}

/// The words of every part: `width` and `sees` give its place; the others change the cost that it made.
inline constexpr part_word words_of_all[] = {{"width"}, {"sees"},    {"norm"},     {"bias"},
                                             {"times"}, {"rows"},    {"detached"}, {"shared_weights"},
                                             {"over"},  {"attends"}, {"prefix"},   {"named"}};

inline constexpr part_kind part_kinds[] = {
    described<gqa_words>("gqa", "attention : floptally.heads", "dim = width_of_head\nwith mask any absent\n"),
    described<cross_words>("cross", "cross_attention : floptally.heads", "dim = width_of_head\n"),
    described<mla_words>("mla", "mla", "with mask any absent\n"),
    described<indexer_words>("indexer", "lightning_indexer", "q = .query_size ?? h\nfused_sum = yes\n"),
    described<compressed_attention_words>(
        "compressed_attention", "compressed_attention",
        "require .compress_ratio > 0 or not .overlap and .best_keys == 0: .compress_ratio must be at least 1 where "
        "compressed keys overlap or the best are chosen\n"
        "require .num_heads * .head_dim % .o_groups == 0: .o_groups must divide num_heads x head_dim "
        "({.num_heads * .head_dim})\n"),
    described<hyper_connections_words>("hyper_connections", "hyper_connections"),
    described<stream_head_words>("stream_head", "stream_head"),
    described<gated_streams_words>("gated_streams", "gated_streams"),
    described<mlp_words>("mlp", "mlp",
                         "with gated yes\n"
                         "part:\n"
                         "  gated inner .intermediate_size  if .gated\n"
                         "  mlp inner .intermediate_size    if not .gated\n"),
    described<gated_words>("gated"),
    described<experts_words>(
        "experts", "moe",
        "all_experts = .num_experts + .zero_experts\n"
        "require .num_experts_per_tok <= all_experts: .num_experts_per_tok must be an integer from "
        "1 to {all_experts}\n"
        "require not .shared_expert_gate or .shared_intermediate_size > 0: .shared_expert_gate "
        "must be false without shared_intermediate_size\n"),
    described<mamba_words>("mamba", "mamba"),
    described<mamba2_words>("mamba2", "mamba2"),
    described<delta_net_words>("delta_net", "gated_delta_net"),
    described<kda_words>("kda", "kda"),
    described<lightning_words>("lightning", "lightning_attention"),
    described<mlstm_words>("mlstm", "mlstm"),
    described<rg_lru_words>(
        "rg_lru", "rg_lru",
        "require .lru_width % .num_blocks == 0: .num_blocks must divide lru_width ({.lru_width})\n"),
    described<short_convolution_words>("short_convolution", "short_convolution"),
    described<time_mix_words>("time_mix", "rwkv_time_mix", "inner = .attention_size ?? h\n"),
    described<channel_mix_words>("channel_mix", "rwkv_channel_mix"),
    made<patches_words>(patches_of, "patches"),
    described<merger_words>("merger"),
    described<gated_merger_words>("gated_merger"),
    described<pooling_words>("pooling"),
    made<convolutions_words>(convolutions_of, "convolutions"),
    made<linear_words>(linear_of, "linear", "linear : floptally.named",
                       "with rows \"tokens\" of tokens keys count\n"
                       "with split text absent of columns rows even replicated repeated\n"
                       "of_keys = .rows == \"keys\"\n"
                       "per_sequence = .rows == \"count\"\n"
                       "dealt = .split\n"),
    made<core_words>(core_of, "core"),
    made<scores_words>(scores_of, "scores"),
    made<state_words>(state_of, "state", "state : floptally.named",
                      "with split text absent of even replicated repeated\n"
                      "dealt = .split\n"),
    made<parameters_words>(norm_of, "norm"),
    made<parameters_words>(bias_of, "bias"),
    made<parameters_words>(table_of, "table"),
    made<parameters_words>(positions_of, "positions"),
};

/// True where a part has a word, its own or one of every part.
[[nodiscard]] inline bool has_word(const part_kind& kind, std::string_view word) {
    for (std::size_t k = 0; k < kind.words; ++k) {
        if (kind.word(k).word == word) {
            return true;
        }
    }
    return std::any_of(std::begin(words_of_all), std::end(words_of_all),
                       [word](const part_word& known) { return known.word == word; });
}

/// The part that a line of a page names. Throws where there is none.
[[nodiscard]] inline const part_kind& part_of(const page& where, const part_line& line) {
    for (const part_kind& kind : part_kinds) {
        if (kind.name == line.part) {
            return kind;
        }
    }
    page_error(where.name, line.line, {"unknown part \"", line.part, "\"", nearest_hint(line.part, part_kinds)});
}

/// The cost that a part makes, with complete errors: a descriptor names its own sizes, and this adds the path to a
/// model inside another one and the note that a size is the default where the config does not give it.
[[nodiscard]] inline cost made_inside(const part_call& p, const part_kind& kind) {
    const fields& config = p.in.config();
    try {
        return kind.make(p);
    } catch (const overflow&) {
        throw;
    } catch (const error& wrong) {
        if (wrong.field().find_first_of(" .") != std::string_view::npos) {
            throw;
        }
        const bool by_default = p.in.find_key(wrong.field()) != nullptr && config.find(wrong.field()) == nullptr;
        refuse(config.field(wrong.field()), {wrong.problem(), (by_default ? ", its default" : "")});
    }
}

/// The cost that a line of a block makes; every argument is one that the part has.
[[nodiscard]] inline cost made_by(const part_call& p) {
    const part_kind& kind = part_of(p.where, p.line);
    for (const argument& word : p.line.arguments) {
        if (!has_word(kind, word.name)) {
            std::string own;
            for (std::size_t k = 0; k < kind.words; ++k) {
                append(own, {" ", kind.word(k).word});
            }
            page_error(p.where.name, p.line.line, {p.line.part, " has no argument \"", word.name, "\"; its own:", own});
        }
    }
    cost made = made_inside(p, kind);
    if (kind.name != "mla") {  // whose norms are of another kind
        p.elementwise().add_to(made);
    }
    if (p.number("prefix") != 0) {
        made = made.with_prefix_tokens(p.number("prefix"));
    }
    if (p.on("over")) {
        const rule units = p.attends("over", {});
        made = made.over(units, p.attends("attends", mask::bidirectional()));
    }
    if (p.find("rows") != nullptr) {  // learned ones, of which each sequence has so many, by the same weights
        if (p.number("rows") == 0) {
            p.fail({"rows must be at least 1"});
        }
        made += (p.number("rows") - 1) * made.with_shared_weights();
    }
    if (p.on("shared_weights")) {
        made = made.with_shared_weights();
    }
    if (p.on("detached")) {
        made = made.detached();
    }
    if (const value* name = p.worth("named"); name != nullptr && name->type == value::kind::text) {
        made = made.renamed(
            [name](const component_name& own) { return own.is_elementwise() ? own : component_name(name->text); });
    }
    return p.find("times") == nullptr ? made : p.number("times") * made;
}

}  // namespace floptally::detail::pages
