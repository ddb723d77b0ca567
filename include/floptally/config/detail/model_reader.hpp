// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/config/detail/class_sizes.hpp>
#include <floptally/config/detail/classes.hpp>
#include <floptally/config/detail/entries.hpp>
#include <floptally/config/detail/evaluation.hpp>
#include <floptally/config/detail/inner_spec.hpp>
#include <floptally/config/detail/layers.hpp>
#include <floptally/config/detail/part_call.hpp>
#include <floptally/config/detail/part_table.hpp>
#include <floptally/config/detail/scope.hpp>
#include <floptally/config/detail/tower_inputs.hpp>
#include <floptally/config/detail/value.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/part_list.hpp>
#include <floptally/descriptors/sharding.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/descriptors/transformer.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/spec_language/fields.hpp>
#include <floptally/spec_language/spec.hpp>
#include <floptally/spec_language/spec_library.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/text/error.hpp>

namespace floptally::inline v0_3::detail::specs {

// Output heads of model classes: the matrices after the layers.

/// Properties of the model on which the cost of its head depends.
struct head_of_model {
    std::uint64_t padded_vocab_size = 0;
    bool is_tower = false;
    bool tied = false;            ///< true: the head shares its matrix with the embedding
    bool keeps_detached = false;  ///< true: the results of lines that the spec marks as `detached` reach no loss
};

struct head_cost {
    cost matrix;
    cost elementwise;
};

/// Returns the cost of a line `head out N, …`.
[[nodiscard]] inline head_cost head_of(const part_call& call, const head_of_model& model) {
    const std::uint64_t width = call.required("out");
    if (width == 0 && call.in.config().find("id2label") != nullptr) {
        refuse(call.in.config().field("id2label"), {"must be an object with at least one label, got {}"});
    }
    if (width == 0) {
        call.fail({"out must be at least 1, got 0"});
    }
    const bool words = call.on("words");
    const bool per_sequence = call.on("per_sequence");
    const std::uint64_t option = model.padded_vocab_size;
    const std::uint64_t padded = !words ? 0 : option != 0 ? option : call.number("padded");
    if (padded != 0 && padded < width) {
        refuse("padded_vocab_size", {"must be at least vocab_size (", width, "), got ", padded});
    }
    const bool detached = call.on("detached") && model.keeps_detached;
    cost matrix;
    matrix.add("lm_head", linear{.in_features = call.number("in", call.in.number("h")),
                                 .out_features = width,
                                 .padded_out_features = padded,
                                 .rows = per_sequence ? accumulator::count : accumulator::tokens,
                                 .kind = detached ? term::detached_head : term::lm_head,
                                 .reads = floptally::value::stream,
                                 .sharding = split_of(
                                     call, words ? tensor_sharding::vocabulary() : tensor_sharding::replicated())});
    if (model.is_tower && (call.in.has("units") || call.in.has("last_units"))) {
        const bool own = call.in.has("last_units");
        matrix = matrix.over(call.in.mask_named(own ? "last_units" : "units"),
                             own || !call.in.has("attends") ? mask::bidirectional() : call.in.mask_named("attends"));
    }
    cost elementwise;
    const std::uint64_t twice = call.on("untied_twice") && !model.tied ? 2 : 1;
    const value* bias = call.find("bias");
    const std::uint64_t biases = bias == nullptr || !bias->on() ? 0 : 1;
    elementwise.add_parameters("bias", term::bias, biases * twice * checked(width, "bias"));
    elementwise.add_parameters("norm", term::norm, checked(call.number("norm"), "norm") * width);
    return {matrix, elementwise};
}

/// Returns the cost of a line of a spec as if it were not marked `detached`, because an outer model uses its result for
/// the loss. Returns `otherwise` if the line is not marked.
[[nodiscard]] inline cost attached(const part_call& call, const cost& otherwise) {
    if (!call.on("detached")) {
        return otherwise;
    }
    vector<value> arguments = call.arguments;
    for (std::size_t k = 0; k < arguments.size(); ++k) {
        if (call.line.arguments[k].name == "detached") {
            arguments[k] = flag_value(false);
        }
    }
    value_names produced;
    return cost_of_line({call.in, call.where, call.line, arguments, produced, call.latent_core});
}

/// Reads the config of one model by its spec: the layers, then the head. `composite_reader` reads models that contain
/// other models.
class model_reader {
  public:
    model_reader(library& specs, const spec& read, const fields& config, const read_options& options,
                 const as_part* part = nullptr)
        : specs_(specs),
          scope_(read, config),
          options_(options),
          part_(part),
          layers_(scope_, options.mla),
          is_tower_(scope_.find_block("stem").entry != nullptr) {}
    model_reader(const model_reader&) = delete;
    model_reader& operator=(const model_reader&) = delete;

