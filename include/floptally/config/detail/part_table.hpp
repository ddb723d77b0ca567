// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/config/detail/entries.hpp>
#include <floptally/config/detail/part_call.hpp>
#include <floptally/descriptors/attention.hpp>
#include <floptally/descriptors/audio.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/compressed_attention.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/feed_forward.hpp>
#include <floptally/descriptors/hyper_connections.hpp>
#include <floptally/descriptors/latent_attention.hpp>
#include <floptally/descriptors/linear_attention.hpp>
#include <floptally/descriptors/state_space.hpp>
#include <floptally/descriptors/vision.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/spec_language/nearest.hpp>
#include <floptally/spec_language/spec.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The table of all parts that a line of a block in a spec may name (`gqa`, `moe`, `linear`, …).

namespace floptally::inline v0_3::detail::specs {

// Some parts that a spec may name are descriptors, structs of the C++ interface (`gqa`, `mla`, `moe`, …). Each
// descriptor has one table. It says which member an argument of a spec sets, and which key of floptally's own config
// format sets it.

/// Marks an argument of a spec that may be absent. The member of the C++ struct is then 0.
struct zero_if_absent_tag {};
inline constexpr zero_if_absent_tag zero_if_absent;
/// Marks an argument of a spec that sets a member of the C++ struct to false. Without the argument the member is true.
struct inverse_tag {};
inline constexpr inverse_tag inverse;

/// An argument of a line in a spec, and the member of the C++ struct `Part` that it sets. The member is a number or a
/// flag.
template <class Part>
struct member_argument : part_argument {
    using number = std::uint64_t Part::*;
    using flag = bool Part::*;

    std::uint64_t Part::*number_member = nullptr;
    std::uint64_t Part::*other_member = nullptr;  ///< the member whose value `number_member` gets if the argument is
                                                  ///< absent; null: no such default
    bool Part::*flag_member = nullptr;

    constexpr member_argument(const char* argument_name)
        : part_argument{argument_name} {}  // NOLINT(google-explicit-constructor): used in a table
    constexpr member_argument(const char* argument_name, const char* own_key, number member)
        : part_argument{argument_name, own_key, true}, number_member(member) {}
    constexpr member_argument(const char* argument_name, const char* own_key, number member, zero_if_absent_tag)
        : part_argument{argument_name, own_key}, number_member(member) {}
    constexpr member_argument(const char* argument_name, const char* own_key, number member, number other)
        : part_argument{argument_name, own_key}, number_member(member), other_member(other) {}
    constexpr member_argument(const char* argument_name, const char* own_key, flag member)
        : part_argument{argument_name, own_key}, flag_member(member) {}
    constexpr member_argument(const char* argument_name, const char* own_key, flag member, inverse_tag)
        : part_argument{argument_name, own_key, false, true}, flag_member(member) {}

