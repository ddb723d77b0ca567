// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/integer/checked.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/step/memory.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Reads and writes parallel layouts in the format of a trainer's settings: AReaL, Megatron-LM, torchtitan, FSDP2,
/// DeepSpeed.

namespace floptally::inline v0_3 {

/// The format of a trainer's settings. A layout can be written in each of these formats.
enum class layout_format : std::uint8_t {
    areal,       ///< AReaL's text: "attn:d1p1t2c4|ffn:d1p1t1e8"
    megatron,    ///< Megatron-LM's arguments after the number of ranks: "WORLD_SIZE=8 --tensor-model-parallel-size 2"
    torchtitan,  ///< the table [parallelism] of torchtitan's TOML
    fsdp2        ///< PyTorch's device meshes for fully_shard: one for dense layers and one for experts
};
/// Names of the values of `layout_format`, in the same order.
inline constexpr const char* layout_format_names[] = {"areal", "megatron", "torchtitan", "fsdp2"};

/// A layout that was read from a trainer's settings.
struct trainer_layout {
    parallel_sizes sizes{};
    std::string order{megatron_order};  ///< order of the parallel axes of dense layers, the fastest-varying first
    std::string expert_order{};         ///< order of the parallel axes of experts; empty: it follows from `order`
    /// The states (optimizer, gradients, weights) that data-parallel ranks shard. Empty if the settings do not say.
    std::optional<zero_stage> sharded{};
    /// True if sequence parallelism is on. Empty if the settings do not say.
    std::optional<bool> sequence_parallel{};

    /// Returns the `parallel_layout` of one rank: the sizes and orders of the axes, and the rank's place in them.
    /// Throws `error` if the sizes or orders are impossible.
    [[nodiscard]] parallel_layout seen_from(std::uint64_t rank) const {
        return {sizes, sizes.world_size(), rank, order, expert_order};
    }
    /// Returns true if both layouts have the same sizes and orders of axes, and so place all ranks alike. Ignores
    /// `sharded` and `sequence_parallel`, because a trainer's settings may omit them.
    [[nodiscard]] friend bool operator==(const trainer_layout& a, const trainer_layout& b) {
        return a.sizes == b.sizes && a.seen_from(0).order() == b.seen_from(0).order() &&
               a.seen_from(0).expert_order() == b.seen_from(0).expert_order();
    }
};

}  // namespace floptally

namespace floptally::inline v0_3::detail {

/// Reads a trainer's settings. Each setting is a name with a value, in arguments of a command line, TOML, JSON, YAML or
/// Python. The reader knows the names of settings of all supported trainers.
class layout_reader {
  public:
    layout_reader(std::string_view text, std::optional<std::uint64_t> world_size)
        : text_(without_comments(text)), world_size_(world_size) {}

    [[nodiscard]] trainer_layout read() {
        if (read_areal() || read_meshes()) {
            return finished();
        }
        read_pairs();
        if (!found_any_) {
            refuse("layout", {"must name sizes such as attn:d1p1t2c4|ffn:d1p1t1e8, --tensor-model-parallel-size 2 or "
                              "tensor_parallel_degree = 2, got \"",
                              shortened(text_), "\""});
        }
        return finished();
    }