    [[nodiscard]] scope& names() { return scope_; }

    /// Throws if a key has a wrong value or a `require` does not hold. `read` begins with the same checks.
    void check() {
        scope_.check_keys();
        std::vector<std::string> ignored_notes;
        condition_checker(scope_, ignored_notes).check(scope_.model_spec());
    }

    [[nodiscard]] model_config read() {
        scope_.check_keys();
        open_encoder();
        condition_checker(scope_, notes_).check(scope_.model_spec());
        const std::string_view suffix = class_suffix();
        const scope::found_block head = scope_.find_block(suffix);
        if (head.entry == nullptr || !head.entry->is_class) {
            refuse(scope_.config().field("architectures"),
                   {"names a class with the head \"", suffix, "\", which model_type \"", scope_.model_spec().type(),
                    "\" does not have: name another class"});
        }
        if (!head.entry->lines.empty() && head.entry->lines.front().part == "as") {
            const std::string_view other = trimmed(head.entry->lines.front().rest);
            const as_part same = as_side(part_, suffix, *head.where, head.entry->line);
            return model_reader(specs_, specs_.find(other, head.where, head.entry->line), scope_.config(), options_,
                                &same)
                .read();
        }
        if (encoder_.get() != nullptr) {
            encoder_->join_encoder(sum_, parts_, towers_);
        }
        // A backbone returns results of some layers. Layers after the last of these run, but their results are unused.
        add_layers(suffix.ends_with("Backbone") ? scope_.number_or("layers_used", ~std::uint64_t{0})
                                                : ~std::uint64_t{0});
        tied_ = scope_.on("always_tied") || (part_ != nullptr && !part_->is_side ? part_->tied : scope_.on("tied"));
        add_head(head);
        if (is_tower_) {
            if (options_.mtp_layers != 0) {
                refuse("mtp", {"needs a class with an lm_head, but the class in architectures has none: leave mtp out, "
                               "or name a class with one"});
            }
            note_sizes();
            return finished_tower();
        }
        add_embedding();
        add_mtp();
        note_sizes();
        return {std::string(scope_.model_spec().type()), sum_, std::move(notes_), parts_.in_order(), towers_};
    }

    [[nodiscard]] std::string_view encoder_spec() const { return encoder_of(scope_.model_spec()).spec; }

  private:
    void note_sizes() {
        scope* const encoder = encoder_.get() == nullptr ? nullptr : &encoder_->names();
        note_class_sizes(scope_, part_ == nullptr ? nullptr : part_->outer, encoder, notes_);
    }

