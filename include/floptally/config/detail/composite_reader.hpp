// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/config/detail/inner_spec.hpp>
#include <floptally/config/detail/model_reader.hpp>
#include <floptally/config/detail/tower_inputs.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/text/error.hpp>

namespace floptally::inline v0_3::detail::specs {

/// Reads the config of a model that contains other models. Reads the text model first. Then reads each tower with its
/// projector, and the encoder side of the text model.
class composite_reader {
  public:
    composite_reader(library& specs, const spec& read, const fields& config, const read_options& options)
        : specs_(specs), scope_(read, config), options_(options) {
        empty_.nodes.push_back({});
        empty_.nodes.front().type = config_node::kind::object;
    }
    composite_reader(const composite_reader&) = delete;
    composite_reader& operator=(const composite_reader&) = delete;

    [[nodiscard]] model_config read() {
        model_config sum;
        scope_.check_keys();
        if (const class_inside alone = class_of_inner(specs_, scope_.model_spec(), scope_.config());
            alone.model != nullptr) {
            const config_inside found = find_inside(specs_, *alone.model, scope_.config());
            const as_part itself{.suffix = alone.suffix, .is_side = true};
            const fields inside = fields_inside(*alone.model, found, scope_.config(), empty_);
            return model_reader(specs_, *alone.read, inside, options_, &itself).read();
        }
        const std::string_view suffix = find_class(scope_, sum.notes);
        for (const inner_model* model : inner_of(scope_.model_spec())) {
            open(*model);
        }
        for (const owner<slot>& inner : slots_) {
            inner->reader->check();  // The errors of single models are reported before errors of their combination.
        }
        condition_checker(scope_, sum.notes).check(scope_.model_spec());
        const outer_class outer = read_class(suffix, sum.notes);
        model_config language;
        std::vector<model_part> towers;
        for (const owner<slot>& inner : slots_) {
            slot& inside = *inner;
            if (inside.model->name != "text") {
                continue;
            }
            const bool two_sides = !outer.two_sided.empty() && !inside.reader->encoder_spec().empty();
            inside.part = {.suffix = two_sides ? outer.two_sided : outer.text,
                           .tied = scope_.on("tied"),
                           .pooled = outer.pooled,
                           .outer = &scope_};
            if (!outer.text.empty()) {
                language = inside.reader->read();
            }
        }
        bool is_first = true;
        for (const owner<slot>& inner : slots_) {
            if (inner->model->name == "encoder") {
                add_encoder(*inner, sum, towers);
            } else if (inner->model->name != "text") {
                add_tower(*inner, outer, is_first, sum, towers);
                is_first = false;
            }
        }
        sum.model_type = scope_.model_spec().type();
        sum.cost += language.cost;
        sum.notes.insert(sum.notes.end(), language.notes.begin(), language.notes.end());
        // The lists of parts are joined in the order of execution: the text model's embedding, the towers, the rest of
        // the text model. With frozen parts this order matters: it decides which gradients the backward computes.
        for (const bool embedded : {true, false}) {
            for (model_part& part : language.parts) {
                if ((part.role == part_role::input) == embedded) {
                    sum.parts.push_back(std::move(part));
                }
            }
            for (std::size_t k = 0; embedded && k < towers.size(); ++k) {
                sum.parts.push_back(std::move(towers[k]));
            }
        }
        if (!outer.text.empty()) {
            add({.name = "pooled", .role = part_role::head, .cost = block_cost(scope_, "text_after")}, sum, sum.parts);
        }
        note_names(scope_, sum.notes);
        return sum;
    }

  private:
    /// Facts that the spec states about one class of a model with towers, such as which class its text model has.
    struct outer_class {
        std::string_view text{};       ///< class of the text model; empty: there is no text model
        std::string_view two_sided{};  ///< class of the text model if the text model is an encoder-decoder
        bool pooled = false;           ///< true if the class reads the pooled output of its inner models
        /// The block of the spec that adds cost for this class, such as the head of an image classifier; empty if the
        /// class adds no cost. This cost is added after the spec's block `after`. In a spec without a block `after` it
        /// replaces the first projector.
        scope::found_block after{};
    };
    struct slot {
        const inner_model* model;
        as_part part{};
        owner<model_reader> reader{};
    };