  private:
    enum class meaning : std::uint8_t {
        dp,
        dp_replicate,
        dp_shard,
        cp,
        tp,
        pp,
        vpp,
        ep,
        etp,
        world,
        nodes,
        ranks_of_node,
        zero,
        sharding,
        shards_optimizer,
        sequence_parallel,
        pp_before_dp
    };
    struct known_name {
        std::string_view name;
        meaning means;
    };
    static constexpr known_name names[] = {{"dp", meaning::dp},
                                           {"data_parallel_size", meaning::dp},
                                           {"dp_replicate", meaning::dp_replicate},
                                           {"data_parallel_replicate_degree", meaning::dp_replicate},
                                           {"num_distributed_optimizer_instances", meaning::dp_replicate},
                                           {"dp_shard", meaning::dp_shard},
                                           {"data_parallel_shard_degree", meaning::dp_shard},
                                           {"mics_shard_size", meaning::dp_shard},
                                           {"cp", meaning::cp},
                                           {"cp_size", meaning::cp},
                                           {"context_parallel_size", meaning::cp},
                                           {"context_parallel_degree", meaning::cp},
                                           {"sequence_parallel_size", meaning::cp},
                                           {"tp", meaning::tp},
                                           {"tp_size", meaning::tp},
                                           {"autotp_size", meaning::tp},
                                           {"tensor_parallel_size", meaning::tp},
                                           {"tensor_parallel_degree", meaning::tp},
                                           {"tensor_model_parallel_size", meaning::tp},
                                           {"pp", meaning::pp},
                                           {"pp_size", meaning::pp},
                                           {"pipeline_parallel_size", meaning::pp},
                                           {"pipeline_parallel_degree", meaning::pp},
                                           {"pipeline_model_parallel_size", meaning::pp},
                                           {"vpp", meaning::vpp},
                                           {"virtual_pipeline_parallel_size", meaning::vpp},
                                           {"virtual_pipeline_model_parallel_size", meaning::vpp},
                                           {"num_virtual_stages_per_pipeline_rank", meaning::vpp},
                                           {"ep", meaning::ep},
                                           {"ep_size", meaning::ep},
                                           {"expert_parallel_size", meaning::ep},
                                           {"expert_parallel_degree", meaning::ep},
                                           {"expert_model_parallel_size", meaning::ep},
                                           {"etp", meaning::etp},
                                           {"expert_tensor_parallel_size", meaning::etp},
                                           {"expert_tensor_parallel_degree", meaning::etp},
                                           {"world_size", meaning::world},
                                           {"WORLD_SIZE", meaning::world},
                                           {"nnodes", meaning::nodes},
                                           {"nproc_per_node", meaning::ranks_of_node},
                                           {"zero_stage", meaning::zero},
                                           {"stage", meaning::zero},
                                           {"sharding_strategy", meaning::sharding},
                                           {"data_parallel_sharding_strategy", meaning::sharding},
                                           {"use_distributed_optimizer", meaning::shards_optimizer},
                                           {"sequence_parallel", meaning::sequence_parallel},
                                           {"use_tp_pp_dp_mapping", meaning::pp_before_dp}};

    /// Returns the text of the settings without comments. Joins lines that end in a backslash.
    [[nodiscard]] static std::string without_comments(std::string_view text) {
        std::string plain;
        for (std::size_t i = 0; i < text.size(); ++i) {
            const bool continues = text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '\n';
            if (text[i] == '#') {
                while (i < text.size() && text[i] != '\n') {
                    ++i;
                }
            }
            if (i < text.size()) {
                plain.push_back(continues ? ' ' : text[i]);
            }
            i += continues ? 1 : 0;
        }
        return plain;
    }

    [[nodiscard]] static bool is_digit(char c) { return c >= '0' && c <= '9'; }
    [[nodiscard]] static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

    [[nodiscard]] std::uint64_t positive(std::string_view value, std::string_view name) const {
        const auto number = number_of_text<std::uint64_t>(value);
        if (!number || *number == 0) {
            refuse(name, {"must be a positive integer, got \"", shortened(std::string(value)), "\""});
        }
        return *number;
    }
    void set(std::optional<std::uint64_t>& size, std::uint64_t value, std::string_view name) const {
        if (size && *size != value) {
            refuse(name, {"is given twice with different values, ", *size, " and ", value, ": leave one of them out"});
        }
        size = value;
    }

