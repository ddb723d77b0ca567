// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/config/detail/classes.hpp>
#include <floptally/config/detail/config_fields.hpp>
#include <floptally/config/detail/layers.hpp>
#include <floptally/config/detail/part_table.hpp>
#include <floptally/config/detail/scope.hpp>
#include <floptally/config/detail/unread.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/part_list.hpp>
#include <floptally/descriptors/transformer.hpp>
#include <floptally/spec_language/spec.hpp>
#include <floptally/spec_language/spec_library.hpp>
#include <floptally/text/error.hpp>

namespace floptally::inline v0_3::detail {

/// The base specs of the parts in floptally's own config format. A part's `mask` is a name ("causal"), an object with
/// one key, or a text with numbers ("sliding_window(4096)"). Without `mask` the part is causal.
inline constexpr char own_specs[] = R"spec(
spec floptally
with hidden_size number
h = .hidden_size

spec floptally.part
with type text
h = model.h
sees = written_mask()

spec floptally.heads : floptally.part
kv            = .num_kv_heads ?? .num_heads
width_of_head = .head_dim ?? h / .num_heads
require .num_heads % kv == 0: .num_kv_heads must divide num_heads ({.num_heads})
require given(.head_dim) or h % .num_heads == 0: .head_dim is missing, and num_heads ({.num_heads}) does not divide hidden_size ({h})

spec floptally.named : floptally.part
with component text
named = .component
require size(.component) > 0 and size(.component) < 40: .component must have 1 to 39 characters
)spec";
static_assert(component_name::capacity == 39,
              "update the 40 and 39 of spec floptally.named: they are the capacity of component_name");

/// Returns `own_specs` followed by a spec for each part of `part_kinds`. Such a spec declares the keys of the part, and
/// has one line that passes the keys' values as arguments. If the part's additional lines define a name for an
/// argument, the line passes that name instead of the key.
[[nodiscard]] inline std::string specs_of_parts() {
    std::string text = own_specs;
    for (const specs::part_kind& kind : specs::part_kinds) {
        if (kind.own.empty()) {
            continue;
        }
        const bool has_base = kind.own.find(':') != std::string_view::npos;
        append(text, {"\nspec floptally.", kind.own, has_base ? "" : " : floptally.part", "\n"});
        const bool is_named = kind.own.ends_with("floptally.named");
        std::string line = is_named ? " named named" : "";
        for (std::size_t k = 0; k < kind.count; ++k) {
            const specs::part_argument& argument = kind.argument(k);
            const std::string_view key(argument.key);
            if (!key.empty()) {
                append(text, {"with ", key, "\n"});
            }
            const bool is_defined = kind.lines.find(text_of({argument.name, " = "})) != std::string_view::npos;
            if (is_defined || !key.empty()) {
                append(line,
                       {line.empty() ? " " : ", ", argument.name, argument.is_inverse && !is_defined ? " not " : " ",
                        is_defined ? "" : ".", is_defined ? argument.name : key.substr(0, key.find(' '))});
            }
        }
        append(text, {kind.lines});
        if (kind.lines.find("part:") == std::string_view::npos) {
            append(text, {"part: ", kind.name, line, "\n"});
        }
    }
    return text;
}

/// Reads floptally's own config format (`"model_type": "floptally"`, docs/specs.md): any composition of parts, for
/// models without a spec. Throws for unknown keys.
class floptally_format {
  public:
    floptally_format(const config_fields& config, const read_options& options)
        : text_(specs_of_parts()),
          specs_(text_),
          model_(specs_.find("floptally"), config),
          config_(config),
          options_(options) {}

    [[nodiscard]] model_config read() {
        config_.allow_only({"model_type", "name", "hidden_size", "encoder_layers", "layers", "vocab_size",
                            "padded_vocab_size", "tie_word_embeddings"});
        hidden_size_ = config_.dimension({"hidden_size"});
        if (config_.contains("encoder_layers")) {
            add_encoder();
        }
        sum_ += groups_cost("layers", parts_);
        if (config_.contains("vocab_size")) {
            add_vocabulary();
        } else if (options_.mtp_layers != 0) {
            refuse("mtp", {"needs vocab_size in the config: add it, or leave mtp out"});
        } else if (options_.padded_vocab_size != 0) {
            refuse("padded_vocab_size", {"needs vocab_size in the config: add it, or leave padded_vocab_size out"});
        }
        for (const std::string_view key : {"padded_vocab_size", "tie_word_embeddings"}) {
            if (config_.contains(key) && !config_.contains("vocab_size")) {
                refuse(config_.field(key), {"needs vocab_size: add it, or remove this key"});
            }
        }
        return {config_.text("name", "floptally"), sum_, {}, parts_.in_order(), {}};
    }

