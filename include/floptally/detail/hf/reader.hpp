// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/class_names.hpp>
#include <floptally/detail/hf/dimensions.hpp>
#include <floptally/detail/hf/families.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/refusals.hpp>
#include <floptally/detail/hf/tower_parts.hpp>
#include <floptally/detail/part_list.hpp>
#include <floptally/model/component_name.hpp>
#include <floptally/model/model_part.hpp>
#include <floptally/model/transformer.hpp>
#include <floptally/model_config.hpp>

namespace floptally::detail {

/// How a model that is a part of another one is read.
struct hf_inner {
    std::string_view suffix;                        ///< of the class whose head it has
    bool tied = false;                              ///< the outer config says that its lm_head is the embedding
    std::uint64_t layers_used = ~std::uint64_t{0};  ///< later ones run, and their result reaches no loss
    bool pooled = false;                            ///< the outer model reads what this one pools
};

/// Reads the config.json of one family: dimensions, then layers, then the head.
class hf_reader {
  public:
    hf_reader(const config_fields& config, const hf_family& family, const read_options& options,
              const hf_inner* part_of = nullptr)
        : model_{config, family, options, {}, {}}, part_of_(part_of) {}

    [[nodiscard]] model_config read() {
        read_sizes();
        tied_ = reads_tied();
        const head& last = read_head();
        if (last.of != nullptr) {
            return hf_reader(config(), *last.of, model_.options).read();
        }
        if (family().encoder_side != nullptr) {
            read_encoder(hf_reader(config(), *family().encoder_side, {}));
        }
        add_layers();
        if (family().stem != nullptr) {
            finish_tower(model_, sum_, stages_);
        }
        add_head(last);
        add_mtp();
        if (family().stem == nullptr) {
            return {std::string(family().model_type), sum_, std::move(model_.notes), stages_.in_order(), towers_};
        }
        stages_.move_into(family().stands_in);
        return {std::string(family().model_type), sum_.in(family().stands_in), std::move(model_.notes),
                stages_.in_order(), inputs_of(model_)};
    }

    /// The sizes, for what joins this model with others: before or after `read`, which reads them once.
    [[nodiscard]] const hf_model& sized() {
        read_sizes();
        return model_;
    }

  private:
    [[nodiscard]] const config_fields& config() const { return model_.config; }
    [[nodiscard]] const hf_family& family() const { return model_.family; }
    [[nodiscard]] std::uint64_t hidden_size() const { return model_.sizes.hidden_size; }

    [[nodiscard]] bool reads_tied() const {
        return part_of_ != nullptr ? part_of_->tied || family().always_tied
                                   : config().flag(config().spelling({family().tie_key, "tie_word_embeddings"}),
                                                   family().tie_word_embeddings) ||
                                         family().always_tied;
    }

    /// The other side of an encoder-decoder: over its tokens, or, where it has a stem, a tower.
    void read_encoder(hf_reader encoder) {
        const auto add = [&](auto change) {
            sum_ += change(encoder.read_stack());
            encoder.stages_.append_encoder_to(stages_, change);
        };
        if (encoder.family().stem == nullptr) {
            add([](const cost& one) { return one.on_encoder(); });
            return;
        }
        add([in = encoder.family().stands_in](const cost& one) {
            return one.renamed([](const component_name& own) { return own.on_encoder(); }).in(in);
        });
        towers_ = inputs_of(encoder.model_);
        for (tower_input& input : towers_) {
            input.are_keys = true;
        }
    }

    /// The layers and tables of positions of one side of an encoder-decoder.
    [[nodiscard]] cost read_stack() {
        read_sizes();
        add_layers();
        if (family().stem != nullptr) {
            finish_tower(model_, sum_, stages_);
            return sum_;
        }
        cost positions;
        positions.add_parameters(
            "embedding", term::position_embedding,
            checked_multiply(read_position_rows(model_), family().embedding_width(model_), "embedding"));
        sum_ += positions;
        stages_.add("encoder", part_role::input, positions);
        return sum_;
    }

    void read_sizes() {
        if (has_sizes_) {
            return;
        }
        has_sizes_ = true;
        refuse_unsupported(model_);
        model_.sizes = hf_dimension_reader(config(), family()).read();
        if (family().resolve != nullptr) {
            family().resolve(model_);
        }
    }

    // ---- layers ----

    /// The parts of one layer, one after the other.
    [[nodiscard]] std::vector<cost> read_layer(const hf_layer& at) const {
        std::vector<cost> parts;
        if (at.mixer == 'R') {
            parts.push_back(family().recurrent(model_, at));
        } else if (at.mixer != '-') {
            parts.push_back(family().attention(model_, at));
        }
        if (family().cross != nullptr) {
            parts.push_back(family().cross(model_, at));
        }
        if (at.feed != '-') {
            parts.push_back((at.feed == 'e' ? family().experts_layer : family().dense)(model_, at));
        }
        if (family().more != nullptr) {
            parts.push_back(family().more(model_, at));
        }
        return parts;
    }

    [[nodiscard]] cost norms(std::uint64_t count) const {
        const auto per_channel = static_cast<std::uint64_t>(family().norm);
        cost sum;
        sum.add_parameters("norm", term::norm, checked_multiply(count * per_channel, hidden_size(), "norm"));
        return sum;
    }