    /// Reads AReaL's text: letters for dimensions, each with a size, for all layers or separately for attention and
    /// experts. Ignores a backend at the beginning, such as "megatron:". Returns false if the text has another form.
    [[nodiscard]] bool read_areal() {
        std::string_view rest = text_;
        const auto trim = [&rest] {
            while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\n')) {
                rest.remove_prefix(1);
            }
            while (!rest.empty() && (rest.back() == ' ' || rest.back() == '\n')) {
                rest.remove_suffix(1);
            }
        };
        trim();
        const std::size_t attention = rest.find("attn:");
        if (attention != std::string_view::npos) {
            rest.remove_prefix(attention + 5);
            const std::size_t bar = rest.find('|');
            if (bar == std::string_view::npos || rest.substr(bar + 1, 4) != "ffn:") {
                refuse("layout", {"must have |ffn: after attn:, such as attn:d1p1t2c4|ffn:d1p1t1e8, got \"",
                                  shortened(text_), "\""});
            }
            std::string_view of_experts = rest.substr(bar + 5);
            if (!of_experts.empty() && of_experts.back() == ')') {
                of_experts.remove_suffix(1);
            }
            read_dimensions(rest.substr(0, bar), "dptc", false);
            expert_tp_ = 1;  // AReaL does not split experts over tensor-parallel ranks unless the text says so
            read_dimensions(of_experts, "dpte", true);
            return true;
        }
        const std::size_t colon = rest.find(':');
        if (colon != std::string_view::npos) {
            rest.remove_prefix(colon + 1);
        }
        bool letter_next = true;
        for (std::size_t i = 0; i < rest.size(); ++i) {
            const bool is_dimension = std::string_view("dptce").find(rest[i]) != std::string_view::npos;
            if (letter_next ? !is_dimension : !(is_digit(rest[i]) || (is_dimension && is_digit(rest[i - 1])))) {
                return false;
            }
            letter_next = false;
            if (i + 1 == rest.size() && !is_digit(rest[i])) {
                return false;
            }
        }
        if (rest.empty()) {
            return false;
        }
        read_dimensions(rest, "dptce", false);
        whole_experts_ = true;
        return true;
    }

    void read_dimensions(std::string_view dimensions, std::string_view letters, bool of_experts) {
        found_any_ = true;
        std::string named;
        while (!dimensions.empty()) {
            const char letter = dimensions.front();
            std::size_t end = 1;
            while (end < dimensions.size() && is_digit(dimensions[end])) {
                ++end;
            }
            if (letters.find(letter) == std::string_view::npos || end == 1) {
                refuse("layout", {"must list sizes by the letters ", letters, ", such as d1p1, got \"",
                                  shortened(std::string(dimensions)), "\""});
            }
            if (named.find(letter) != std::string::npos) {
                refuse("layout",
                       {"names ", std::string(1, letter), " twice in \"", shortened(text_), "\": name each size once"});
            }
            named.push_back(letter);
            const std::uint64_t size = positive(dimensions.substr(1, end - 1), "layout");
            switch (letter) {
                case 'd':
                    (of_experts ? expert_dp_ : dp_) = size;
                    break;
                case 'p':
                    if (of_experts && size != pp_.value_or(1)) {
                        refuse("layout",
                               {"must have the same p for attn and ffn, got ", pp_.value_or(1), " and ", size});
                    }
                    pp_ = size;
                    break;
                case 't':
                    (of_experts ? expert_tp_ : tp_) = size;
                    break;
                case 'c':
                    cp_ = size;
                    break;
                default:
                    ep_ = size;
                    break;
            }
            dimensions.remove_prefix(end);
        }
        if (!of_experts && !dp_) {
            dp_ = 1;
        }
    }

