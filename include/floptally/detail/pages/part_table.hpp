// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/cost.hpp>
#include <floptally/detail/message.hpp>
#include <floptally/detail/pages/nearest.hpp>
#include <floptally/detail/pages/page.hpp>
#include <floptally/detail/pages/part_call.hpp>
#include <floptally/detail/pages/parts.hpp>
#include <floptally/detail/pages/rows.hpp>
#include <floptally/model/component_name.hpp>

/// @file
/// All that a line of a block may be. What only a few models multiply and no page can say is here too, by name.

namespace floptally::detail::pages {

struct part_kind {
    std::string_view name;
    std::string_view arguments;  ///< besides those of every part, separated by blanks
    cost (*make)(const part_call&);
};

/// `width` and `sees` say where a part stands; the rest changes the cost that it made.
inline constexpr std::string_view arguments_of_all =
    " width sees norm bias times rows detached shared_weights over attends prefix named ";

inline constexpr part_kind part_kinds[] = {
    {"gqa", " heads kv dim gate fused ", gqa_of},
    {"cross", " heads kv dim context ", cross_of},
    {"mla", " heads q c nope rope dim gate absorbed shares_latent ", mla_of},
    {"indexer", " heads dim q fused_sum ratio key_width key_gate no_weights trained ", indexer_of},
    {"compressed_attention", " heads dim q window ratio overlap best groups o ", compressed_attention_of},
    {"hyper_connections", " streams unmixed ", hyper_connections_of},
    {"stream_head", " streams ", stream_head_of},
    {"gated_streams", " streams rank last ", gated_streams_of},
    {"mlp", " inner ", mlp_of},
    {"gated", " inner fused ", gated_of},
    {"experts", " of top inner shared shared_gate plain latent zero measured visits expert_bias ", experts_of},
    {"mamba", " inner state dt kernel ", mamba_of},
    {"mamba2", " heads dim groups state kernel ", mamba2_of},
    {"delta_net", " keys values key_dim value_dim kernel no_gate ", delta_net_of},
    {"kda", " heads dim kernel full_output_gate full_forget_gate ", kda_of},
    {"lightning", " heads dim ", lightning_of},
    {"mlstm", " heads key_dim value_dim ", mlstm_of},
    {"rg_lru", " width_of blocks kernel ", rg_lru_of},
    {"short_convolution", " kernel ", short_convolution_of},
    {"time_mix", " inner ", time_mix_of},
    {"channel_mix", " inner ", channel_mix_of},
    {"patches", " channels side frames ", patches_of},
    {"merger", " side inner out pooled ", merger_of},
    {"gated_merger", " side inner out ", gated_merger_of},
    {"pooling", " heads inner learned ", pooling_of},
    {"convolutions",
     " channels out kernels strides paddings groups dilations bins bin_kernels biased gated inside field stride "
     "chunk as ",
     convolutions_of},
    {"linear",
     " in out applied stored padded_out per_sequence of_keys router input head scan units no_lora as from to "
     "split inner dealt ",
     linear_of},
    {"core", " heads dim v_dim pairs per_sequence as from to ", core_of},
    {"scores", " per values as from to split ", scores_of},
    {"state", " per delta_rule scan as from to split dealt ", state_of},
    {"norm", " count ", norm_of},
    {"bias", " count ", bias_of},
    {"table", " count ", table_of},
    {"positions", " count ", positions_of},
};

[[nodiscard]] inline bool lists(std::string_view words, std::string_view word) {
    const std::size_t at = words.find(word);
    return at != std::string_view::npos && (words.substr(at + word.size()).starts_with(' ') && words[at - 1] == ' '
                                                ? true
                                                : lists(words.substr(at + word.size()), word));
}

[[nodiscard]] inline const part_kind& part_of(const page& where, const part_line& line) {
    for (const part_kind& one : part_kinds) {
        if (one.name == line.part) {
            return one;
        }
    }
    page_error(where.name, line.line, {"unknown part \"", line.part, "\"", nearest_hint(line.part, part_kinds)});
}

/// Descriptors name their own sizes in an error: of a model inside another one, the path to it comes before,
/// and a size that the config does not give is said to be the default.
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

/// What a line of a block makes; every argument is one that the part has.
[[nodiscard]] inline cost made_by(const part_call& p) {
    const part_kind& kind = part_of(p.where, p.line);
    for (const argument& one : p.line.arguments) {
        if (!lists(kind.arguments, one.name) && !lists(arguments_of_all, one.name)) {
            page_error(p.where.name, p.line.line,
                       {p.line.part, " has no argument \"", one.name,
                        "\"; its own:", kind.arguments.substr(0, kind.arguments.size() - 1)});
        }
    }
    cost made = made_inside(p, kind);
    if (kind.make != mla_of) {  // whose norms are of another kind
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
    if (const value* name = p.find("named"); name != nullptr && name->is == value::kind::text) {
        made = made.renamed(
            [name](const component_name& own) { return own.is_elementwise() ? own : component_name(name->text); });
    }
    return p.find("times") == nullptr ? made : p.number("times") * made;
}

}  // namespace floptally::detail::pages