    /// Opens the encoder side. The decoder's spec may read the names of the encoder's spec: `encoder.h`.
    void open_encoder() {
        const other_side side = encoder_of(scope_.model_spec());
        if (side.spec.empty()) {
            return;
        }
        const fields& all = scope_.config();
        const bool has_config = !side.key.empty() && all.has_value(side.key);
        none_.nodes.push_back({});
        none_.nodes.front().type = config_node::kind::object;
        const fields inside(has_config ? all.tree() : none_, has_config ? *all.find(side.key) : none_.root(),
                            all.field(side.key));
        const spec& other = specs_.find(side.spec, &scope_.model_spec(), scope_.model_spec().line);
        encoder_ = owner(new model_reader(specs_, other, side.key.empty() ? all : inside, read_options{}));
        scope_.inner.push_back({"encoder", &encoder_->names()});
    }
    [[nodiscard]] std::string_view class_suffix() {
        if (part_ == nullptr) {
            return find_class(scope_, notes_);
        }
        return part_->suffix.empty() ? classes_of(scope_.model_spec()).front() : part_->suffix;
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

    /// Adds all layers. Only the results of the first `used` layers reach the loss.
    void add_layers(std::uint64_t used = ~std::uint64_t{0}) {
        layers_.read(part_ == nullptr ? used : std::min(used, part_->layers_used), sum_, parts_);
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
    /// Turns the layers into a tower: adds class tokens, lets the layers run over patches or frames (the name `units`
    /// of the spec) instead of text tokens, and adds the stem and the merger.
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
        return {std::string(scope_.model_spec().type()), sum_.in(in), std::move(notes_), parts_.in_order(),
                inputs_of(scope_)};
    }

    /// Adds this model as the encoder of an encoder-decoder. Its layers run over the encoder's tokens. An encoder with
    /// a stem is added as a tower.
    void join_encoder(cost& sum, part_list& parts, std::vector<tower_input>& towers) {
        scope_.check_keys();
        // The encoder's notes are dropped, because the decoder adds equal notes.
        std::vector<std::string> ignored_notes;
        condition_checker(scope_, ignored_notes).check(scope_.model_spec());
        add_layers();
        if (!is_tower_) {
            cost positions;
            positions.add_parameters("embedding", term::position_embedding, position_parameters());
            put("encoder", part_role::input, positions);
            sum += sum_.on_encoder();
            parts_.append_encoder_to(parts, [](const cost& part) { return part.on_encoder(); });
            return;
        }
        const auto moved = [in = stands_in(scope_)](const cost& part) {
            return part.renamed([](const component_name& own) { return own.on_encoder(); }).in(in);
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

    // ---- after the layers ----

    void add_head(const scope::found_block& head) {
        value_names produced;
        cost more;
        for (const part_line& line : head.entry->lines) {
            if (line.condition != no_expression && !scope_.evaluate(*head.where, line.condition).on()) {
                continue;
            }
            vector<value> arguments;
            for (const argument& word : line.arguments) {
                arguments.push_back(word.value == no_expression ? flag_value(true)
                                                                : scope_.evaluate(*head.where, word.value));
            }
            const part_call call{scope_, *head.where, line, arguments, produced, options_.mla};
            if (line.part == "head") {
                add_head_linear(call);
            } else if (line.part == "note") {
                notes_.push_back(filled_in(scope_, *head.where, line.line, line.rest));
            } else {
                const cost part = cost_of_line(call);
                more += keeps_detached() ? part : attached(call, part);
            }
        }
        if (!more.entries().empty()) {
            put("pooled", part_role::head, more);
        }
        if (options_.padded_vocab_size != 0 && !over_vocabulary_) {
            refuse("padded_vocab_size", {"needs a class with an lm_head, but the class in architectures has none: "
                                         "leave padded_vocab_size out, or name a class with one"});
        }
        if (over_vocabulary_ && scope_.on("always_tied") && scope_.has("tied") && !scope_.on("tied")) {
            notes_.emplace_back("tie_word_embeddings is false: counted as tied, which the class does anyway");
        }
    }
    void add_head_linear(const part_call& call) {
        const head_cost head = head_of(call, {options_.padded_vocab_size, is_tower_, tied_, keeps_detached()});
        const char* const branch = call.on("per_sequence") ? "pooled" : "lm_head";
        put(branch, part_role::head, head.matrix);
        put(branch, part_role::head, head.elementwise);
        over_vocabulary_ = over_vocabulary_ || call.on("words");
    }
    /// Returns false if an outer model reads this model's pooled output. Then the results of `detached` lines reach the
    /// loss.
    [[nodiscard]] bool keeps_detached() const { return part_ == nullptr || !part_->pooled; }

    void add_embedding() {
        const vocabulary words{.size = scope_.number("v"),  // A size of 0 means that there is no vocabulary and that
                                                            // the input consists of numbers.
                               .tied = over_vocabulary_ && tied_,
                               .positions = scope_.number_or("positions", 0)};
        cost none;
        none.add_parameters("embedding", term::position_embedding, position_parameters());
        put("embedding", part_role::input, words.size == 0 ? none : words.embedding_cost(embedding_width()));
    }

    /// Adds layers of multi-token prediction if the options ask for them. Many configs declare such layers although no
    /// class of transformers runs them. These configs get a note.
    void add_mtp() {
        if (options_.mtp_layers == 0) {
            if (const std::uint64_t layers = scope_.number_or("mtp", 0); layers != 0) {
                notes_.push_back(text_of({"config declares ", layers, " multi-token prediction layer",
                                          layers == 1 ? "" : "s", ": not counted, see --mtp"}));
            }
            return;
        }
        if (scope_.has("no_mtp")) {
            refuse("mtp", {"must be 0 for model_type ", scope_.model_spec().type(), ", ", scope_.named("no_mtp").text});
        }
        if (!over_vocabulary_) {
            refuse("mtp", {"needs a class with an lm_head, but the class in architectures has none: leave mtp out, or "
                           "name a class with one"});
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

    library& specs_;
    scope scope_;
    read_options options_;
    const as_part* part_;
    layer_reader layers_;
    bool is_tower_;
    config_tree none_;  ///< empty config, for an encoder that the config does not mention
    owner<model_reader> encoder_;
    cost sum_;
    part_list parts_;
    std::vector<tower_input> towers_;
    std::vector<std::string> notes_;
    bool tied_ = false;
    bool over_vocabulary_ = false;
};

}  // namespace floptally::detail::specs