    /// Reads PyTorch's device meshes: sizes and names, the slowest axis first. A mesh with the axis ep is the one for
    /// experts.
    [[nodiscard]] bool read_meshes() {
        constexpr std::string_view key = "mesh_dim_names";
        bool found = false;
        for (std::size_t at = text_.find(key); at != std::string::npos; at = text_.find(key, at + key.size())) {
            found = true;
            const std::size_t close = text_.find_last_of(")]", at);
            const std::size_t open = close == std::string::npos ? close : text_.find_last_of("([", close - 1);
            const std::size_t list = text_.find_first_of("([", at);
            const std::size_t end = list == std::string::npos ? list : text_.find_first_of(")]", list);
            if (open == std::string::npos || end == std::string::npos) {
                refuse("layout",
                       {"must give a mesh as init_device_mesh(\"cuda\", (2, 4), mesh_dim_names=(\"dp_shard\", "
                        "\"tp\")), got \"",
                        shortened(text_), "\""});
            }
            const std::vector<std::string> sizes = items_of(text_.substr(open + 1, close - open - 1));
            const std::vector<std::string> axes = items_of(text_.substr(list + 1, end - list - 1));
            if (sizes.size() != axes.size() || sizes.empty()) {
                refuse("mesh_dim_names",
                       {"must be as many as the sizes of the mesh (", sizes.size(), "), got ", axes.size()});
            }
            read_mesh(sizes, axes);
        }
        found_any_ = found_any_ || found;
        return found;
    }

    [[nodiscard]] static std::vector<std::string> items_of(std::string_view list) {
        std::vector<std::string> items(1);
        for (const char c : list) {
            if (c == ',') {
                items.emplace_back();
            } else if (c != ' ' && c != '"' && c != '\'' && c != '\n' && c != '\t') {
                items.back().push_back(c);
            }
        }
        if (items.back().empty()) {
            items.pop_back();
        }
        return items;
    }

    void read_mesh(const std::vector<std::string>& sizes, const std::vector<std::string>& axes) {
        bool of_experts = false;
        for (const std::string& axis : axes) {
            of_experts = of_experts || axis == "ep";
        }
        std::string order;
        for (std::size_t i = axes.size(); i-- > 0;) {  // from the last axis to the first, because a mesh lists the
                                                       // slowest axis first
            const std::string& axis = axes[i];
            const std::uint64_t size = positive(sizes[i], indexed("mesh", i));
            std::string_view name = axis;
            if (axis == "pp") {
                set(pp_, size, "pp");
            } else if (axis == "dp_replicate") {
                set(dp_replicate_, size, "dp_replicate");
                name = of_experts ? "expert_dp" : "dp";
            } else if (of_experts && (axis == "ep" || axis == "etp" || axis == "tp")) {
                (axis == "ep" ? ep_ : expert_tp_) = size;
                name = axis == "ep" ? "ep" : "etp";
            } else if (of_experts && (axis == "expert_dp_shard" || axis == "expert_dp" || axis == "efsdp")) {
                expert_shard_ = size;
                name = "expert_dp";
            } else if (!of_experts && (axis == "tp" || axis == "cp")) {
                (axis == "tp" ? tp_ : cp_) = size;
            } else if (!of_experts && (axis == "dp_shard" || axis == "dp" || axis == "fsdp")) {
                dp_shard_ = size;
                name = "dp";
            } else {
                refuse("mesh_dim_names",
                       {"must name axes of pp, dp_replicate, dp_shard, cp and tp, or of pp, dp_replicate, "
                        "expert_dp_shard, ep and etp, got \"",
                        axis, "\""});
            }
            const bool is_known = order.find(name) != std::string::npos;
            if (!is_known) {
                append(order, {order.empty() ? "" : "-", name});
            }
            const bool follows = is_known && order.ends_with(name) && axis == "dp_replicate";
            if ((is_known && !follows) || (!is_known && axis == "dp_replicate" && size != 1)) {
                refuse("mesh_dim_names",
                       {axis, " is in a wrong place: name each axis once, and dp_replicate directly before dp_shard"});
            }
        }
        if (of_experts) {
            expert_order_ = order;
            expert_tp_ = expert_tp_.value_or(1);
            expert_shard_ = expert_shard_.value_or(1);
        } else {
            order_ = order;
            dp_shard_ = dp_shard_.value_or(1);
        }
    }

