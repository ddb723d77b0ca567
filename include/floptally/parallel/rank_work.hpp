// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/sharding.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/pipeline_split.hpp>
#include <floptally/parallel/tensor_parallel.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// The parts of a model that one rank runs.

namespace floptally::inline v0_3::detail {

// Splits each entry of a cost for one rank of a tensor-parallel group, by the entry's sharding. The useful FLOPs of all
// ranks add up to those of the entry. The padded FLOPs add up to more if several ranks compute the same products.

/// The names of a cost entry's component and weight. They are compared with the patterns of `weight_split`, and errors
/// print them.
struct named_entry {
    std::string_view component;
    std::string_view weight;
    modality tower = modality::text;

    [[nodiscard]] std::string name() const { return text_of({pattern_name(), weight.empty() ? "" : "/", weight}); }
    /// Returns the entry's name in brackets. An error about the config key `size` appends this text to say which
    /// component is meant. Returns an empty text if `size` is itself the entry's name.
    [[nodiscard]] std::string suffix_after(std::string_view size) const {
        return size == pattern_name() || size == name() ? std::string() : text_of({" (", name(), ")"});
    }
    [[nodiscard]] bool is_in(std::string_view side) const {
        return component.substr(0, side.size()) == side && component.substr(side.size(), 1) == ".";
    }
    [[nodiscard]] bool is_in_tower() const { return tower != modality::text && is_in(name_of(tower)); }
    /// Returns the component's name without the prefix of its tower or encoder.
    [[nodiscard]] std::string_view layer_name() const {
        return is_in_tower()      ? component.substr(std::string_view(name_of(tower)).size() + 1)
               : is_in("encoder") ? component.substr(8)
                                  : component;
    }
    [[nodiscard]] std::string field(std::string_view config_name) const {
        return is_in_tower() ? qualified(tower, config_name) : std::string(config_name);
    }
    /// Returns the component's name in the form in which patterns of `weight_split` write it.
    [[nodiscard]] std::string_view pattern_name() const { return is_in_tower() ? component : layer_name(); }
    /// Returns the config key that sets the width of the component's matrices, for errors.
    [[nodiscard]] std::string width() const {
        const std::string_view layer = layer_name();
        return weight == "eh_proj"                                     ? field("hidden_size")
               : layer == "moe.shared"                                 ? field("shared_expert_intermediate_size")
               : layer == "mlp" || layer == "blocks" || layer == "mtp" ? field("intermediate_size")
                                                                       : std::string(pattern_name());
    }
};

/// Computes the shard of a model's costs that one rank of a tensor-parallel group runs.
class tensor_shard {
  public:
    tensor_shard(const tensor_options& options, std::uint64_t tp, std::uint64_t tp_rank, std::uint64_t ep,
                 std::uint64_t etp)
        : options_(options), tp_(tp), rank_(tp_rank), ep_(ep), etp_(etp) {
        require_positive(tp, "tp");
        require_positive(ep, "ep");
        require_positive(etp, "etp");
        require_positive(options.make_vocab_size_divisible_by, "make_vocab_size_divisible_by");
        if (tp_rank >= tp) {
            refuse("tp_rank", {"must be below tp, ", tp, ", got ", tp_rank});
        }
        for (const weight_split& split : options.splits) {
            if (split.split == sharding_kind::unsaid || split.split == sharding_kind::several) {
                throw error(
                    "tensor_options::splits",
                    "each entry must name one way to split weights, such as columns or rows, got none or several");
            }
        }
    }

    /// Returns the rank's shard of the cost of a part.
    [[nodiscard]] cost shard_of(const cost& part) const {
        return part.with_entries([&](const cost_entry& entry) {
            return entry_shard(
                entry, named_entry{part.components()[entry.component].view(), part.weight_name(entry), entry.in});
        });
    }

