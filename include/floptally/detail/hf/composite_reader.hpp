// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/class_names.hpp>
#include <floptally/detail/hf/composite.hpp>
#include <floptally/detail/hf/families.hpp>
#include <floptally/detail/hf/reader.hpp>
#include <floptally/model/component_name.hpp>
#include <floptally/model/model_part.hpp>
#include <floptally/model_config.hpp>

namespace floptally::detail {

/// Reads the config.json of a model with towers: its text as a model of its own, then each tower and its projector.
class hf_composite_reader {
  public:
    hf_composite_reader(const config_fields& config, const hf_composite& family, const read_options& options)
        : config_(config), family_(family), options_(options) {}

    [[nodiscard]] model_config read() {
        model_config sum;
        const hf_outer_class& outer =
            find_class<hf_outer_class>(config_, family_.model_type, family_.class_prefix, family_.heads, sum.notes);
        if (!family_.refuses.empty() && config_.has_value(family_.refuses)) {
            throw error(config_.field(family_.refuses), std::string("is not supported for model_type ")
                                                            .append(family_.model_type)
                                                            .append("; must be null or absent"));
        }
        const bool flat = family_.flat_text && !config_.has_value(family_.text_key);
        json text_config = inner(family_.text_key, family_.text_otherwise);
        if (family_.text_fills && text_config.is_object()) {
            json filled = json::parse(family_.text_otherwise);
            filled.update(text_config);
            text_config = std::move(filled);
        }
        if (text_config.is_object()) {
            text_config.erase(std::string(family_.overrides));
        }
        const config_fields text_fields = flat ? config_ : config_fields(text_config, config_.field(family_.text_key));
        const hf_family& text_family =
            family_.text_family != nullptr ? *family_.text_family : text_family_in(text_fields);
        const bool two_sides = text_family.encoder_side != nullptr && !outer.text_to_text.empty();
        const hf_inner text{.suffix = two_sides ? outer.text_to_text : outer.text_suffix,
                            .tied = is_tied(text_fields, text_family, flat),
                            .pooled = outer.pooled};
        model_config language;
        hf_reader text_reader(text_fields, text_family, options_, &text);
        if (!outer.text_suffix.empty()) {
            language = text_reader.read();
        }
        const hf_model& text_sizes = text_reader.sized();

        std::vector<model_part> towers;
        for (const hf_slot& slot : family_.towers) {
            if (!slot.key.empty() && (!slot.optional || config_.has_value(slot.key))) {
                add_tower(slot, outer, text_sizes, sum, towers);
            }
        }
        if (!family_.note.empty()) {
            sum.notes.emplace_back(family_.note);
        }
        sum.model_type = family_.model_type;
        sum.cost += language.cost;
        sum.notes.insert(sum.notes.end(), language.notes.begin(), language.notes.end());
        sum.parts = std::move(language.parts);  // a gradient comes from what is embedded, and from the towers
        const auto embedded = std::stable_partition(sum.parts.begin(), sum.parts.end(),
                                                    [](const model_part& one) { return one.role == part_role::input; });
        sum.parts.insert(embedded, towers.begin(), towers.end());
        if (family_.text_after != nullptr && !outer.text_suffix.empty()) {
            add_stage({.name = "pooled", .role = part_role::head, .cost = family_.text_after(config_, text_sizes)}, sum,
                      sum.parts);
        }
        if (!outer.uncounted.empty()) {
            sum.notes.emplace_back(outer.uncounted);
        }
        return sum;
    }

  private:
    /// A config inside the config; where there is none, what its class then takes.
    [[nodiscard]] json inner(std::string_view key, std::string_view otherwise) const {
        if (config_.has_value(key)) {
            return *config_.find(key);
        }
        return otherwise.empty() ? json::object() : json::parse(otherwise);
    }