    void read_pairs() {
        for (std::size_t at = 0; at < text_.size();) {
            if (!is_letter(text_[at])) {
                ++at;
                continue;
            }
            std::size_t end = at;
            while (end < text_.size() &&
                   (is_letter(text_[end]) || is_digit(text_[end]) || text_[end] == '-' || text_[end] == '.')) {
                ++end;
            }
            std::string name = text_.substr(at, end - at);
            for (char& c : name) {
                c = c == '-' ? '_' : c;
            }
            name = name.substr(name.find_last_of('.') + 1);
            at = end;
            std::size_t next = end;
            bool is_separated = false;
            while (next < text_.size()) {
                const char c = text_[next];
                const bool separates = (c == '=' || c == ':') && !is_separated;
                if (!separates && c != ' ' && c != '\t' && c != '"' && c != '\'') {
                    break;
                }
                is_separated = is_separated || separates;
                ++next;
            }
            std::size_t last = next;
            while (last < text_.size() &&
                   std::string_view(" \t\n,;\"'{}[]()").find(text_[last]) == std::string_view::npos) {
                ++last;
            }
            const std::string_view value = std::string_view(text_).substr(next, last - next);
            const bool is_flag = value.empty() || value.substr(0, 2) == "--";
            if (take(name, is_flag ? std::string_view{} : value) && !is_flag) {
                at = last;
            }
        }
    }

    /// Uses one setting of the trainer, given as name and value. Returns false if the name is unknown.
    bool take(const std::string& name, std::string_view value) {
        const known_name* known = nullptr;
        for (const known_name& each : names) {
            known = each.name == name ? &each : known;
        }
        if (known == nullptr) {
            const bool is_size = name.find("parallel") != std::string::npos &&
                                 (name.ends_with("_size") || name.ends_with("_degree")) &&
                                 name.find("batch") == std::string::npos;
            if (is_size || name == "num_layers_per_virtual_pipeline_stage" || name == "dp_shard_cp") {
                refuse(name, {"is not the name of a layout size: use dp, cp, tp, pp, vpp, ep and etp, or a trainer's "
                              "names for them"});
            }
            return false;
        }
        found_any_ = true;
        if (value == "None" || value == "null" || value == "none") {
            return true;
        }
        const bool is_off = value == "false" || value == "False" || value == "0";
        switch (known->means) {
            case meaning::zero: {
                const auto stage = number_of_text<std::uint64_t>(value);
                if (!stage || *stage > 3) {
                    refuse(name, {"must be a ZeRO stage from 0 to 3, got \"", value, "\""});
                }
                sharded_ = static_cast<zero_stage>(*stage);
                return true;
            }
            case meaning::sharding:
                sharded_ = sharding_named(value, name);
                return true;
            case meaning::shards_optimizer:
                sharded_ = is_off ? zero_stage::none : sharded_.value_or(zero_stage::optimizer);
                return true;
            case meaning::sequence_parallel:
                sequence_parallel_ = !is_off;
                return true;
            case meaning::pp_before_dp:
                order_ = is_off ? order_ : "tp-cp-ep-pp-dp";
                return true;
            default:
                break;
        }
        if (known->means == meaning::dp_shard && value == "-1") {
            return true;
        }
        const std::uint64_t size = positive(value, name);
        derives_replicas_ = derives_replicas_ || name == "mics_shard_size";  // MiCS: a replica is a group of this size
        // torchtitan and DeepSpeed do not split experts over tensor-parallel ranks unless the settings say so.
        whole_experts_ = whole_experts_ || name == "expert_parallel_degree" || name == "ep_size";
        std::optional<std::uint64_t>* const sizes[] = {&dp_, &dp_replicate_, &dp_shard_, &cp_,       &tp_,
                                                       &pp_, &vpp_,          &ep_,       &expert_tp_};
        const auto index = static_cast<std::size_t>(known->means);
        if (index < std::size(sizes)) {
            set(*sizes[index], size, name);
        } else if (known->means == meaning::world) {
            set(world_size_, size, name);
        } else {
            set(known->means == meaning::nodes ? nodes_ : ranks_of_node_, size, name);
        }
        return true;
    }