  private:
    void add_vocabulary() {
        vocabulary vocab;
        vocab.size = config_.integer({"vocab_size"}, required, 1, max_vocabulary);
        vocab.padded_size = config_.integer({"padded_vocab_size"}, 0, 0, max_vocabulary);
        if (options_.padded_vocab_size != 0) {
            vocab.padded_size = options_.padded_vocab_size;
        }
        vocab.tied = config_.flag("tie_word_embeddings", false);
        sum_ += vocab.head_cost(hidden_size_);
        sum_ += vocab.embedding_cost(hidden_size_);
        parts_.add("embedding", part_role::input, vocab.embedding_cost(hidden_size_));
        parts_.add("lm_head", part_role::head, vocab.head_cost(hidden_size_));
        if (options_.mtp_layers != 0) {
            const multi_token_prediction depths{.num_layers = options_.mtp_layers};
            sum_ += depths.cost(sum_of(last_layer_), hidden_size_, vocab);
            depths.for_each_part(last_layer_, hidden_size_, vocab,
                                 [this](const model_part& next) { parts_.add_after(next); });
        }
    }

    /// Adds the layers of the encoder side. Throws unless all of them are bidirectional.
    void add_encoder() {
        part_list encoder;
        const cost side = groups_cost("encoder_layers", encoder);
        for (const statistic& attends : side.masks()) {
            if (!(attends == mask::bidirectional())) {
                refuse(config_.field("encoder_layers"), {"every mask must be \"bidirectional\", got ", attends.name()});
            }
        }
        sum_ += side.on_encoder();
        encoder.append_encoder_to(parts_, [](const cost& part) { return part.on_encoder(); });
    }

    [[nodiscard]] static cost sum_of(const std::vector<cost>& parts) {
        cost sum;
        for (const cost& part : parts) {
            sum += part;
        }
        return sum;
    }

    [[nodiscard]] cost groups_cost(std::string_view key, part_list& parts) {
        const config_node* groups = config_.array(key);
        if (groups == nullptr || groups->count == 0) {
            refuse(config_.field(key),
                   {"must list at least one group of layers, such as {\"repeat\": 32, \"parts\": [...]}"});
        }
        cost sum;
        std::uint64_t index = 0;
        for (std::size_t i = 0; i < groups->count; ++i) {
            const config_fields group(config_.tree(), config_.tree().child(*groups, i), indexed(config_.field(key), i));
            group.allow_only({"repeat", "parts"});
            const std::uint64_t repeat = group.integer({"repeat"}, 1, 1, max_layers);
            last_layer_ = layer_parts(group);
            sum += repeat * sum_of(last_layer_);
            parts.add_layers(index, repeat, last_layer_);
            index += repeat;
        }
        return sum;
    }

    [[nodiscard]] std::vector<cost> layer_parts(const config_fields& group) {
        const config_node* parts = group.array("parts");
        if (parts == nullptr || parts->count == 0) {
            refuse(group.field("parts"),
                   {"must list at least one part, such as {\"type\": \"mlp\", \"intermediate_size\": 14336}"});
        }
        std::vector<cost> alone;
        for (std::size_t i = 0; i < parts->count; ++i) {
            alone.push_back(part_cost(
                config_fields(group.tree(), group.tree().child(*parts, i), indexed(group.field("parts"), i))));
        }
        return alone;
    }

    /// Returns the cost of a part. The spec `floptally.TYPE` reads the JSON object of the part.
    [[nodiscard]] cost part_cost(const config_fields& part) {
        const std::string type = part.text("type", "");
        const specs::spec* read = nullptr;
        std::string known;
        for (const specs::owner<specs::spec>& loaded : specs_.loaded()) {
            const std::string_view name = loaded->name.substr(std::min(loaded->name.size(), prefix.size()));
            if (loaded->find_block("part") != nullptr) {
                read = name == type ? loaded.get() : read;
                append_item(known, name);
            }
        }
        if (read == nullptr) {
            refuse(part.field("type"), {part.contains("type") ? text_of({"unknown part \"", type, "\""}) : "is missing",
                                        "; known: ", known});
        }
        specs::scope names(specs_.find(read->name), part);
        names.inner.push_back({"model", &model_});
        specs::refuse_undeclared(names);
        names.check_keys();
        std::vector<std::string> notes;
        specs::condition_checker(names, notes).check(*read);
        return specs::block_cost(names, "part", options_.mla);
    }

    static constexpr std::string_view prefix = "floptally.";

    std::string text_;  ///< text of all specs; the parsed specs point into it
    specs::library specs_;
    specs::scope model_;  ///< the whole model; specs of parts read its names, such as `model.h`
    const config_fields& config_;
    read_options options_;
    cost sum_;
    part_list parts_;
    std::vector<cost> last_layer_;
    std::uint64_t hidden_size_ = 0;
};

}  // namespace floptally::detail