    void add_layers() {
        const std::string mixers = mixer_letters(model_);
        const std::string feeds = family().feeds(model_);
        for (std::size_t index = 0; index < mixers.size(); ++index) {
            last_ =
                hf_layer{{index, hidden_size(), mask_of_letter(model_, mixers[index])}, mixers[index], feeds[index]};
            std::vector<cost> parts = read_layer(last_);
            const bool unused = part_of_ != nullptr && index >= part_of_->layers_used;
            for (cost& part : parts) {
                part = unused ? part.detached() : part;
                sum_ += part;
            }
            parts.insert(parts.begin(), norms(family().norms_per_layer));
            stages_.add_layer(index, std::move(parts));
        }
        const std::uint64_t first = model_.has(family().embedding_norm) ? 1 : 0;
        const std::uint64_t last = family().final_norm ? 1 : 0;
        sum_ += norms(family().norms_per_layer * mixers.size() + last + first);
        stages_.add("norm", part_role::input, norms(first));
        stages_.add("norm", part_role::layer, norms(last));
        if (family().once != nullptr) {
            const cost once = family().once(model_);
            sum_ += once;
            stages_.add("model", part_role::anywhere, once);
        }
    }

    /// Layers of multi-token prediction are declared by many configs and run by none of the classes.
    void add_mtp() {
        const hf_size& declared = family().mtp;
        const std::string_view key = config().spelling(declared.keys);
        const bool none = declared.keys.empty() || (config().contains(key) && !config().has_value(key));
        const std::uint64_t layers = none ? 0 : model_.read_or_none(declared);
        if (model_.options.mtp_layers == 0) {
            if (layers != 0) {
                model_.notes.push_back("config declares " + std::to_string(layers) + " multi-token prediction layer" +
                                       (layers == 1 ? "" : "s") + ": not counted, see --mtp");
            }
            return;
        }
        if (!over_vocabulary_) {
            throw error("mtp", "needs a class with an lm_head; architectures names one without");
        }
        // Norms of the layer, of both inputs and before the head.
        const std::uint64_t norms = static_cast<std::uint64_t>(family().norm) * (family().norms_per_layer + 3);
        const multi_token_prediction depths{.num_layers = model_.options.mtp_layers,
                                            .elementwise = {.norm = checked_multiply(norms, hidden_size(), "norm")}};
        const vocabulary words{.size = model_.sizes.vocab_size, .padded_size = model_.options.padded_vocab_size};
        const std::vector<cost> parts = read_layer(last_);
        cost layer;
        for (const cost& part : parts) {
            layer += part;
        }
        sum_ += depths.cost(layer, hidden_size(), words);
        depths.for_each_part(parts, hidden_size(), words, [this](const model_part& next) { stages_.add_after(next); });
    }

    // ---- embedding and head ----

    [[nodiscard]] const head& read_head() {
        if (part_of_ == nullptr) {
            return find_class<head>(config(), family().model_type, family().class_prefix, family().heads, model_.notes);
        }
        for (const head& candidate : family().heads) {
            if (candidate.suffix == part_of_->suffix) {
                return candidate;
            }
        }
        throw error(config().field("model_type"), std::string("\"")
                                                      .append(family().model_type)
                                                      .append("\" has no class with the head \"")
                                                      .append(part_of_->suffix)
                                                      .append("\", which this model needs"));
    }

    void add_head(const head& last) {
        const bool pooled = part_of_ != nullptr && part_of_->pooled;
        for (const head_linear& after : last.linears) {
            const std::uint64_t width = after.out == nullptr ? 0 : after.out(model_);
            if (width == 0) {
                continue;
            }
            const linear last_linear{.in_features = after.in(model_),
                                     .out_features = width,
                                     .padded_out_features = padded_width(model_, after, width),
                                     .rows = after.rows,
                                     .kind = after.detached && !pooled ? term::detached_head : term::lm_head,
                                     .reads = value::stream,
                                     .dealt = dealing_of(after)};
            const cost matrix = over_last_units(model_, cost{}.add("lm_head", last_linear));
            cost elementwise;
            if (after.bias && (after.bias_key.empty() || config().flag(after.bias_key, after.bias_otherwise))) {
                elementwise.add_parameters("bias", term::bias, after.second_bias && !tied_ ? 2 * width : width);
            }
            const bool norm_bias = !after.norm_bias_key.empty() && config().flag(after.norm_bias_key, false);
            elementwise.add_parameters("norm", term::norm, (after.norm_after + (norm_bias ? 1 : 0)) * width);
            sum_ += matrix;
            sum_ += elementwise;
            // Heads over tokens and over sequences are branches of their own.
            const char* branch = after.rows == statistic::tokens ? "lm_head" : "pooled";
            stages_.add(branch, part_role::head, matrix);
            stages_.add(branch, part_role::head, elementwise);
            over_vocabulary_ = over_vocabulary_ || after.out == vocabulary_width;
        }
        if (last.more != nullptr) {
            const cost more = last.more_detached && !pooled ? last.more(model_).detached() : last.more(model_);
            sum_ += more;
            stages_.add("pooled", part_role::head, more);
        }
        if (model_.options.padded_vocab_size != 0 && !over_vocabulary_) {
            throw error("padded_vocab_size", "needs a class with an lm_head; architectures names one without");
        }
        if (over_vocabulary_ && family().always_tied && !config().flag("tie_word_embeddings", true)) {
            model_.notes.emplace_back("tie_word_embeddings is false: counted as tied, which the class does anyway");
        }
        if (family().stem != nullptr) {
            return;
        }
        const vocabulary table{.size = model_.sizes.vocab_size,
                               .tied = over_vocabulary_ && tied_,
                               .positions = read_position_rows(model_)};
        const cost tables = table.embedding_cost(family().embedding_width(model_));
        sum_ += tables;
        stages_.add("embedding", part_role::input, tables);
    }

    hf_model model_;
    const hf_inner* part_of_;
    cost sum_;
    part_list stages_;
    std::vector<tower_input> towers_;
    hf_layer last_{};
    bool has_sizes_ = false;
    bool tied_ = false;
    bool over_vocabulary_ = false;
};

}  // namespace floptally::detail