    [[nodiscard]] static const hf_family& family_in(const config_fields& fields, std::string_view otherwise) {
        const std::string type = fields.text("model_type", std::string(otherwise));
        if (const hf_family* known = find_family(type)) {
            return *known;
        }
        throw error(fields.field("model_type"),
                    std::string("unknown type \"").append(type).append("\"; known: ").append(known_families()));
    }

    [[nodiscard]] const hf_family& text_family_in(const config_fields& fields) const {
        const bool older = !family_.older_text_type.empty() && fields.text("model_type", "") == family_.older_text_type;
        return older ? *find_family(family_.text_type) : family_in(fields, family_.text_type);
    }

    /// A flat config has one flag, which is the outer one.
    [[nodiscard]] bool is_tied(const config_fields& text, const hf_family& family, bool flat) const {
        if (family_.tie == tie_flag::never) {
            return false;
        }
        const bool outer =
            config_.flag(config_.spelling({family_.tie_key, "tie_word_embeddings"}), family_.tie_word_embeddings);
        const bool inside =
            flat ? family.tie_word_embeddings : text.flag("tie_word_embeddings", family.tie_word_embeddings);
        return family_.tie == tie_flag::outer ? outer : family_.tie == tie_flag::text ? inside : outer || inside;
    }

    void add_tower(const hf_slot& slot, const hf_outer_class& outer, const hf_model& text, model_config& sum,
                   std::vector<model_part>& stages) const {
        const json own = inner(slot.key, slot.otherwise);
        const config_fields fields(own, config_.field(slot.key));
        const hf_family& family = slot.family != nullptr ? *slot.family : family_in(fields, slot.model_type);
        hf_inner part{.suffix = slot.suffix, .pooled = outer.pooled};
        hf_reader reader(fields, family, {}, &part);
        const hf_model& sizes = reader.sized();
        const hf_joined both{config_, text, sizes};
        if (slot.layers_used != nullptr) {
            part.layers_used = slot.layers_used(both);
        }
        const model_config made = reader.read();
        const std::string prefix = std::string(name_of(family.stands_in)) + ".";
        for (const model_part& one : made.parts) {
            const bool pixels = family.stands_in == modality::vision;
            const char* name = one.name == "stem"     ? (pixels ? "patch_embedding" : "stem")
                               : one.name == "merger" ? "merger"
                                                      : "blocks";
            add_stage(in_tower(one, named(one.cost, prefix, name)), sum, stages);
        }
        const hf_projector projector = outer.after != nullptr ? outer.after : slot.projector;
        if (projector != nullptr) {
            add_stage(in_tower({}, named(projector(both).in(family.stands_in), prefix, "projector")), sum, stages);
        }
        if (slot.in_text != nullptr) {
            add_stage({.name = "image_attention",
                       .role = part_role::anywhere,
                       .cost = slot.in_text(both).in(family.stands_in)},
                      sum, stages);
        }
        sum.notes.insert(sum.notes.end(), made.notes.begin(), made.notes.end());
        for (const tower_input& input : made.towers) {
            sum.towers.push_back(slot.placeholders == nullptr ? input : slot.placeholders(both, input));
        }
    }

    /// A cost without rows is no stage.
    static void add_stage(const model_part& one, model_config& sum, std::vector<model_part>& stages) {
        if (!one.cost.rows().empty()) {
            sum.cost += one.repeat * one.cost;
            stages.push_back(one);
        }
    }

    /// A stage of a tower on its own, as one on the way to the text.
    [[nodiscard]] static model_part in_tower(model_part one, const cost& what) {
        one.cost = what;
        one.name = name_of(one.in());
        one.role = part_role::tower;
        return one;
    }

    /// The same under one name; what multiplies no matrix keeps its own behind the tower's: "vision.norm".
    [[nodiscard]] static cost named(const cost& part, const std::string& prefix, std::string_view name) {
        return part.renamed([&](const component_name& own) {
            return component_name(prefix, own.is_elementwise() ? own.view() : name);
        });
    }

    const config_fields& config_;
    const hf_composite& family_;
    const read_options& options_;
};

}  // namespace floptally::detail
