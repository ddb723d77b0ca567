// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/config/detail/class_sizes.hpp>
#include <floptally/config/detail/classes.hpp>
#include <floptally/config/detail/heads.hpp>
#include <floptally/config/detail/inner_page.hpp>
#include <floptally/config/detail/layers.hpp>
#include <floptally/config/detail/name_memory.hpp>
#include <floptally/config/detail/rows.hpp>
#include <floptally/config/detail/scope.hpp>
#include <floptally/config/detail/tower_inputs.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/dealing.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/part_list.hpp>
#include <floptally/descriptors/transformer.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/page_language/fields.hpp>
#include <floptally/page_language/page.hpp>
#include <floptally/page_language/page_library.hpp>
#include <floptally/text/error.hpp>

namespace floptally::detail::pages {

/// The reader of the config of one model by its page: layers, then the head. A model with models inside has
/// `composite_reader`.
class model_reader {
  public:
    model_reader(library& pages, const page& read, const fields& config, const read_options& options,
                 const as_part* part = nullptr)
        : pages_(pages),
          scope_(read, config),
          options_(options),
          part_(part),
          layers_(scope_, options.mla),
          is_tower_(scope_.find_block("stem").entry != nullptr) {}
    model_reader(const model_reader&) = delete;
    model_reader& operator=(const model_reader&) = delete;

    [[nodiscard]] scope& names() { return scope_; }

    /// Throws where a key is wrong or a condition does not hold, as `read` does first.
    void check() {
        scope_.check_keys();
        std::vector<std::string> said;
        condition_checker(scope_, said).check(scope_.of());
    }

    [[nodiscard]] model_config read() {
        scope_.check_keys();
        open_encoder();
        condition_checker(scope_, notes_).check(scope_.of());
        const std::string_view suffix = class_suffix();
        const scope::found_block head = scope_.find_block(suffix);
        if (head.entry == nullptr || !head.entry->is_class) {
            refuse(scope_.config().field("model_type"), {"\"", scope_.of().type(), "\" has no class with the head \"",
                                                         suffix, "\", which this model needs"});
        }
        if (!head.entry->lines.empty() && head.entry->lines.front().part == "as") {
            const std::string_view other = trimmed(head.entry->lines.front().rest);
            const as_part same = as_side(part_, suffix, *head.where, head.entry->line);
            return model_reader(pages_, pages_.find(other, head.where, head.entry->line), scope_.config(), options_,
                                &same)
                .read();
        }
        if (encoder_.get() != nullptr) {
            encoder_->join_encoder(sum_, parts_, towers_);
        }
        add_layers();
        tied_ = scope_.on("always_tied") || (part_ != nullptr && !part_->is_side ? part_->tied : scope_.on("tied"));
        add_head(head);
        if (is_tower_) {
            if (options_.mtp_layers != 0) {
                refuse("mtp", {"needs a class with an lm_head; architectures names one without"});
            }
            note_sizes();
            return finished_tower();
        }
        add_embedding();
        add_mtp();
        note_sizes();
        return {std::string(scope_.of().type()), sum_, std::move(notes_), parts_.in_order(), towers_};
    }

    [[nodiscard]] std::string_view encoder_page() const { return encoder_of(scope_.of()).page; }

  private:
    void note_sizes() {
        scope* const encoder = encoder_.get() == nullptr ? nullptr : &encoder_->names();
        note_class_sizes(scope_, part_ == nullptr ? nullptr : part_->outer, encoder, notes_);
    }

    /// Opens the other side, whose names this page may read: `encoder.h`.
    void open_encoder() {
        const other_side side = encoder_of(scope_.of());
        if (side.page.empty()) {
            return;
        }
        const fields& all = scope_.config();
        const bool given = !side.key.empty() && all.has_value(side.key);
        none_.nodes.push_back({});
        none_.nodes.front().type = config_node::kind::object;
        const fields inside(given ? all.tree() : none_, given ? *all.find(side.key) : none_.root(),
                            all.field(side.key));
        const page& other = pages_.find(side.page, &scope_.of(), scope_.of().line);
        encoder_ = owner(new model_reader(pages_, other, side.key.empty() ? all : inside, read_options{}));
        scope_.inner.push_back({"encoder", &encoder_->names()});
    }
    [[nodiscard]] std::string_view class_suffix() {
        if (part_ == nullptr) {
            return find_class(scope_, notes_);
        }
        return part_->suffix.empty() ? classes_of(scope_.of()).front() : part_->suffix;
    }

