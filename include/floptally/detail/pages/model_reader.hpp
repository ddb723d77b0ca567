// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/cost.hpp>
#include <floptally/detail/message.hpp>
#include <floptally/detail/pages/array_of.hpp>
#include <floptally/detail/pages/class_sizes.hpp>
#include <floptally/detail/pages/classes.hpp>
#include <floptally/detail/pages/fields.hpp>
#include <floptally/detail/pages/heads.hpp>
#include <floptally/detail/pages/layers.hpp>
#include <floptally/detail/pages/library.hpp>
#include <floptally/detail/pages/name_memory.hpp>
#include <floptally/detail/pages/page.hpp>
#include <floptally/detail/pages/rows.hpp>
#include <floptally/detail/pages/scope.hpp>
#include <floptally/detail/pages/tower_inputs.hpp>
#include <floptally/detail/part_list.hpp>
#include <floptally/model/component_name.hpp>
#include <floptally/model/dealing.hpp>
#include <floptally/model/model_part.hpp>
#include <floptally/model/transformer.hpp>
#include <floptally/model_config.hpp>

namespace floptally::detail::pages {

/// How a model that is a part of another one is read.
struct as_part {
    std::string_view suffix;                        ///< of the class whose head it has; empty: the page's first
    bool tied = false;                              ///< the outer config says that its lm_head is the embedding
    std::uint64_t layers_used = ~std::uint64_t{0};  ///< later ones run, and their result reaches no loss
    bool pooled = false;                            ///< the outer model reads what this one pools
    bool is_side = false;                           ///< not a part: one side of an encoder-decoder, alone
};

/// Reads the config of one model by its page: layers, then the head. A model with models inside is
/// `composite_reader`'s.
class model_reader {
  public:
    model_reader(library& pages, const page& read, const fields& config, const read_options& options,
                 const as_part* part = nullptr)
        : pages_(pages),
          scope_(read, config),
          options_(options),
          part_(part),
          layers_(scope_, options.mla),
          is_tower_(scope_.find_block("stem").is != nullptr) {}
    model_reader(const model_reader&) = delete;
    model_reader& operator=(const model_reader&) = delete;

    [[nodiscard]] scope& names() { return scope_; }

    /// Throws where a key or a rule is wrong, as `read` does first.
    void check() {
        scope_.check_keys();
        std::vector<std::string> said;
        rule_checker(scope_, said).check(scope_.of());
    }

    [[nodiscard]] model_config read() {
        scope_.check_keys();
        open_encoder();
        rule_checker(scope_, notes_).check(scope_.of());
        const std::string_view suffix = class_suffix();
        const scope::found_block head = scope_.find_block(suffix);
        if (head.is == nullptr || !head.is->is_class) {
            refuse(scope_.config().field("model_type"), {"\"", scope_.of().type(), "\" has no class with the head \"",
                                                         suffix, "\", which this model needs"});
        }
        if (!head.is->lines.empty() && head.is->lines.front().part == "as") {
            const std::string_view other = trimmed(head.is->lines.front().rest);
            const as_part same{.suffix = suffix, .is_side = true};
            return model_reader(pages_, pages_.find(other, head.where, head.is->line), scope_.config(), options_, &same)
                .read();
        }
        for (model_reader* const side : encoder_) {
            side->join_encoder(sum_, parts_, towers_);
        }
        add_layers();
        tied_ = scope_.on("always_tied") || (part_ != nullptr && !part_->is_side ? part_->tied : scope_.on("tied"));
        add_head(head);
        if (is_tower_) {
            if (options_.mtp_layers != 0) {
                refuse("mtp", {"needs a class with an lm_head; architectures names one without"});
            }
            note_class_sizes(scope_, notes_);
            return finished_tower();
        }
        add_embedding();
        add_mtp();
        note_class_sizes(scope_, notes_);
        return {std::string(scope_.of().type()), sum_, std::move(notes_), parts_.in_order(), towers_};
    }

    [[nodiscard]] std::string_view encoder_page() const { return encoder_of(scope_.of()).page; }