  private:
    [[nodiscard]] bool covers(const weight_split& split, const named_entry& entry) const {
        const weight_setting named{.weights = split.weights};
        return matches(named, entry.component, entry.weight) || matches(named, entry.pattern_name(), entry.weight);
    }

    /// Returns the sharding of an entry. A `weight_split` of the caller takes precedence. A `weight_split` says only
    /// whether to split by columns, rows, heads and so on. The number of columns or heads comes from the entry's own
    /// sharding if that splits the same way, otherwise from the shape of the matrix.
    [[nodiscard]] tensor_sharding sharding_of(const cost_entry& entry, const named_entry& label) const {
        tensor_sharding sharding = entry.sharding;
        for (const weight_split& split : options_.splits) {
            if (covers(split, label)) {
                sharding = split.split == entry.sharding.by
                               ? entry.sharding
                               : tensor_sharding{split.split}.of_matrix(entry.per_rank.in / 2, columns_of(entry));
            }
        }
        const bool stores_more = entry.parameters > entry.useful / 2;
        const bool matters = tp_ != 1 || (ep_ * etp_ != 1 && (stores_more || entry.what == accumulator::routed));
        if (matters && sharding.by == sharding_kind::unsaid) {
            throw error(label.name(),
                        "it is unknown how tensor parallelism splits this weight: set linear::sharding of the weight, "
                        "or name the weight in tensor_options::splits");
        }
        if (matters && sharding.by == sharding_kind::several) {
            throw error(label.name(),
                        "this cost entry holds several matrices that are split differently: name each matrix "
                        "(linear::weight), or name one split for all in tensor_options::splits");
        }
        return sharding;
    }

    /// Returns the sum of `out` over all matrices [out, in] that the entry applies to one token (or one image).
    [[nodiscard]] static std::uint64_t columns_of(const cost_entry& entry) { return entry.per_rank.out / 2; }

    [[nodiscard]] cost_entry entry_shard(const cost_entry& entry, const named_entry& label) const {
        const tensor_sharding sharding = sharding_of(entry, label);
        switch (sharding.by) {
            case sharding_kind::columns:
            case sharding_kind::rows:
                return divided(entry, sharding.units, label.width(), label);
            case sharding_kind::heads:
                return divided(entry, sharding.units, label.field("num_attention_heads"), label);
            case sharding_kind::kv_heads:
                return kv_shard(entry, sharding, label);
            case sharding_kind::fused_qkv:
                return fused_shard(entry, sharding, label);
            case sharding_kind::vocabulary:
                return vocabulary_shard(entry, sharding, label);
            case sharding_kind::experts:
                return expert_shard(entry, sharding, label);
            case sharding_kind::even:
                return divided(entry, sharding.units, label.pattern_name(), label);
            case sharding_kind::replicated:
                return whole(entry, options_.sequence_parallel);
            case sharding_kind::unsaid:
            case sharding_kind::several:
            case sharding_kind::repeated:
                break;
        }
        return whole(entry, false);
    }
    /// Returns this rank's shard of `work` FLOPs. `product` is the number of FLOPs that stay on one rank, such as 2 for
    /// a multiply-add. If `work` cannot be divided evenly, each of the first ranks has one multiply-add more.
    [[nodiscard]] std::uint64_t sharded(std::uint64_t work, std::uint64_t product) const {
        const std::uint64_t unit = work % product == 0 ? product : 1;
        const std::uint64_t products = work / unit;
        return unit * (products / tp_ + (rank_ < products % tp_ ? 1 : 0));
    }

    /// Returns this rank's shard of an adapter. Both matrices of an adapter are split, whatever the sharding of the
    /// base weight is.
    [[nodiscard]] adapter sharded(const adapter& whole_adapter) const {
        return {.in = sharded(whole_adapter.in, 2),
                .out = sharded(whole_adapter.out, 2),
                .padded_out = sharded(whole_adapter.padded_out, 2),
                .parameters = sharded(whole_adapter.parameters, 1)};
    }