    void set(Part& part, const part_call& call) const {
        if (flag_member != nullptr) {
            part.*flag_member = call.on(name) != is_inverse;
        } else if (number_member != nullptr) {
            const std::uint64_t absent = other_member != nullptr ? part.*other_member : 0;
            part.*number_member = is_needed ? call.required(name) : call.number(name, absent);
        }
    }
};

inline constexpr member_argument<gqa> gqa_arguments[] = {
    {"heads", "num_heads number", &gqa::num_heads},
    {"kv", "num_kv_heads number absent", &gqa::num_kv_heads, &gqa::num_heads},
    {"dim", "head_dim number absent", &gqa::head_dim},
    {"gate", "", &gqa::gate_size, zero_if_absent},
    {"fused", "", &gqa::fused_qkv}};
inline constexpr member_argument<cross_attention> cross_arguments[] = {
    {"heads", "num_heads number", &cross_attention::num_heads},
    {"kv", "num_kv_heads number absent", &cross_attention::num_kv_heads, &cross_attention::num_heads},
    {"dim", "head_dim number absent", &cross_attention::head_dim},
    {"context", "context_size number absent", &cross_attention::context_size, zero_if_absent}};
inline constexpr member_argument<mla> mla_arguments[] = {
    {"heads", "num_heads number", &mla::num_heads},
    {"q", "q_lora_rank 0", &mla::q_lora_rank, zero_if_absent},
    {"c", "kv_lora_rank number", &mla::kv_lora_rank},
    {"nope", "qk_nope_head_dim number", &mla::qk_nope_head_dim},
    {"rope", "qk_rope_head_dim 0", &mla::qk_rope_head_dim, zero_if_absent},
    {"dim", "v_head_dim number", &mla::v_head_dim},
    {"absorbed", "absorbed flag absent", &mla::absorbed},
    {"gate", "gate_size 0", &mla::gate_size, zero_if_absent},
    {"shares_latent", "shares_latent no", &mla::shares_latent}};
inline constexpr member_argument<lightning_indexer> indexer_arguments[] = {
    {"heads", "num_heads number", &lightning_indexer::num_heads},
    {"dim", "head_dim number", &lightning_indexer::head_dim},
    {"q", "query_size number absent", &lightning_indexer::query_size},
    {"trained", "detached yes", &lightning_indexer::detached, inverse},
    {"fused_sum", "", &lightning_indexer::head_sum_is_product, inverse},
    {"ratio", "compress_ratio 0", &lightning_indexer::compress_ratio, zero_if_absent},
    {"key_width", "key_width 0", &lightning_indexer::key_width, zero_if_absent},
    {"key_gate", "key_gate no", &lightning_indexer::key_gate},
    {"no_weights", "head_weights yes", &lightning_indexer::head_weights, inverse},
    {"key_input", "key_input 0", &lightning_indexer::key_input, zero_if_absent},
    {"shares_keys", "shares_keys no", &lightning_indexer::shares_keys}};
inline constexpr member_argument<compressed_attention> compressed_attention_arguments[] = {
    {"heads", "num_heads number", &compressed_attention::num_heads},
    {"dim", "head_dim number", &compressed_attention::head_dim},
    {"q", "q_lora_rank number", &compressed_attention::q_lora_rank},
    {"window", "window number", &compressed_attention::window},
    {"ratio", "compress_ratio 0", &compressed_attention::compress_ratio, zero_if_absent},
    {"overlap", "overlap no", &compressed_attention::overlap},
    {"best", "best_keys 0", &compressed_attention::best_keys, zero_if_absent},
    {"groups", "o_groups 1", &compressed_attention::o_groups},
    {"o", "o_lora_rank number", &compressed_attention::o_lora_rank}};
inline constexpr member_argument<hyper_connections> hyper_connections_arguments[] = {
    {"streams", "streams number", &hyper_connections::streams},
    {"unmixed", "mixes yes", &hyper_connections::mixes, inverse}};
inline constexpr member_argument<stream_head> stream_head_arguments[] = {
    {"streams", "streams number", &stream_head::streams}};
inline constexpr member_argument<gated_streams> gated_streams_arguments[] = {
    {"streams", "streams number", &gated_streams::streams},
    {"rank", "rank number", &gated_streams::rank},
    {"last", "injects yes", &gated_streams::injects, inverse}};
inline constexpr member_argument<mlp> mlp_arguments[] = {
    {"inner", "intermediate_size number", &mlp::intermediate_size}};
inline constexpr member_argument<gated_mlp> gated_arguments[] = {{"inner", "", &gated_mlp::intermediate_size},
                                                                 {"fused", "", &gated_mlp::fused_gate_up}};
inline constexpr member_argument<moe> experts_arguments[] = {
    {"of", "num_experts number", &moe::num_experts},
    {"top", "num_experts_per_tok number", &moe::num_experts_per_tok},
    {"inner", "intermediate_size number", &moe::intermediate_size},
    {"shared", "shared_intermediate_size 0", &moe::shared_intermediate_size, zero_if_absent},
    {"shared_gate", "shared_expert_gate no", &moe::shared_expert_gate},
    {"plain", "gated yes", &moe::gated, inverse},
    {"latent", "latent_size 0", &moe::latent_size, zero_if_absent},
    {"zero", "zero_experts 0", &moe::zero_experts, zero_if_absent},
    {"measured", "", &moe::routed_is_measured},
    {"visits"},
    {"expert_bias", "", &moe::expert_bias, zero_if_absent}};
inline constexpr member_argument<mamba> mamba_arguments[] = {{"inner", "inner_size number", &mamba::inner_size},
                                                             {"state", "state_size number", &mamba::state_size},
                                                             {"dt", "dt_rank number", &mamba::dt_rank},
                                                             {"kernel", "conv_kernel number", &mamba::conv_kernel}};
inline constexpr member_argument<mamba2> mamba2_arguments[] = {{"heads", "num_heads number", &mamba2::num_heads},
                                                               {"dim", "head_dim number", &mamba2::head_dim},
                                                               {"groups", "n_groups 1", &mamba2::n_groups},
                                                               {"state", "state_size number", &mamba2::state_size},
                                                               {"kernel", "conv_kernel number", &mamba2::conv_kernel}};
inline constexpr member_argument<gated_delta_net> delta_net_arguments[] = {
    {"keys", "num_key_heads number", &gated_delta_net::num_key_heads},
    {"values", "num_value_heads number", &gated_delta_net::num_value_heads},
    {"key_dim", "key_head_dim number", &gated_delta_net::key_head_dim},
    {"value_dim", "value_head_dim number", &gated_delta_net::value_head_dim},
    {"kernel", "conv_kernel number", &gated_delta_net::conv_kernel},
    {"no_gate", "output_gate yes", &gated_delta_net::output_gate, inverse}};
inline constexpr member_argument<kda> kda_arguments[] = {{"heads", "num_heads number", &kda::num_heads},
                                                         {"dim", "head_dim number", &kda::head_dim},
                                                         {"kernel", "conv_kernel number", &kda::conv_kernel},
                                                         {"full_output_gate", "", &kda::full_output_gate},
                                                         {"full_forget_gate", "", &kda::full_forget_gate}};
inline constexpr member_argument<lightning_attention> lightning_arguments[] = {
    {"heads", "num_heads number", &lightning_attention::num_heads},
    {"dim", "head_dim number", &lightning_attention::head_dim}};
inline constexpr member_argument<mlstm> mlstm_arguments[] = {
    {"heads", "num_heads number", &mlstm::num_heads},
    {"key_dim", "key_head_dim number", &mlstm::key_head_dim},
    {"value_dim", "value_head_dim number", &mlstm::value_head_dim}};
inline constexpr member_argument<rg_lru> rg_lru_arguments[] = {{"width_of", "lru_width number", &rg_lru::lru_width},
                                                               {"blocks", "num_blocks number", &rg_lru::num_blocks},
                                                               {"kernel", "conv_kernel number", &rg_lru::conv_kernel}};
inline constexpr member_argument<short_convolution> short_convolution_arguments[] = {
    {"kernel", "conv_kernel number", &short_convolution::conv_kernel}};
inline constexpr member_argument<rwkv_time_mix> time_mix_arguments[] = {
    {"inner", "attention_size number absent", &rwkv_time_mix::attention_size}};
inline constexpr member_argument<rwkv_channel_mix> channel_mix_arguments[] = {
    {"inner", "intermediate_size number", &rwkv_channel_mix::intermediate_size}};
inline constexpr member_argument<patch_merger> merger_arguments[] = {
    {"side", "", &patch_merger::spatial_merge_size},
    {"inner", "", &patch_merger::intermediate_size, zero_if_absent},
    {"out", "", &patch_merger::out_features},
    {"pooled", "", &patch_merger::pooled_frames}};
inline constexpr member_argument<gated_patch_merger> gated_merger_arguments[] = {
    {"side", "", &gated_patch_merger::spatial_merge_size},
    {"inner", "", &gated_patch_merger::intermediate_size},
    {"out", "", &gated_patch_merger::out_features}};
inline constexpr member_argument<attention_pooling> pooling_arguments[] = {
    {"heads", "", &attention_pooling::num_heads},
    {"inner", "", &attention_pooling::intermediate_size},
    {"learned", "", &attention_pooling::learned, zero_if_absent}};

/// Returns the cost of `part`. The caller has set the members that a line of the spec gives.
template <class Part>
[[nodiscard]] cost cost_of(Part& part, const part_call& p) {
    if constexpr (requires { part.cost(p.place()); }) {
        return part.cost(p.place());
    } else {
        part.hidden_size = p.place().hidden_size;
        return part.cost();
    }
}
[[gnu::cold]] inline cost cost_of(mla& part, const part_call& p) {
    part.absorbed = p.is_absorbed();
    part.elementwise = p.elementwise();
    return part.cost(p.place());
}
[[gnu::cold]] inline cost cost_of(moe& part, const part_call& p) {
    const mask visits = p.attends("visits", measured("routed"));
    if (!visits.is<unit_statistics::measured>()) {
        p.fail({"visits must be measured(\"NAME\"), such as measured(\"routed\")"});
    }
    part.shared_expert_gate = part.shared_expert_gate && part.shared_intermediate_size != 0;
    part.routed_is_measured = part.routed_is_measured || p.on("visits");
    // `part.visits` points to the name in `unit`, so `unit` must live until `part.cost` returns.
    const auto unit = visits.as<unit_statistics::measured>();
    part.visits = unit.accumulator();
    return part.cost(p.place());
}

/// Returns the cost of a line whose arguments set members of the C++ struct `Part`, as the table `Arguments` says.
template <class Part, const member_argument<Part>* Arguments, std::size_t Count>
[[nodiscard, gnu::cold]] cost part_of_arguments(const part_call& p) {
    Part part;
    for (std::size_t k = 0; k < Count; ++k) {
        Arguments[k].set(part, p);
    }
    return cost_of(part, p);
}

inline constexpr part_argument patches_arguments[] = {{"channels"}, {"side"}, {"frames"}};
[[gnu::cold]] inline cost patches_of(const part_call& p) {
    const vector<std::int64_t> area = p.numbers("side", 2, 1);
    return patch_embedding{.in_channels = p.required("channels"),
                           .patch_size = static_cast<std::uint64_t>(area[0]),
                           .patch_width = static_cast<std::uint64_t>(area[1]),
                           .temporal_patch_size = p.number("frames", 1)}
        .cost(p.place().hidden_size);
}

inline constexpr part_argument convolutions_arguments[] = {
    {"channels"},    {"out"},    {"kernels"}, {"strides"}, {"paddings"}, {"groups"}, {"dilations"}, {"bins"},
    {"bin_kernels"}, {"biased"}, {"gated"},   {"inside"},  {"field"},    {"stride"}, {"chunk"},     {"as"}};
/// Returns the cost of consecutive convolutions along time. Each size is a list, or one number for all convolutions.
[[gnu::cold]] inline cost convolutions_of(const part_call& p) {
    const vector<std::int64_t> kernels = p.numbers("kernels", 0, 1);
    const std::size_t size = kernels.size();
    if (size == 0 || size > 16) {
        p.fail({"kernels must have from 1 to 16 sizes, got ", size});
    }
    const vector<std::int64_t> out = p.numbers("out", size, 1);
    const vector<std::int64_t> strides = p.numbers("strides", size, 1);
    const vector<std::int64_t> paddings = p.numbers("paddings", size, 0);
    const vector<std::int64_t> groups = p.numbers("groups", size, 1);
    const vector<std::int64_t> dilations = p.numbers("dilations", size, 1);
    const vector<std::int64_t> bins = p.numbers("bins", size, 1);
    const vector<std::int64_t> bin_kernels = p.numbers("bin_kernels", size, 1);
    convolution_stem stem{.in_channels = p.required("channels"), .at_input = !p.on("inside")};
    if (p.find("field") != nullptr) {
        stem.before = {.field = static_cast<std::int64_t>(p.required("field")),
                       .stride = static_cast<std::int64_t>(p.required("stride")),
                       .chunk = static_cast<std::int64_t>(p.number("chunk"))};
    }
    stem.before.chunk = static_cast<std::int64_t>(p.number("chunk"));
    for (std::size_t k = 0; k < size; ++k) {
        for (const std::int64_t number : {out[k], groups[k], bins[k], bin_kernels[k]}) {
            if (number < 1) {
                p.fail({"out, groups, bins and bin_kernels must be at least 1, got ", number});
            }
        }
        stem.convolutions.push_back(convolution{.out_channels = static_cast<std::uint64_t>(out[k]),
                                                .kernel_size = kernels[k],
                                                .stride = strides[k],
                                                .padding = paddings[k],
                                                .dilation = dilations[k],
                                                .groups = static_cast<std::uint64_t>(groups[k]),
                                                .bias = p.on("biased"),
                                                .gated = p.on("gated"),
                                                .bins = static_cast<std::uint64_t>(bins[k]),
                                                .bin_kernel = static_cast<std::uint64_t>(bin_kernels[k])},
                                    "kernels");
    }
    const std::string_view name = p.words("as");
    return name.empty() ? stem.cost() : stem.cost(name);
}

/// A part of a model that a line of a spec may name, such as `gqa`.
struct part_kind {
    std::string_view name;
    std::string_view own;    ///< name and base spec of the part in floptally's own config format; empty: the format has
                             ///< no such part
    std::string_view lines;  ///< additional lines of the part's spec: definitions, conditions, or the block `part`
    cost (*make)(const part_call&);
    const part_argument& (*argument)(std::size_t);
    std::size_t count;
};
template <const auto& Arguments>
[[nodiscard]] const part_argument& argument_of(std::size_t index) {
    return Arguments[index];
}
/// Makes the table entry of a part that is a C++ struct, such as `gqa`. `Arguments` is the table of the arguments that
/// set the struct's members.
template <const auto& Arguments>
[[nodiscard]] constexpr part_kind by_table(std::string_view name, std::string_view own = {},
                                           std::string_view lines = {}) {
    const auto make = []<class Part, std::size_t Count>(const member_argument<Part>(&)[Count]) {
        return part_of_arguments<Part, Arguments, Count>;
    };
    return {name, own, lines, make(Arguments), argument_of<Arguments>, sizeof Arguments / sizeof *Arguments};
}
/// Makes the table entry of a part that is no C++ struct, such as `linear`. The function `make` returns the cost of the
/// part.
template <const auto& Arguments>
[[nodiscard]] constexpr part_kind by_function(cost (*make)(const part_call&), std::string_view name,
                                              std::string_view own = {}, std::string_view lines = {}) {
    return {name, own, lines, make, argument_of<Arguments>, sizeof Arguments / sizeof *Arguments};
}

/// Arguments that every part takes. `width` and `sees` describe the layer that the part belongs to. The other arguments
/// change the part's cost.
inline constexpr part_argument common_arguments[] = {{"width"}, {"sees"},    {"norm"},     {"bias"},
                                                     {"times"}, {"rows"},    {"detached"}, {"shared_weights"},
                                                     {"over"},  {"attends"}, {"prefix"},   {"named"}};

inline constexpr part_kind part_kinds[] = {
    by_table<gqa_arguments>("gqa", "attention : floptally.heads", "dim = width_of_head\nwith mask any absent\n"),
    by_table<cross_arguments>("cross", "cross_attention : floptally.heads", "dim = width_of_head\n"),
    by_table<mla_arguments>("mla", "mla", "with mask any absent\n"),
    by_table<indexer_arguments>("indexer", "lightning_indexer", "q = .query_size ?? h\nfused_sum = yes\n"),
    by_table<compressed_attention_arguments>(
        "compressed_attention", "compressed_attention",
        "require .compress_ratio > 0 or not .overlap and .best_keys == 0: .compress_ratio must be at least 1 if "
        "compressed keys overlap or the best are chosen\n"
        "require .num_heads * .head_dim % .o_groups == 0: .o_groups must divide num_heads x head_dim "
        "({.num_heads * .head_dim})\n"),
    by_table<hyper_connections_arguments>("hyper_connections", "hyper_connections"),
    by_table<stream_head_arguments>("stream_head", "stream_head"),
    by_table<gated_streams_arguments>("gated_streams", "gated_streams"),
    by_table<mlp_arguments>("mlp", "mlp",
                            "with gated yes\n"
                            "part:\n"
                            "  gated inner .intermediate_size  if .gated\n"
                            "  mlp inner .intermediate_size    if not .gated\n"),
    by_table<gated_arguments>("gated"),
    by_table<experts_arguments>(
        "experts", "moe",
        "all_experts = .num_experts + .zero_experts\n"
        "require .num_experts_per_tok <= all_experts: .num_experts_per_tok must be an integer from "
        "1 to {all_experts}\n"
        "require not .shared_expert_gate or .shared_intermediate_size > 0: .shared_expert_gate "
        "must be false without shared_intermediate_size\n"),
    by_table<mamba_arguments>("mamba", "mamba"),
    by_table<mamba2_arguments>("mamba2", "mamba2"),
    by_table<delta_net_arguments>("delta_net", "gated_delta_net"),
    by_table<kda_arguments>("kda", "kda"),
    by_table<lightning_arguments>("lightning", "lightning_attention"),
    by_table<mlstm_arguments>("mlstm", "mlstm"),
    by_table<rg_lru_arguments>(
        "rg_lru", "rg_lru",
        "require .lru_width % .num_blocks == 0: .num_blocks must divide lru_width ({.lru_width})\n"),
    by_table<short_convolution_arguments>("short_convolution", "short_convolution"),
    by_table<time_mix_arguments>("time_mix", "rwkv_time_mix", "inner = .attention_size ?? h\n"),
    by_table<channel_mix_arguments>("channel_mix", "rwkv_channel_mix"),
    by_function<patches_arguments>(patches_of, "patches"),
    by_table<merger_arguments>("merger"),
    by_table<gated_merger_arguments>("gated_merger"),
    by_table<pooling_arguments>("pooling"),
    by_function<convolutions_arguments>(convolutions_of, "convolutions"),
    by_function<linear_arguments>(linear_of, "linear", "linear : floptally.named",
                                  "with rows \"tokens\" of tokens keys count\n"
                                  "with split text absent of columns rows even replicated repeated\n"
                                  "of_keys = .rows == \"keys\"\n"
                                  "per_sequence = .rows == \"count\"\n"
                                  "sharding = .split\n"),
    by_function<core_arguments>(core_of, "core"),
    by_function<scores_arguments>(scores_of, "scores"),
    by_function<state_arguments>(state_of, "state", "state : floptally.named",
                                 "with split text absent of even replicated repeated\n"
                                 "sharding = .split\n"),
    by_function<parameters_arguments>(norm_of, "norm"),
    by_function<parameters_arguments>(bias_of, "bias"),
    by_function<parameters_arguments>(table_of, "table"),
    by_function<parameters_arguments>(positions_of, "positions"),
};

/// Returns true if a part takes this argument, either as one of its own arguments or as one of `common_arguments`.
[[nodiscard]] inline bool has_argument(const part_kind& kind, std::string_view name) {
    for (std::size_t k = 0; k < kind.count; ++k) {
        if (kind.argument(k).name == name) {
            return true;
        }
    }
    return std::any_of(std::begin(common_arguments), std::end(common_arguments),
                       [name](const part_argument& known) { return known.name == name; });
}

/// Returns the part that a line names. Throws if the name is unknown.
[[nodiscard]] inline const part_kind& part_of(const spec& where, const part_line& line) {
    for (const part_kind& kind : part_kinds) {
        if (kind.name == line.part) {
            return kind;
        }
    }
    spec_error(where.name, line.line, {"unknown part \"", line.part, "\"", nearest_hint(line.part, part_kinds)});
}

/// Returns the cost of a part. Completes the errors that descriptors throw: adds the path of an inner model to the
/// FIELD, and says if a wrong size is a default.
[[nodiscard]] inline cost cost_with_field(const part_call& p, const part_kind& kind) {
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

/// Returns the cost of a line in a block of a spec. Throws for an argument that the part does not take.
[[nodiscard]] inline cost cost_of_line(const part_call& p) {
    const part_kind& kind = part_of(p.where, p.line);
    for (const argument& word : p.line.arguments) {
        if (!has_argument(kind, word.name)) {
            std::string own;
            for (std::size_t k = 0; k < kind.count; ++k) {
                append(own, {" ", kind.argument(k).name});
            }
            spec_error(p.where.name, p.line.line,
                       {p.line.part, " has no argument \"", word.name, "\"; it takes:", own});
        }
    }
    cost sum = cost_with_field(p, kind);
    if (kind.name != "mla") {  // `mla` is excluded, because it counts its norms itself.
        p.elementwise().add_to(sum);
    }
    if (p.number("prefix") != 0) {
        sum = sum.with_prefix_tokens(p.number("prefix"));
    }
    if (p.on("over")) {
        const statistic units = p.attends("over", {});
        sum = sum.over(units, p.attends("attends", mask::bidirectional()));
    }
    // With `rows n`, the weights are applied to n additional learned vectors for each sequence.
    if (p.find("rows") != nullptr) {
        if (p.number("rows") == 0) {
            p.fail({"rows must be at least 1, got 0: leave rows out if there are none"});
        }
        sum += (p.number("rows") - 1) * sum.with_shared_weights();
    }
    if (p.on("shared_weights")) {
        sum = sum.with_shared_weights();
    }
    if (p.on("detached")) {
        sum = sum.detached();
    }
    if (const value* name = p.worth("named"); name != nullptr && name->type == value::kind::text) {
        sum = sum.renamed(
            [name](const component_name& own) { return own.is_elementwise() ? own : component_name(name->text); });
    }
    return p.find("times") == nullptr ? sum : p.number("times") * sum;
}

}  // namespace floptally::detail::specs