  private:
    /// The other side, which names of this one may read: `encoder.h`.
    void open_encoder() {
        const other_side side = encoder_of(scope_.of());
        if (side.page.empty()) {
            return;
        }
        const fields& all = scope_.config();
        const bool given = !side.key.empty() && all.has_value(side.key);
        none_.nodes.push_back({});
        none_.nodes.front().is = config_node::kind::object;
        const fields inside(given ? all.tree() : none_, given ? *all.find(side.key) : none_.root(),
                            all.field(side.key));
        const page& other = pages_.find(side.page, &scope_.of(), scope_.of().line);
        model_reader& made = encoder_.make(pages_, other, side.key.empty() ? all : inside, read_options{});
        scope_.inner.push_back({"encoder", &made.names()});
    }
    [[nodiscard]] std::string_view class_suffix() {
        if (part_ == nullptr) {
            return find_class(scope_, notes_);
        }
        return part_->suffix.empty() ? classes_of(scope_.of()).front() : part_->suffix;
    }

    void put(const component_name& name, part_role role, const cost& one) {
        sum_ += one;
        parts_.add(name, role, one);
    }
    [[nodiscard]] cost norm(std::string_view name) {
        cost sum;
        sum.add_parameters("norm", term::norm, scope_.number_or(name, 0));
        return sum;
    }

    // ---- layers ----

    void add_layers() {
        layers_.read(part_ == nullptr ? ~std::uint64_t{0} : part_->layers_used, sum_, parts_);
        put("norm", part_role::input, norm("first_norm"));
        if (!is_tower_) {
            put("after", part_role::layer, block_cost(scope_, "after"));
        }
        put("norm", part_role::layer, norm("final_norm"));
        put("model", part_role::anywhere, block_cost(scope_, "once", options_.mla));
        if (is_tower_) {
            finish_tower();
        }
    }
    /// The layers see class tokens too, and may run over other units than enter; before them stands the stem.
    void finish_tower() {
        if (const std::uint64_t prefix = scope_.number_or("class_tokens", 0); prefix != 0) {
            sum_ = sum_.with_prefix_tokens(prefix);
            parts_.add_prefix_tokens(prefix);
        }
        if (scope_.has("units")) {
            const mask units = scope_.mask_named("units");
            const mask attends = scope_.has("attends") ? scope_.mask_named("attends") : mask::bidirectional();
            sum_ = sum_.over(units, attends);
            parts_.move_over(units, attends);
        }
        put("stem", part_role::input, block_cost(scope_, "stem"));
        put("merger", part_role::layer, block_cost(scope_, "after"));
    }

    [[nodiscard]] model_config finished_tower() {
        const modality in = stands_in(scope_);
        parts_.move_into(in);
        return {std::string(scope_.of().type()), sum_.in(in), std::move(notes_), parts_.in_order(), inputs_of(scope_)};
    }

    /// This model as the other side of an encoder-decoder: over its tokens, or, where it has a stem, a tower.
    void join_encoder(cost& sum, part_list& parts, std::vector<tower_input>& towers) {
        scope_.check_keys();
        std::vector<std::string> said;  // by the decoder too
        rule_checker(scope_, said).check(scope_.of());
        add_layers();
        if (!is_tower_) {
            cost positions;
            positions.add_parameters("embedding", term::position_embedding, position_parameters());
            put("encoder", part_role::input, positions);
            sum += sum_.on_encoder();
            parts_.append_encoder_to(parts, [](const cost& one) { return one.on_encoder(); });
            return;
        }
        const auto moved = [in = stands_in(scope_)](const cost& one) {
            return one.renamed([](const component_name& own) { return own.on_encoder(); }).in(in);
        };
        sum += moved(sum_);
        parts_.append_encoder_to(parts, moved);
        towers = inputs_of(scope_);
        for (tower_input& one : towers) {
            one.are_keys = true;
        }
    }
    [[nodiscard]] std::uint64_t embedding_width() { return scope_.number_or("embedding", scope_.number("h")); }
    [[nodiscard]] std::uint64_t position_parameters() {
        return checked_multiply(scope_.number_or("positions", 0), embedding_width(), "embedding");
    }