    [[nodiscard]] outer_class read_class(std::string_view suffix, std::vector<std::string>& notes) {
        outer_class outer;
        const scope::found_block found = scope_.find_block(suffix);
        if (found.entry == nullptr) {
            spec_error(scope_.model_spec().name, scope_.model_spec().line,
                       {"has no class ", suffix, "; add a line `class ", suffix, ": text …`"});
        }
        for (const part_line& line : found.entry->lines) {
            if (line.part == "note") {
                notes.push_back(filled_in(scope_, *found.where, line.line, line.rest));
            } else if (line.part != "text") {
                outer.after = found;
            } else {
                lexer from(found.where->name, line.rest, line.line);
                const std::string_view text = from.expect_name("the class of the text");
                outer.text = text == "none" ? std::string_view{} : text;
                outer.pooled = from.take("pooled");
                if (from.take("or")) {
                    outer.two_sided = from.expect_name("the class of an encoder-decoder");
                }
                if (!from.at_end()) {
                    from.fail({"expected \"pooled\", \"or CLASS\" or the end of the line before ", from.next()});
                }
            }
        }
        return outer;
    }

    /// Opens an inner model: finds its config and its spec.
    void open(const inner_model& inner) {
        const config_inside found = find_inside(specs_, inner, scope_.config());
        if (inner.optional && found.own == nullptr) {
            return;
        }
        const fields inside = fields_inside(inner, found, scope_.config(), empty_);
        slot& opened = *slots_.push_back(owner(new slot{.model = &inner}));
        opened.part.suffix = inner.suffix;
        opened.reader = owner(new model_reader(specs_, specs_.find(found.type, &scope_.model_spec(), inner.line),
                                               inside, inner.name == "text" ? options_ : read_options{}, &opened.part));
        const bool is_tower = opened.reader->names().find_block("stem").entry != nullptr;
        if (inner.name == "encoder" && (is_tower || !opened.reader->encoder_spec().empty())) {
            refuse(inside.field("model_type"),
                   {"must be the type of a text model, not of images, of sound or of an encoder-decoder, got \"",
                    found.type, "\""});
        }
        if (inner.name != "encoder" && inner.name != "text" && !is_tower) {
            refuse(inside.field("model_type"),
                   {"must be the type of a model of images or sound, got \"", found.type, "\""});
        }
        scope_.inner.push_back({inner.name, &opened.reader->names()});
        // The inner model's spec can refer to names of the whole model as `whole.NAME`.
        opened.reader->names().inner.push_back({"whole", &scope_});
    }

