// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/config/detail/inner_page.hpp>
#include <floptally/config/detail/model_reader.hpp>
#include <floptally/config/detail/tower_inputs.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/text/error.hpp>

namespace floptally::detail::pages {

/// Reads the config of a model with models inside: its text as a model of its own, then each tower, or the other side
/// of the text, and its projector.
class composite_reader {
  public:
    composite_reader(library& pages, const page& read, const fields& config, const read_options& options)
        : pages_(pages), scope_(read, config), options_(options) {
        empty_.nodes.push_back({});
        empty_.nodes.front().type = config_node::kind::object;
    }
    composite_reader(const composite_reader&) = delete;
    composite_reader& operator=(const composite_reader&) = delete;

    [[nodiscard]] model_config read() {
        model_config sum;
        scope_.check_keys();
        if (const class_inside alone = class_of_inner(pages_, scope_.of(), scope_.config()); alone.model != nullptr) {
            const config_inside found = find_inside(pages_, *alone.model, scope_.config());
            const as_part itself{.suffix = alone.suffix, .is_side = true};
            const fields inside = fields_inside(*alone.model, found, scope_.config(), empty_);
            return model_reader(pages_, *alone.read, inside, options_, &itself).read();
        }
        const std::string_view suffix = find_class(scope_, sum.notes);
        for (const inner_model* model : inner_of(scope_.of())) {
            open(*model);
        }
        for (const owner<slot>& inner : slots_) {
            inner->reader->check();  // what is wrong inside is named before what does not fit together
        }
        condition_checker(scope_, sum.notes).check(scope_.of());
        const outer_class outer = read_class(suffix, sum.notes);
        model_config language;
        std::vector<model_part> towers;
        for (const owner<slot>& inner : slots_) {
            slot& inside = *inner;
            if (inside.model->name != "text") {
                continue;
            }
            const bool two_sides = !outer.two_sided.empty() && !inside.reader->encoder_page().empty();
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
        sum.model_type = scope_.of().type();
        sum.cost += language.cost;
        sum.notes.insert(sum.notes.end(), language.notes.begin(), language.notes.end());
        // A gradient comes from the embedding and from the towers, which stand after it.
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
        return sum;
    }

  private:
    /// A class of the whole model, and the class of its text.
    struct outer_class {
        std::string_view text{};       ///< class of the text; empty: it has no text
        std::string_view two_sided{};  ///< where the text is an encoder and a decoder
        bool pooled = false;           ///< it reads the pooled output of its parts
        scope::found_block after{};    ///< follows `after`, or replaces the first projector: a classifier of images
    };
    struct slot {
        const inner_model* model;
        as_part part{};
        owner<model_reader> reader{};
    };

    [[nodiscard]] outer_class read_class(std::string_view suffix, std::vector<std::string>& notes) {
        outer_class made;
        const scope::found_block found = scope_.find_block(suffix);
        if (found.entry == nullptr) {
            page_error(scope_.of().name, scope_.of().line, {"has no class ", suffix});
        }
        for (const part_line& line : found.entry->lines) {
            if (line.part == "note") {
                notes.push_back(filled_in(scope_, *found.where, line.line, line.rest));
            } else if (line.part != "text") {
                made.after = found;
            } else {
                lexer from(found.where->name, line.rest, line.line);
                const std::string_view text = from.required_word("the class of the text");
                made.text = text == "none" ? std::string_view{} : text;
                made.pooled = from.take("pooled");
                if (from.take("or")) {
                    made.two_sided = from.required_word("the class of an encoder-decoder");
                }
                if (!from.at_end()) {
                    from.fail({"expected pooled, \"or CLASS\" or the end of the line before ", from.next()});
                }
            }
        }
        return made;
    }

    /// Finds the config of a model inside and the page that reads it.
    void open(const inner_model& is) {
        const config_inside found = find_inside(pages_, is, scope_.config());
        if (is.optional && found.own == nullptr) {
            return;
        }
        const fields inside = fields_inside(is, found, scope_.config(), empty_);
        slot& made = *slots_.push_back(owner(new slot{.model = &is}));
        made.part.suffix = is.suffix;
        made.reader = owner(new model_reader(pages_, pages_.find(found.type, &scope_.of(), is.line), inside,
                                             is.name == "text" ? options_ : read_options{}, &made.part));
        const bool is_tower = made.reader->names().find_block("stem").entry != nullptr;
        if (is.name == "encoder" && (is_tower || !made.reader->encoder_page().empty())) {
            refuse(inside.field("model_type"),
                   {"must be a model of one text, neither of images or sound nor an encoder-decoder, got \"",
                    found.type, "\""});
        }
        if (is.name != "encoder" && is.name != "text" && !is_tower) {
            refuse(inside.field("model_type"),
                   {"must be the type of a tower, which reads images or sound, got \"", found.type, "\""});
        }
        scope_.inner.push_back({is.name, &made.reader->names()});
    }

    void add_tower(slot& model, const outer_class& outer, bool is_first, model_config& sum,
                   std::vector<model_part>& parts) {
        const std::string own(model.model->name);
        model.part.layers_used = scope_.number_or(own + "_layers", ~std::uint64_t{0});
        model.part.pooled = outer.pooled;
        const model_config made = model.reader->read();
        const modality in = stands_in(model.reader->names());
        const std::string prefix = std::string(name_of(in)) + ".";
        for (const model_part& part : made.parts) {
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
            add(in_tower({}, following.in(in).renamed(
                                 [&prefix](const component_name& row) { return component_name(prefix, row.view()); })),
                sum, parts);
        }
        add({.name = "image_attention",
             .role = part_role::anywhere,
             .cost = in_each_text_layer(own + "_in_text").in(in)},
            sum, parts);
        sum.notes.insert(sum.notes.end(), made.notes.begin(), made.notes.end());
        for (tower_input input : made.towers) {
            placeholders(own, input);
            input.meets_text = !outer.text.empty();
            if (!outer.two_sided.empty() && has_two_sides()) {
                input.per_frame = 0;  // what the tower makes stands before the encoder, among its keys
            }
            sum.towers.push_back(input);
        }
    }
    /// Adds a model of texts as the other side of the text, which attends what it makes: its tokens are keys.
    void add_encoder(slot& model, model_config& sum, std::vector<model_part>& parts) {
        const model_config made = model.reader->read();
        for (model_part part : made.parts) {
            part.cost = part.cost.on_encoder();
            if (part.role == part_role::layer) {
                part.name = "encoder";
                part.role = part_role::encoder;
            }
            add(part, sum, parts);
        }
        add({.name = "encoder", .role = part_role::encoder, .cost = block_cost(scope_, "encoder_projector")}, sum,
            parts);
        sum.notes.insert(sum.notes.end(), made.notes.begin(), made.notes.end());
    }
    [[nodiscard]] bool has_two_sides() const {
        for (const owner<slot>& model : slots_) {
            if (model->model->name == "text" && !model->reader->encoder_page().empty()) {
                return true;
            }
        }
        return false;
    }
    /// The cost that each image adds to the text's own layers: a block once for each layer, in which `text.sees` is
    /// that layer's mask.
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
    /// Sets the units of a tower's output that tokens of the text stand for, where the page names them.
    void placeholders(const std::string& own, tower_input& input) {
        if (scope_.has(own + "_units")) {
            input.units = scope_.mask_named(own + "_units");
            input.per_unit = 1;
        }
        input.per_unit = scope_.number_or(own + "_per_unit", input.per_unit);
        input.per_frame = scope_.number_or(own + "_per_frame", input.per_frame);
        input.per_token = scope_.number_or(own + "_per_token", input.per_token);
    }
    /// The cost of the parts of a class, in place of a projector.
    [[nodiscard]] cost block_lines(const scope::found_block& found) {
        block parts{.name = found.entry->name, .is_class = found.entry->is_class, .line = found.entry->line};
        for (const part_line& line : found.entry->lines) {
            if (line.part != "text" && line.part != "note") {
                parts.lines.push_back(line);
            }
        }
        block_reader reader(scope_, {found.where, &parts}, mla_core::expanded);
        const std::size_t made = reader.read();
        return made == block_reader::nothing ? cost{} : reader.made(made);
    }

    /// Adds a part to the model; a cost without rows is no part.
    static void add(const model_part& part, model_config& sum, std::vector<model_part>& parts) {
        if (!part.cost.rows().empty()) {
            sum.cost += part.repeat * part.cost;
            parts.push_back(part);
        }
    }
    /// A part of a tower on its own, made from one on the way to the text.
    [[nodiscard]] static model_part in_tower(model_part part, const cost& what) {
        part.cost = what;
        part.name = name_of(part.in());
        part.role = part_role::tower;
        return part;
    }
    /// A cost whose rows have one name; a row that multiplies no matrix keeps its own name after the tower's:
    /// "vision.norm".
    [[nodiscard]] static cost named(const cost& part, const std::string& prefix, std::string_view name) {
        return part.renamed([&](const component_name& own) {
            return component_name(prefix, own.is_elementwise() ? own.view() : name);
        });
    }

    library& pages_;
    scope scope_;
    read_options options_;
    config_tree empty_;
    vector<owner<slot>> slots_;
};

}  // namespace floptally::detail::pages