    void put(const component_name& name, part_role role, const cost& part) {
        sum_ += part;
        parts_.add(name, role, part);
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
    /// Finishes a tower: its layers see class tokens too and may run over other units; the stem stands before them.
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

    /// Joins this model as the other side of an encoder-decoder: over its tokens or, where it has a stem, as a tower.
    void join_encoder(cost& sum, part_list& parts, std::vector<tower_input>& towers) {
        scope_.check_keys();
        std::vector<std::string> said;  // by the decoder too
        condition_checker(scope_, said).check(scope_.of());
        add_layers();
        if (!is_tower_) {
            cost positions;
            positions.add_parameters("embedding", term::position_embedding, position_parameters());
            put("encoder", part_role::input, positions);
            sum += sum_.on_encoder();
            parts_.append_encoder_to(parts, [](const cost& part) { return part.on_encoder(); });
            return;
        }
        const auto moved = [in = stands_in(scope_)](const cost& made_cost) {
            return made_cost.renamed([](const component_name& own) { return own.on_encoder(); }).in(in);
        };
        sum += moved(sum_);
        parts_.append_encoder_to(parts, moved);
        towers = inputs_of(scope_);
        for (tower_input& tower : towers) {
            tower.are_keys = true;
        }
    }
    [[nodiscard]] std::uint64_t embedding_width() { return scope_.number_or("embedding", scope_.number("h")); }
    [[nodiscard]] std::uint64_t position_parameters() {
        return checked(scope_.number_or("positions", 0), "embedding") * embedding_width();
    }

    // ---- what follows the layers ----

    void add_head(const scope::found_block& head) {
        value_names made;
        cost more;
        for (const part_line& line : head.entry->lines) {
            if (line.condition != no_expression && !scope_.evaluate(*head.where, line.condition).on()) {
                continue;
            }
            vector<value> given;
            for (const argument& word : line.arguments) {
                given.push_back(word.value == no_expression ? flag_value(true)
                                                            : scope_.evaluate(*head.where, word.value));
            }
            const part_call call{scope_, *head.where, line, given, made, options_.mla};
            if (line.part == "head") {
                add_head_linear(call);
            } else if (line.part == "note") {
                notes_.push_back(filled_in(scope_, *head.where, line.line, line.rest));
            } else {
                const cost part = made_by(call);
                more += keeps_detached() ? part : attached(call, part);
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
    /// False where an outer model reads this one's pooled output, which is then not beside the loss.
    [[nodiscard]] bool keeps_detached() const { return part_ == nullptr || !part_->pooled; }

    void add_embedding() {
        const vocabulary words{.size = scope_.number("v"),  // 0: numbers in their place
                               .tied = over_vocabulary_ && tied_,
                               .positions = scope_.number_or("positions", 0)};
        cost none;
        none.add_parameters("embedding", term::position_embedding, position_parameters());
        put("embedding", part_role::input, words.size == 0 ? none : words.embedding_cost(embedding_width()));
    }

    /// Adds layers of multi-token prediction, which many configs declare and none of the classes runs.
    void add_mtp() {
        if (options_.mtp_layers == 0) {
            if (const std::uint64_t layers = scope_.number_or("mtp", 0); layers != 0) {
                notes_.push_back(text_of({"config declares ", layers, " multi-token prediction layer",
                                          layers == 1 ? "" : "s", ": not counted, see --mtp"}));
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
                                            .projects = scope_.find_block("mtp").entry == nullptr};
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
    owner<model_reader> encoder_;
    cost sum_;
    part_list parts_;
    std::vector<tower_input> towers_;
    std::vector<std::string> notes_;
    bool tied_ = false;
    bool over_vocabulary_ = false;
};

}  // namespace floptally::detail::pages