    // ---- what follows the layers ----

    void add_head(const scope::found_block& head) {
        made_values made;
        cost more;
        for (const part_line& line : head.is->lines) {
            if (line.condition != no_expression && !scope_.evaluate(*head.where, line.condition).on()) {
                continue;
            }
            array_of<value> given;
            for (const argument& one : line.arguments) {
                given.push_back(one.value == no_expression ? flag_value(true)
                                                           : scope_.evaluate(*head.where, one.value));
            }
            const part_call call{scope_, *head.where, line, given, made, options_.mla};
            if (line.part == "head") {
                add_head_linear(call);
            } else if (line.part == "note") {
                notes_.push_back(filled_in(scope_, *head.where, line.line, line.rest));
            } else {
                const cost one = made_by(call);
                more += keeps_detached() ? one : attached(call, one);
            }
        }
        if (!more.rows().empty()) {
            put("pooled", part_role::head, more);
        }
        if (options_.padded_vocab_size != 0 && !over_vocabulary_) {
            refuse("padded_vocab_size", {"needs a class with an lm_head; architectures names one without"});
        }
        if (over_vocabulary_ && scope_.on("always_tied") && scope_.has("tied") && !scope_.on("tied")) {
            notes_.emplace_back("tie_word_embeddings is false: counted as tied, which the class does anyway");
        }
    }
    void add_head_linear(const part_call& call) {
        const head_cost made = head_of(call, {options_.padded_vocab_size, is_tower_, tied_, keeps_detached()});
        const char* const branch = call.on("per_sequence") ? "pooled" : "lm_head";
        put(branch, part_role::head, made.matrix);
        put(branch, part_role::head, made.elementwise);
        over_vocabulary_ = over_vocabulary_ || call.on("words");
    }
    /// An outer model reads what this one pools, so that it is not beside the loss.
    [[nodiscard]] bool keeps_detached() const { return part_ == nullptr || !part_->pooled; }

    void add_embedding() {
        const vocabulary table{.size = scope_.number("v"),
                               .tied = over_vocabulary_ && tied_,
                               .positions = scope_.number_or("positions", 0)};
        put("embedding", part_role::input, table.embedding_cost(embedding_width()));
    }

    /// Layers of multi-token prediction are declared by many configs and run by none of the classes.
    void add_mtp() {
        if (options_.mtp_layers == 0) {
            if (const std::uint64_t layers = scope_.number_or("mtp", 0); layers != 0) {
                notes_.push_back("config declares " + std::to_string(layers) + " multi-token prediction layer" +
                                 (layers == 1 ? "" : "s") + ": not counted, see --mtp");
            }
            return;
        }
        if (scope_.has("no_mtp")) {
            refuse("mtp", {"is not supported for model_type ", scope_.of().type(), ", ", scope_.named("no_mtp").text});
        }
        if (!over_vocabulary_) {
            refuse("mtp", {"needs a class with an lm_head; architectures names one without"});
        }
        const std::uint64_t h = scope_.number("h");
        const multi_token_prediction depths{.num_layers = options_.mtp_layers,
                                            .elementwise = {.norm = scope_.number_or("mtp_norms", 0)},
                                            .projects = scope_.find_block("mtp").is == nullptr};
        const vocabulary words{.size = scope_.number("v"), .padded_size = options_.padded_vocab_size};
        const std::vector<cost> parts = mtp_parts(scope_, layers_, options_.mla);
        cost layer;
        for (const cost& part : parts) {
            layer += part;
        }
        sum_ += depths.cost(layer, h, words);
        depths.for_each_part(parts, h, words, [this](const model_part& next) { parts_.add_after(next); });
    }

    library& pages_;
    scope scope_;
    read_options options_;
    const as_part* part_;
    layer_reader layers_;
    bool is_tower_;
    config_tree none_;  ///< of an encoder that the config does not mention
    kept<model_reader> encoder_;
    cost sum_;
    part_list parts_;
    std::vector<tower_input> towers_;
    std::vector<std::string> notes_;
    bool tied_ = false;
    bool over_vocabulary_ = false;
};

}  // namespace floptally::detail::pages