    /// Returns this rank's shard of an entry that is split into equal shards. `units` is the number of heads or columns
    /// that frameworks distribute; 0: unknown. Throws if equal shards are impossible.
    [[nodiscard]] cost_entry divided(cost_entry entry, std::uint64_t units, std::string_view field,
                                     const named_entry& label) const {
        const std::uint64_t product = meaning_of(entry.kind).flops_together;
        if (units % tp_ != 0) {
            refuse_size(field, "a multiple of", units, label.suffix_after(field));
        }
        for (std::uint64_t* part : {&entry.useful, &entry.padded}) {
            if (*part % tp_ != 0 || (*part % product == 0 && *part / product % tp_ != 0)) {
                refuse_size(field, "a multiple of", *part / product,
                            text_of({" products a token", label.suffix_after(field)}));
            }
            *part /= tp_;
        }
        entry.parameters = sharded(entry.parameters, 1);
        entry.per_rank = sharded(entry.per_rank);
        return entry;
    }

    [[nodiscard]] cost_entry whole(cost_entry entry, bool splits_tokens) const {
        entry.useful = sharded(entry.useful, meaning_of(entry.kind).flops_together);
        entry.padded = splits_tokens ? sharded(entry.padded, meaning_of(entry.kind).flops_together) : entry.padded;
        entry.per_rank = sharded(entry.per_rank);
        return entry;
    }

    /// Returns the shard of an entry if this rank computes `columns` of the `all` columns of its matrix. Other ranks
    /// compute some of the same columns too.
    [[nodiscard]] cost_entry overlapping(cost_entry entry, std::uint64_t columns, std::uint64_t all) const {
        entry.useful = sharded(entry.useful, meaning_of(entry.kind).flops_together);
        entry.padded = entry.padded / all * columns;
        entry.parameters = entry.parameters / all * columns;
        entry.per_rank = sharded(entry.per_rank);
        return entry;
    }

    [[nodiscard]] bool requires_replicas(std::uint64_t kv_heads, const named_entry& label) const {
        if (kv_heads % tp_ != 0 && tp_ % kv_heads != 0) {
            refuse_size(label.field("num_key_value_heads"), "a multiple or a divisor of", kv_heads,
                        label.suffix_after("num_key_value_heads"));
        }
        return kv_heads < tp_ && options_.kv == few_kv_heads::replicated;
    }

    [[nodiscard]] cost_entry kv_shard(const cost_entry& entry, const tensor_sharding& own,
                                      const named_entry& label) const {
        if (tp_ == 1) {
            return entry;
        }
        if (own.units == 0 || own.inner == 0) {
            throw error(label.name(),
                        "the number of key and value heads of this entry is unknown: set its sharding to "
                        "tensor_sharding::kv_heads(number)");
        }
        const std::uint64_t columns = own.units * own.inner;
        return requires_replicas(own.units, label) ? overlapping(entry, 1, own.units)
                                                   : divided(entry, columns, label.name(), label);
    }

    /// Returns the shard of an entry for the matrix of q, k and v: H query heads, K key heads and K value heads of
    /// equal width.
    [[nodiscard]] cost_entry fused_shard(const cost_entry& entry, const tensor_sharding& own,
                                         const named_entry& label) const {
        const std::uint64_t kv_heads = own.inner;
        if (tp_ == 1) {
            return entry;
        }
        if (own.units == 0 || kv_heads == 0) {
            throw error(label.name(),
                        "the numbers of heads in this fused q, k and v entry are unknown: set its sharding to "
                        "tensor_sharding::fused_qkv(num_heads, num_kv_heads)");
        }
        const bool replicas = kv_heads != own.units && requires_replicas(kv_heads, label);
        return replicas && own.units % tp_ == 0 ? overlapping(entry, own.units / tp_ + 2, own.units + 2 * kv_heads)
                                                : divided(entry, own.units, label.field("num_attention_heads"), label);
    }

