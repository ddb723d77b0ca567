// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/floptally_parts.hpp>
#include <floptally/detail/message.hpp>
#include <floptally/detail/pages/classes.hpp>
#include <floptally/detail/pages/layers.hpp>
#include <floptally/detail/pages/library.hpp>
#include <floptally/detail/pages/page.hpp>
#include <floptally/detail/pages/scope.hpp>
#include <floptally/detail/part_list.hpp>
#include <floptally/model/model_part.hpp>
#include <floptally/model/transformer.hpp>
#include <floptally/model_config.hpp>

namespace floptally::detail {

/// Reads floptally's own format (`"model_type": "floptally"`, docs/config_format.md): any composition of the parts,
/// for a model that no family describes. Every key is read or refused.
class floptally_format {
  public:
    floptally_format(const config_fields& config, const read_options& options)
        : pages_(floptally_parts), model_(pages_.find("floptally"), config), config_(config), options_(options) {}

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
            refuse("mtp", {"needs vocab_size in the config"});
        } else if (options_.padded_vocab_size != 0) {
            refuse("padded_vocab_size", {"needs vocab_size in the config"});
        }
        for (const std::string_view key : {"padded_vocab_size", "tie_word_embeddings"}) {
            if (config_.contains(key) && !config_.contains("vocab_size")) {
                refuse(config_.field(key), {"needs vocab_size"});
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

    /// The layers of the other side, each bidirectional.
    void add_encoder() {
        part_list encoder;
        const cost side = groups_cost("encoder_layers", encoder);
        for (const rule& attends : side.masks()) {
            if (!(attends == mask::bidirectional())) {
                refuse(config_.field("encoder_layers"), {"every mask must be \"bidirectional\", got ", attends.name()});
            }
        }
        sum_ += side.on_encoder();
        encoder.append_encoder_to(parts_, [](const cost& one) { return one.on_encoder(); });
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
            refuse(config_.field(key), {"must list at least one group of layers"});
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
            refuse(group.field("parts"), {"must list at least one part"});
        }
        std::vector<cost> one;
        for (std::size_t i = 0; i < parts->count; ++i) {
            one.push_back(part_cost(
                config_fields(group.tree(), group.tree().child(*parts, i), indexed(group.field("parts"), i))));
        }
        return one;
    }

    /// A part is a page of its own, `floptally.TYPE`, over the part's object.
    [[nodiscard]] cost part_cost(const config_fields& part) {
        const std::string type = part.text("type", "");
        const pages::page* read = nullptr;
        std::string known;
        for (const pages::page* one : pages_.loaded()) {
            const std::string_view name = one->name.substr(std::min(one->name.size(), prefix.size()));
            if (one->find_block("part") != nullptr) {
                read = name == type ? one : read;
                append_item(known, name);
            }
        }
        if (read == nullptr) {
            refuse(part.field("type"),
                   {(part.contains("type") ? "unknown part \"" + type + "\"" : "is missing"), "; known: ", known});
        }
        pages::scope names(pages_.find(read->name), part);
        names.inner.push_back({"model", &model_});
        const auto known_keys = pages::names_in(read, &pages::page::keys, &pages::key_rule::key);
        part.allow_only({known_keys.begin(), known_keys.end()});  // a misspelt one would change the count silently
        names.check_keys();
        std::vector<std::string> notes;
        pages::rule_checker(names, notes).check(*read);
        return pages::block_cost(names, "part", options_.mla);
    }

    static constexpr std::string_view prefix = "floptally.";

    pages::library pages_;
    pages::scope model_;  ///< `model.h`
    const config_fields& config_;
    read_options options_;
    cost sum_;
    part_list parts_;
    std::vector<cost> last_layer_;
    std::uint64_t hidden_size_ = 0;
};

}  // namespace floptally::detail