    [[nodiscard]] static zero_stage sharding_named(std::string_view value, std::string_view field) {
        constexpr std::pair<std::string_view, zero_stage> strategies[] = {
            {"NO_SHARD", zero_stage::none},
            {"SHARD_GRAD_OP", zero_stage::gradients},
            {"_HYBRID_SHARD_ZERO2", zero_stage::gradients},
            {"FULL_SHARD", zero_stage::weights},
            {"HYBRID_SHARD", zero_stage::weights},
            {"no_shard", zero_stage::none},
            {"optim", zero_stage::optimizer},
            {"optim_grads", zero_stage::gradients},
            {"optim_grads_params", zero_stage::weights}};
        std::string known;
        for (const auto& [name, stage] : strategies) {
            if (name == value || (value.ends_with(name) && value.ends_with(text_of({".", name})))) {
                return stage;
            }
            append_item(known, name);
        }
        refuse(field, {"must be one of ", known, ", got \"", shortened(std::string(value)), "\""});
    }

    /// Computes the parallel sizes that the settings leave out from those that they have. Throws `error` if the sizes
    /// do not fit together.
    [[nodiscard]] trainer_layout finished() {
        trainer_layout layout{.order = order_,
                              .expert_order = expert_order_,
                              .sharded = sharded_,
                              .sequence_parallel = sequence_parallel_};
        parallel_sizes& sizes = layout.sizes;
        sizes.cp = cp_.value_or(1);
        sizes.tp = tp_.value_or(1);
        sizes.pp = pp_.value_or(1);
        sizes.vpp = vpp_.value_or(1);
        sizes.ep = ep_.value_or(1);
        if (nodes_ && ranks_of_node_) {
            set(world_size_, checked(*nodes_, "world_size") * *ranks_of_node_, "world_size");
        }
        const std::uint64_t of_replica = std::uint64_t{checked(sizes.cp, "world_size") * sizes.tp * sizes.pp};
        if (dp_shard_ && derives_replicas_ && !dp_replicate_ && world_size_) {
            dp_replicate_ = *world_size_ / std::uint64_t{checked(of_replica, "world_size") * *dp_shard_};
        }
        if (dp_shard_) {
            set(dp_, checked(*dp_shard_, "dp") * dp_replicate_.value_or(1), "dp");
        }
        if (!dp_) {
            if (!world_size_) {
                refuse("world_size", {"is missing, and these settings do not contain dp: pass the number of ranks, or "
                                      "a layout with dp"});
            }
            if (*world_size_ % of_replica != 0) {
                refuse("world_size", {"must be a multiple of cp x tp x pp = ", of_replica, ", got ", *world_size_});
            }
            dp_ = *world_size_ / of_replica;
        }
        sizes.dp = *dp_;
        sizes.dp_replicate = dp_replicate_.value_or(1);
        sizes.etp = expert_tp_.value_or(whole_experts_ && sizes.ep > 1 ? 1 : 0);
        if (world_size_ && *world_size_ != sizes.world_size()) {
            refuse("world_size", {"must be dp x cp x tp x pp = ", sizes.world_size(), ", got ", *world_size_});
        }
        static_cast<void>(layout.seen_from(0));  // throws if the parallel sizes do not fit together
        const std::optional<std::uint64_t> expert_dp =
            expert_shard_ ? std::optional(*expert_shard_ * sizes.dp_replicate) : expert_dp_;
        if (expert_dp && *expert_dp != sizes.expert_dp()) {
            refuse("layout", {"has ", sizes.stage_ranks(), " ranks per pipeline stage for attention and ",
                              std::uint64_t{checked(*expert_dp, "layout") * sizes.ep * sizes.expert_tp()},
                              " for experts: both numbers must be equal"});
        }
        return layout;
    }