    /// Returns a rank's slice of the padded vocabulary. The last slices may hold padding only.
    [[nodiscard]] cost_entry vocabulary_shard(cost_entry entry, const tensor_sharding& own,
                                              const named_entry& label) const {
        const std::uint64_t size = own.units;
        if (size == 0) {
            throw error(label.name(),
                        "the size of the vocabulary of this entry is unknown: set its sharding to "
                        "tensor_sharding::vocabulary(size)");
        }
        if (entry.useful % (2 * size) != 0) {
            refuse(label.name(), {"the FLOPs of this entry must be a multiple of 2 x ", size, " (its vocabulary), got ",
                                  entry.useful});
        }
        const std::uint64_t in = entry.useful / 2 / size;
        if (in == 0) {
            return entry;
        }
        const std::uint64_t padded = entry.padded / 2 / in;
        const std::uint64_t multiple = checked(tp_, "vocab_size") * options_.make_vocab_size_divisible_by;
        const std::uint64_t rounded_up = checked(padded, "vocab_size") + (multiple - 1);
        const std::uint64_t slice = rounded_up / multiple * options_.make_vocab_size_divisible_by;
        const std::uint64_t first = slice * rank_;
        const std::uint64_t real = smaller(size - smaller(size, first), slice);
        entry.parameters = entry.parameters == 0 ? 0 : real * in;
        entry.useful = 2 * in * real;
        entry.padded = 2 * in * checked(slice, "vocab_size");
        entry.per_rank = sharded(entry.per_rank);
        return entry;
    }

    /// Returns this rank's shard of an entry of routed experts. Without measured visits the function assumes that
    /// tokens visit the experts of all ranks equally often. A rank then runs 1 / tp of the FLOPs of the entry. Measured
    /// visits are those to the rank's own experts. Each of the etp ranks computes a part of every visit.
    [[nodiscard]] cost_entry expert_shard(cost_entry entry, const tensor_sharding& own,
                                          const named_entry& label) const {
        const std::uint64_t experts = own.units;
        if (experts % ep_ != 0) {
            throw error("num_experts", "must be a multiple of ep (" + std::to_string(ep_) + "), got " +
                                           std::to_string(experts) + label.suffix_after("num_experts"));
        }
        if (entry.parameters % (ep_ * etp_) != 0) {
            refuse("moe_intermediate_size", {"the number of weights of the experts, ", entry.parameters,
                                             ", must be a multiple of ep x etp = ", ep_, " x ", etp_});
        }
        const std::uint64_t parameters = entry.parameters / (ep_ * etp_);
        // The etp ranks split the matrices of an expert like tp ranks split dense matrices.
        const tensor_shard of_expert(options_, etp_, rank_ % etp_, 1, 1);
        if (entry.what == accumulator::routed) {
            entry = of_expert.divided(entry, own.inner, "moe_intermediate_size", label);
            entry.parameters = parameters;
            return entry;
        }
        const std::uint64_t of_adapters = of_expert.sharded(entry.per_rank.parameters, 1);
        entry.useful = sharded(entry.useful, 2);
        entry.padded = sharded(entry.padded, 2);
        entry.parameters = parameters;
        entry.per_rank = sharded(entry.per_rank);
        entry.per_rank.parameters = of_adapters / ep_;
        return entry;
    }

    [[noreturn]] void refuse_size(std::string_view field, const char* relation, std::uint64_t size,
                                  std::string_view rest = "") const {
        refuse(field, {"must be ", relation, " tp (", tp_, "), got ", size, rest});
    }

    const tensor_options& options_;
    std::uint64_t tp_;
    std::uint64_t rank_;
    std::uint64_t ep_;
    std::uint64_t etp_;
};

}  // namespace floptally::detail