    void add_tower(slot& model, const outer_class& outer, bool is_first, model_config& sum,
                   std::vector<model_part>& parts) {
        const std::string own(model.model->name);
        model.part.layers_used = scope_.number_or(own + "_layers", ~std::uint64_t{0});
        model.part.pooled = outer.pooled;
        const model_config tower = model.reader->read();
        const modality in = stands_in(model.reader->names());
        const std::string prefix = std::string(name_of(in)) + ".";
        for (const model_part& part : tower.parts) {
            const bool pixels = in == modality::vision;
            const char* const name = part.name == "stem"     ? (pixels ? "patch_embedding" : "stem")
                                     : part.name == "merger" ? "merger"
                                                             : "blocks";
            add(in_tower(part, named(part.cost, prefix, name)), sum, parts);
        }
        cost projector;
        const bool is_followed = is_first && scope_.find_block("after").entry != nullptr;
        if (is_first && !is_followed && outer.after.entry != nullptr) {
            projector = block_lines(outer.after);
        } else {
            projector = block_cost(scope_, own + "_projector");
        }
        add(in_tower({}, named(projector.in(in), prefix, "projector")), sum, parts);
        if (is_followed) {
            cost following = block_cost(scope_, "after");
            following += outer.after.entry != nullptr ? block_lines(outer.after) : cost{};
            add(in_tower({}, following.in(in).renamed([&prefix](const component_name& name) {
                    return component_name(prefix, name.view());
                })),
                sum, parts);
        }
        add({.name = "image_attention",
             .role = part_role::anywhere,
             .cost = in_each_text_layer(own + "_in_text").in(in)},
            sum, parts);
        sum.notes.insert(sum.notes.end(), tower.notes.begin(), tower.notes.end());
        for (tower_input input : tower.towers) {
            placeholders(own, input);
            input.meets_text = !outer.text.empty();
            if (!outer.two_sided.empty() && has_two_sides()) {
                input.per_frame = 0;  // The encoder reads the tower's output, so the text has no placeholder tokens.
            }
            sum.towers.push_back(input);
        }
    }
    /// Adds a text model as the encoder side of the main text model. The main text model attends to the output of this
    /// encoder.
    void add_encoder(slot& model, model_config& sum, std::vector<model_part>& parts) {
        const model_config encoder = model.reader->read();
        for (model_part part : encoder.parts) {
            part.cost = part.cost.on_encoder();
            if (part.role == part_role::layer) {
                part.name = "encoder";
                part.role = part_role::encoder;
            }
            add(part, sum, parts);
        }
        add({.name = "encoder", .role = part_role::encoder, .cost = block_cost(scope_, "encoder_projector")}, sum,
            parts);
        sum.notes.insert(sum.notes.end(), encoder.notes.begin(), encoder.notes.end());
    }
    [[nodiscard]] bool has_two_sides() const {
        for (const owner<slot>& model : slots_) {
            if (model->model->name == "text" && !model->reader->encoder_spec().empty()) {
                return true;
            }
        }
        return false;
    }
    /// Returns the cost that each image adds to every layer of the text model. A block of the spec defines this cost.
    /// Its lines can use the mask of the current text layer as `text.sees`.
    [[nodiscard]] cost in_each_text_layer(const std::string& name) {
        cost sum;
        for (const owner<slot>& inner : slots_) {
            slot& model = *inner;
            if (model.model->name != "text" || scope_.find_block(name).entry == nullptr) {
                continue;
            }
            scope& text = model.reader->names();
            const std::uint64_t layers = text.number("layers");
            for (text.layer = 0; layers > text.layer; ++text.layer) {
                sum += block_cost(scope_, name);
            }
            text.layer = 0;
        }
        return sum;
    }
    /// Sets how many placeholder tokens of the text stand for one output of a tower, if the spec gives that number.
    void placeholders(const std::string& own, tower_input& input) {
        if (scope_.has(own + "_units")) {
            input.units = scope_.mask_named(own + "_units");
            input.per_unit = 1;
        }
        input.per_unit = scope_.number_or(own + "_per_unit", input.per_unit);
        input.per_frame = scope_.number_or(own + "_per_frame", input.per_frame);
        input.per_token = scope_.number_or(own + "_per_token", input.per_token);
    }
    /// Returns the cost of all lines in the block of a class.
    [[nodiscard]] cost block_lines(const scope::found_block& found) {
        block parts{.name = found.entry->name, .is_class = found.entry->is_class, .line = found.entry->line};
        for (const part_line& line : found.entry->lines) {
            if (line.part != "text" && line.part != "note") {
                parts.lines.push_back(line);
            }
        }
        block_reader reader(scope_, {found.where, &parts}, mla_core::expanded);
        const std::size_t variant = reader.read();
        return variant == block_reader::nothing ? cost{} : reader.part(variant);
    }

    /// Adds a part to a model's cost and to its list of parts. Does nothing if the part's cost has no entries.
    static void add(const model_part& part, model_config& sum, std::vector<model_part>& parts) {
        if (!part.cost.entries().empty()) {
            sum.cost += part.repeat * part.cost;
            parts.push_back(part);
        }
    }
    /// Returns a copy of a model's part with another cost and the role `tower`.
    [[nodiscard]] static model_part in_tower(model_part part, const cost& cost_of_part) {
        part.cost = cost_of_part;
        part.name = name_of(part.in());
        part.role = part_role::tower;
        return part;
    }
    /// Returns a cost whose entries all have the component name `prefix` followed by `name`. Only an element-wise entry
    /// keeps its own name after the prefix: "vision.norm".
    [[nodiscard]] static cost named(const cost& part, const std::string& prefix, std::string_view name) {
        return part.renamed([&](const component_name& own) {
            return component_name(prefix, own.is_elementwise() ? own.view() : name);
        });
    }

    library& specs_;
    scope scope_;
    read_options options_;
    config_tree empty_;
    vector<owner<slot>> slots_;
};

}  // namespace floptally::detail::specs