    std::string text_;
    bool found_any_ = false;
    bool whole_experts_ = false;
    bool derives_replicas_ = false;
    std::string order_{megatron_order};
    std::string expert_order_{};
    std::optional<std::uint64_t> world_size_{};
    std::optional<std::uint64_t> nodes_{};
    std::optional<std::uint64_t> ranks_of_node_{};
    std::optional<std::uint64_t> dp_{};
    std::optional<std::uint64_t> dp_replicate_{};
    std::optional<std::uint64_t> dp_shard_{};
    std::optional<std::uint64_t> cp_{};
    std::optional<std::uint64_t> tp_{};
    std::optional<std::uint64_t> pp_{};
    std::optional<std::uint64_t> vpp_{};
    std::optional<std::uint64_t> ep_{};
    std::optional<std::uint64_t> expert_tp_{};
    std::optional<std::uint64_t> expert_dp_{};
    std::optional<std::uint64_t> expert_shard_{};
    std::optional<zero_stage> sharded_{};
    std::optional<bool> sequence_parallel_{};
};

[[noreturn]] inline void refuse_format(layout_format format, std::string_view problem) {
    refuse("layout", {layout_format_names[static_cast<std::size_t>(format)], " cannot express ", problem,
                      ": choose another format"});
}

/// Returns the call of PyTorch that makes the device mesh of a layout. The mesh lists the slowest axis first, and
/// splits data parallelism into two axes, replicas and shards.
[[nodiscard]] inline std::string mesh_of(const parallel_layout& layout, bool of_experts) {
    const std::string order = of_experts ? layout.expert_order() : layout.order();
    std::string names;
    std::string sizes;
    const auto add = [&](std::string_view name, std::uint64_t size) {
        append(names, {names.empty() ? "\"" : ", \"", name, "\""});
        append(sizes, {sizes.empty() ? "" : ", ", size});
    };
    const std::uint64_t replicas = layout.sizes().dp_replicate;
    for (std::size_t end = order.size(); end != std::string::npos;) {
        const std::size_t before = end == 0 ? std::string::npos : order.rfind('-', end - 1);
        const std::size_t first = before == std::string::npos ? 0 : before + 1;
        const std::string name = order.substr(first, end - first);
        if (name == "dp" || name == "expert_dp") {
            const std::uint64_t all = layout.size(of_experts ? parallel_axis::expert_dp : parallel_axis::dp);
            add("dp_replicate", replicas);
            add(of_experts ? "expert_dp_shard" : "dp_shard", all / replicas);
        } else {
            const parallel_axis axis = name == "pp"   ? parallel_axis::pp
                                       : name == "cp" ? parallel_axis::cp
                                       : name == "tp" ? parallel_axis::tp
                                       : name == "ep" ? parallel_axis::ep
                                                      : parallel_axis::etp;
            add(name, layout.size(axis));
        }
        end = before;
    }
    return text_of({"init_device_mesh(\"cuda\", (", sizes, "), mesh_dim_names=(", names, "))\n"});
}

}  // namespace floptally::detail

