// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/config/detail/class_sizes.hpp>
#include <floptally/config/detail/classes.hpp>
#include <floptally/config/detail/composite_reader.hpp>
#include <floptally/config/detail/evaluation.hpp>
#include <floptally/config/detail/model_reader.hpp>
#include <floptally/config/detail/pipeline.hpp>
#include <floptally/config/detail/scope.hpp>
#include <floptally/config/detail/unread.hpp>
#include <floptally/descriptors/hstu.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/descriptors/parts_of.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/spec_language/config_tree.hpp>
#include <floptally/spec_language/fields.hpp>
#include <floptally/spec_language/spec.hpp>
#include <floptally/spec_language/spec_library.hpp>
#include <floptally/statistics/hstu_mask.hpp>
#include <floptally/text/error.hpp>

namespace floptally::inline v0_3::detail::specs {

/// Reads the config of a model of HSTU layers, by a spec based on `hstu`. The config of such a model has lists of MLPs
/// but no vocabulary and no class. Throws for a key that the spec does not declare.
class hstu_reader {
  public:
    hstu_reader(library& specs, const spec& read, const fields& config, const read_options& options)
        : specs_(specs), names_(read, config), options_(options) {}

    [[nodiscard]] static bool reads(const spec& read) { return root_of(read).name == "hstu"; }

    [[nodiscard]] model_config read() {
        refuse_undeclared(names_);
        if (options_.mtp_layers != 0) {
            refuse("mtp", {"must be 0: hstu has no multi-token prediction"});
        }
        if (options_.padded_vocab_size != 0) {
            refuse("padded_vocab_size", {"must be absent: hstu has no vocabulary"});
        }
        names_.check_keys();
        hstu model;
        model.hidden_size = names_.number("h");
        model.num_layers = names_.number("layers");
        model.layer.num_heads = names_.number("heads");
        model_config result;
        condition_checker(names_, result.notes).check(names_.model_spec());
        model.layer.attention_dim = names_.number("attention_dim");
        model.layer.linear_dim = names_.number("linear_dim");
        model.layer.output_blocks = names_.number("blocks");
        model.layer.residual = names_.on("gates");
        model.layer.elementwise = {.norm = names_.number("norms"), .bias = names_.number("biases")};
        model.masks = names_.mask_named("sees");
        read_mlps("preprocessing_mlps", hstu_rows::items, model.preprocessing);
        read_mlps("prediction_mlps", hstu_rows::targets, model.prediction);
        const config_node* name = names_.config().find("name");
        result.model_type = name != nullptr ? name->text : std::string(names_.model_spec().type());
        result.cost = model.cost();
        result.parts = parts_of(model);
        return result;
    }

  private:
    void read_mlps(std::string_view key, hstu_rows rows, std::array<hstu_mlp, hstu::max_mlps>& mlps) {
        const fields& config = names_.config();
        const config_node* const list = config.find(key);
        const std::size_t count = list == nullptr ? 0 : list->count;
        if (count > mlps.size()) {
            refuse(config.field(key), {"must have at most ", mlps.size(), " MLPs, got ", count});
        }
        for (std::size_t i = 0; i < count; ++i) {
            mlps[i] =
                read_mlp(fields(config.tree(), config.tree().child(*list, i), indexed(config.field(key), i)), rows);
        }
    }

    [[nodiscard]] hstu_mlp read_mlp(const fields& config, hstu_rows rows) {
        scope names(specs_.find("hstu.mlp", &names_.model_spec(), names_.model_spec().line), config);
        refuse_undeclared(names);
        names.check_keys();
        std::vector<std::string> notes;
        condition_checker(names, notes).check(names.model_spec());
        hstu_mlp mlp{.input_size = names.number("input_size"),
                     .rows = rows,
                     .stride = names.number("stride"),
                     .bias = names.on("biased")};
        for (const hstu_rows part :
             {hstu_rows::all, hstu_rows::context, hstu_rows::items, hstu_rows::history, hstu_rows::targets}) {
            mlp.rows = names.named("rows").text == detail::name_of(part) ? part : mlp.rows;
        }
        std::size_t layer = 0;
        for (const value& width : names.items_of(names.named("widths"))) {
            mlp.layer_sizes[layer++] = static_cast<std::uint64_t>(width.number);
        }
        return mlp;
    }