namespace floptally::inline v0_3 {

/// How a model is split over the ranks of a layout.
struct rank_options {
    pipeline_options pipeline{};
    /// The number of layers of every pipeline chunk, in forward order. Empty: the options in `pipeline` decide.
    std::vector<std::uint64_t> layers_of_chunks{};
    tower_ranks towers{};
    tensor_options tensor{};
};

/// Returns the number of layers that a pipeline distributes: those of the model and its encoder, but not those of a
/// tower. With `on_rank`, layers that are marked `elsewhere` do not count.
[[nodiscard]] inline std::uint64_t num_layers(std::span<const model_part> model, bool on_rank = false) {
    std::uint64_t layers = 0;
    for_each_run(model, [&](std::span<const model_part> parts) {
        const model_part& first = parts.front();
        const bool counts =
            first.first_layer != no_layer && first.role != part_role::tower && !(on_rank && first.elsewhere);
        layers = checked(layers, "layers") + (counts ? first.repeat : 0);
    });
    return layers;
}

/// Returns the split of a model's layers over the chunks of a layout's pipeline.
[[nodiscard]] inline pipeline_split split_of(std::span<const model_part> model, const parallel_sizes& sizes,
                                             const rank_options& options = {}) {
    if (options.layers_of_chunks.empty()) {
        return pipeline_split::of(num_layers(model), sizes.pp, sizes.vpp, options.pipeline);
    }
    pipeline_split split(sizes.pp, options.layers_of_chunks);
    if (split.vpp() != sizes.vpp) {
        detail::refuse("layers_of_chunks", {"must have pp x vpp numbers, ", sizes.pp * sizes.vpp, ", got ",
                                            options.layers_of_chunks.size()});
    }
    return split;
}

/// Returns a model's parts for one rank of a tensor-parallel group. The useful FLOPs are the rank's share of the
/// model's FLOPs, and the padded FLOPs are those that it executes. Over all ranks the useful FLOPs add up to those of
/// the model, in each phase and under each convention. Parts that are marked `elsewhere` are not changed.
///
/// `ep` ranks share the experts, and `etp` ranks share the matrices of each expert. An `etp` of 0 means that `tp` ranks
/// share them.
[[nodiscard]] inline std::vector<model_part> tensor_parts(std::span<const model_part> model, std::uint64_t tp,
                                                          std::uint64_t tp_rank, std::uint64_t ep = 1,
                                                          const tensor_options& options = {}, std::uint64_t etp = 0) {
    const detail::tensor_shard shard(options, tp, tp_rank, ep, etp == 0 ? tp : etp);
    std::vector<model_part> parts(model.begin(), model.end());
    for (model_part& part : parts) {
        part.cost = part.elsewhere ? part.cost : shard.shard_of(part.cost);
    }
    return parts;
}

/// Returns a model's parts for the layout's rank. To get the rank's work, count these parts under a plan and evaluate
/// the tally of the rank's own tokens. Ranks that differ only in tp and pp have the same tally.
///
/// Parts of other ranks stay in the list, marked `elsewhere`. They add no FLOPs to this rank, but they show how far
/// gradients must flow back to reach weights on other ranks. Construct the `flop_counter` from the parts, because
/// `cost_of(parts)` is the cost of the whole pipeline.
[[nodiscard]] inline std::vector<model_part> rank_parts(std::span<const model_part> model,
                                                        const parallel_layout& layout,
                                                        const rank_options& options = {}) {
    const parallel_sizes& sizes = layout.sizes();
    const pipeline_split split = split_of(model, sizes, options);
    const parallel_coordinates coordinates = layout.coordinates();
    const std::vector<model_part> shard_parts =
        tensor_parts(model, sizes.tp, coordinates.tp, sizes.ep, options.tensor, sizes.expert_tp());
    return split.parts_of(shard_parts, coordinates.pp, options.towers);
}

/// Returns the cost of the parts that a rank runs itself, without those marked `elsewhere`.
[[nodiscard]] inline cost cost_on_rank(std::span<const model_part> parts) {
    cost sum;
    for (const model_part& part : parts) {
        sum += part.elsewhere ? cost{} : part.repeat * part.cost;
    }
    return sum;
}

}  // namespace floptally