namespace floptally::inline v0_3 {

/// Reads a layout from a trainer's settings. These may be AReaL's text, arguments of Megatron-LM, torchtitan's table
/// [parallelism], device meshes of PyTorch, or a configuration of DeepSpeed or FSDP. Sizes by name also work ("dp=2,
/// tp=4, ep=8, etp=1"). Other settings in the text are ignored.
///
/// `read_layout` fills in sizes that the settings omit. The tensor-parallel size of experts (etp) is tp for Megatron,
/// and 1 for torchtitan, DeepSpeed and AReaL. The data-parallel size follows from `world_size` for Megatron's
/// arguments, and for torchtitan's shard degree of -1. Throws `error` for unknown sizes, sizes that are not divisible,
/// and settings that contradict each other.
[[nodiscard]] inline trainer_layout read_layout(std::string_view text,
                                                std::optional<std::uint64_t> world_size = std::nullopt) {
    return detail::layout_reader(text, world_size).read();
}

/// Writes a layout as a trainer's settings. `read_layout` reads them back as an equal layout. Throws `error` if the
/// trainer has no setting for a part of the layout.
[[nodiscard]] inline std::string to_text(const trainer_layout& layout, layout_format format) {
    const parallel_sizes& sizes = layout.sizes;
    const parallel_layout first = layout.seen_from(0);
    const parallel_layout by_megatron(sizes, sizes.world_size(), 0);
    const bool has_megatron_order =
        first.order() == by_megatron.order() && first.expert_order() == by_megatron.expert_order();
    if (format != layout_format::megatron && sizes.vpp != 1) {
        detail::refuse_format(format, "vpp");
    }
    if (format == layout_format::fsdp2) {
        return detail::mesh_of(first, false) + detail::mesh_of(first, true);
    }
    if (format == layout_format::areal) {
        if (sizes.dp_replicate != 1) {
            detail::refuse_format(format, "replicas of shards (dp_replicate)");
        }
        if (!has_megatron_order) {
            detail::refuse_format(format, "another order of ranks than tp-cp-ep-dp-pp");
        }
        return detail::text_of({"attn:d", sizes.dp, "p", sizes.pp, "t", sizes.tp, "c", sizes.cp, "|ffn:d",
                                sizes.expert_dp(), "p", sizes.pp, "t", sizes.expert_tp(), "e", sizes.ep});
    }
    if (format == layout_format::torchtitan) {
        if (!has_megatron_order) {
            detail::refuse_format(format, "another order of ranks than tp-cp-ep-dp-pp");
        }
        if (sizes.expert_tp() != 1 && sizes.expert_tp() != sizes.tp) {
            detail::refuse_format(format, "an etp other than 1 or tp");
        }
        return detail::text_of({"[parallelism]\ndata_parallel_replicate_degree = ", sizes.dp_replicate,
                                "\ndata_parallel_shard_degree = ", sizes.dp / sizes.dp_replicate,
                                "\ncontext_parallel_degree = ", sizes.cp, "\ntensor_parallel_degree = ", sizes.tp,
                                "\npipeline_parallel_degree = ", sizes.pp, "\nexpert_parallel_degree = ", sizes.ep,
                                "\nexpert_tensor_parallel_degree = ", sizes.expert_tp(), "\n"});
    }
    const bool is_mapped =
        !has_megatron_order && first.order() == "tp-cp-pp-dp" && first.expert_order() == "etp-ep-pp-expert_dp";
    if (!has_megatron_order && !is_mapped) {
        detail::refuse_format(format, "another order of ranks than tp-cp-ep-dp-pp or tp-cp-ep-pp-dp");
    }
    std::string text = detail::text_of({"WORLD_SIZE=", sizes.world_size(), " --tensor-model-parallel-size ", sizes.tp,
                                        " --context-parallel-size ", sizes.cp, " --pipeline-model-parallel-size ",
                                        sizes.pp, " --expert-model-parallel-size ", sizes.ep,
                                        " --expert-tensor-parallel-size ", sizes.expert_tp()});
    if (sizes.vpp != 1) {
        detail::append(text, {" --num-virtual-stages-per-pipeline-rank ", sizes.vpp});
    }
    if (is_mapped) {
        text += " --use-tp-pp-dp-mapping";
    }
    if (layout.sharded == zero_stage::optimizer || sizes.dp_replicate != 1) {
        text += " --use-distributed-optimizer";
    }
    if (sizes.dp_replicate != 1) {
        detail::append(text, {" --num-distributed-optimizer-instances ", sizes.dp_replicate});
    }
    if (layout.sharded >= zero_stage::gradients) {
        detail::append(text, {" --use-megatron-fsdp --data-parallel-sharding-strategy ",
                              layout.sharded == zero_stage::weights ? "optim_grads_params" : "optim_grads"});
    }
    if (layout.sequence_parallel == true) {
        text += " --sequence-parallel";
    }
    return text + "\n";
}

}  // namespace floptally