    library& specs_;
    scope names_;
    read_options options_;
};

/// Returns the name of the key that has the model type: `model_type` (transformers) or `_class_name` (diffusers).
[[nodiscard]] inline const char* type_key(const fields& config) {
    return config.find("model_type") == nullptr && config.find("_class_name") != nullptr ? "_class_name" : "model_type";
}

/// Throws if the config is the model_index.json of a diffusers pipeline. The caller must pass the pipeline's folder.
[[gnu::cold, gnu::noinline]] inline void refuse_pipeline(const fields& config) {
    const pipeline whole(config.tree());
    if (whole.is_one()) {
        refuse(config.field("_class_name"),
               {"\"", whole.type(), "\" is a pipeline; pass its folder, or one of its parts: ", whole.listed()});
    }
}

[[nodiscard]] inline model_config read_object(const fields& config, const read_options& options, library& specs);

/// Returns a hint for a config of unknown type that contains the config of a text model. The hint says whether the text
/// model's config can be read alone. Returns an empty text if the config contains no such inner config.
[[nodiscard, gnu::cold, gnu::noinline]] inline std::string text_config_hint(library& specs, const fields& config,
                                                                            std::string_view text) {
    const config_node* const inside = config.find(text);
    if (inside == nullptr || inside->type != config_node::kind::object) {
        return {};
    }
    const fields alone(config.tree(), *inside, config.field(text));
    const config_node* const type = alone.find("model_type");
    if (type == nullptr || type->type != config_node::kind::text || !specs.has(type->text)) {
        return {};
    }
    try {
        static_cast<void>(read_object(alone, {}, specs));
        return text_of({"; its ", text, " alone can be read: ", type->text});
    } catch (const error& problem) {
        return text_of(
            {"; its ", text, " cannot be read alone either, it is no plain ", type->text, " (", problem.field(), ")"});
    }
}

/// Throws for an unknown model type. Proposes the nearest known type, or a nested text config that can be read alone.
[[noreturn, gnu::cold, gnu::noinline]] inline void unknown_type(library& specs, const fields& config,
                                                                std::string_view type, const char* key) {
    std::string hint = specs.nearest_hint(type);
    for (const char* const text : {"text_config", "thinker_config.text_config"}) {
        const std::string of_text = text_config_hint(specs, config, text);
        hint = of_text.empty() ? hint : of_text;
    }
    refuse(
        config.field(key),
        {"unknown type \"", type, "\"", hint,
         "\n  `floptally models` lists the known types; for another model write a spec or use floptally's own format\n",
         "  (docs/specs.md), or count its module with floptally.from_torch"});
}

/// Adds a note if none of the user's specs was used. Without the note the user would not learn that they had no effect.
inline void note_unused(const vector<const spec*>& user_specs, const library& specs, const fields& config,
                        std::string_view type, bool is_strict, std::vector<std::string>& notes) {
    // A spec counts as used if it was read itself or as a base of another spec.
    const auto reads = [&](const spec* known) {
        return std::any_of(specs.loaded().begin(), specs.loaded().end(),
                           [known](const owner<spec>& used) { return used->is_used && used->stands_on(*known); });
    };
    if (user_specs.empty() || std::any_of(user_specs.begin(), user_specs.end(), reads)) {
        return;
    }
    const std::string what = text_of({"no given spec is of type \"", type, "\": the first is \"",
                                      user_specs.front()->name, "\"; name one after the type"});
    if (is_strict) {
        refuse(config.field("model_type"), {what});
    }
    notes.push_back(what);
}

/// Reads a model from a config by the spec of its model type. A user's spec replaces floptally's spec of the same name.
/// If the config has no type, the first of the user's specs reads it.
[[nodiscard]] inline model_config read_object(const fields& config, const read_options& options, library& specs) {
    const bool is_strict = options.strict.value_or(false);
    const vector<const spec*> user_specs = specs.user_specs();
    const char* const key = type_key(config);
    const config_node* named = config.find(key);
    if (named != nullptr ? named->type != config_node::kind::text : user_specs.empty()) {
        refuse(config.field(key), {named == nullptr ? "is missing; `floptally models` lists the known types"
                                                    : "must be a string, got " + config.shown(*named)});
    }
    const std::string_view type = named != nullptr ? std::string_view(named->text) : user_specs.front()->name;
    if (!specs.has(type)) {
        refuse_pipeline(config);
        unknown_type(specs, config, type, key);
    }
    const spec& read = specs.find(type);
    model_config model = hstu_reader::reads(read) ? hstu_reader(specs, read, config, options).read()
                         : inner_of(read).empty() ? model_reader(specs, read, config, options).read()
                                                  : composite_reader(specs, read, config, options).read();
    for (const tower_input& input : model.towers) {
        keep_units(input, model.cost);
    }
    note_unused(user_specs, specs, config, type, is_strict, model.notes);
    if (!hstu_reader::reads(read)) {  // `hstu_reader` checks the keys itself.
        key_check(specs, options.strict, model.notes).check(read, config);
    }
    for (const std::string& note : model.notes) {
        if (is_strict && (note.starts_with(class_sizes_note) || note.starts_with(names_note))) {
            refuse("config", {note});
        }
    }
    return model;
}

[[nodiscard]] inline model_config read_specs(const config_tree& tree, const read_options& options, library& specs) {
    return read_object(fields(tree, tree.root(), ""), options, specs);
}

}  // namespace floptally::detail::specs
