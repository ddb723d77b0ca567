// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/page_language/config_tree.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/text/error.hpp>

/// @file
/// A pipeline of diffusers by its model_index.json: models in folders of their own, of which one is trained.

namespace floptally::detail::pages {

/// The models of a pipeline that are read, and their sum: each part's components after its name, "transformer.mlp".
class pipeline {
  public:
    struct part {
        std::string name;  ///< of its folder
        std::string type;  ///< its class
    };

    explicit pipeline(const config_tree& index) {
        const config_node* const type = index.find(index.root(), "_class_name");
        type_ = type == nullptr ? std::string() : type->text;
        for (std::size_t k = 0; k < index.root().count; ++k) {
            const config_node& one = index.child(index.root(), k);
            if (one.type == config_node::kind::list && one.count == 2 &&
                index.child(one, 1).type == config_node::kind::text) {
                parts_.push_back({one.key, index.child(one, 1).text});
            }
        }
    }

    /// False for the config of a model.
    [[nodiscard]] bool is_one() const { return type_.ends_with("Pipeline") && !parts_.empty(); }
    [[nodiscard]] const std::string& type() const { return type_; }
    /// The parts as an error lists them.
    [[nodiscard]] std::string listed() const {
        std::string all;
        for (const part& one : parts_) {
            append_item(all, text_of({one.name, "/config.json (", one.type, ")"}));
        }
        return all;
    }

    /// The sum of the parts that `options` choose, each read by `read(name)`: the first trains, the others run before
    /// it, frozen and forward only. Without a choice it is what denoises.
    template <class Read>
    [[nodiscard]] model_config read(const read_options& options, Read read) const {
        const std::vector<std::string> chosen = options.parts.empty() ? denoiser() : options.parts;
        model_config sum;
        sum.model_type = type_;
        std::string grids;  // the part that reads them
        for (std::size_t k = chosen.size(); k-- > 0;) {
            require(chosen, k);
            model_config made = read_part(chosen[k], read);
            if (made.cost.masks().has(modality::vision)) {
                if (!grids.empty()) {
                    refuse("parts",
                           {"\"", chosen[k], "\" and \"", grids, "\" read grids of other sizes; count each by itself"});
                }
                grids = chosen[k];
            }
            add(std::move(made), chosen[k] + ".", k != 0, sum);
        }
        note_others(chosen, sum.notes);
        return sum;
    }

  private:
    [[nodiscard]] bool has(std::string_view name) const {
        return std::any_of(parts_.begin(), parts_.end(), [name](const part& one) { return one.name == name; });
    }
    [[nodiscard]] std::vector<std::string> denoiser() const {
        for (const char* const name : {"transformer", "unet", "prior", "decoder"}) {
            if (has(name)) {
                return {name};
            }
        }
        refuse("parts", {"are missing; ", type_, " has neither a transformer nor a unet: ", listed()});
    }
    void require(const std::vector<std::string>& chosen, std::size_t k) const {
        if (!has(chosen[k])) {
            refuse("parts", {"\"", chosen[k], "\" is no part of ", type_, ": ", listed()});
        }
        if (std::find(chosen.begin(), chosen.end(), chosen[k]) != chosen.begin() + static_cast<std::ptrdiff_t>(k)) {
            refuse("parts", {"\"", chosen[k], "\" is named twice"});
        }
    }
    template <class Read>
    [[nodiscard]] static model_config read_part(const std::string& name, Read& read) {
        try {
            return read(name);
        } catch (const error& problem) {
            throw error(text_of({name, "/config.json: ", problem.field()}), problem.problem());
        }
    }
    static void add(model_config part, const std::string& prefix, bool is_frozen, model_config& sum) {
        const auto in_pipeline = [&](const cost& own) {
            const cost renamed =
                own.renamed([&](const component_name& name) { return component_name(prefix, name.view()); });
            return is_frozen ? renamed.detached() : renamed;
        };
        sum.cost += in_pipeline(part.cost);
        for (model_part& one : part.parts) {
            one.cost = in_pipeline(one.cost);
            if (is_frozen) {
                one.role = part_role::tower;
            }
            sum.parts.push_back(std::move(one));
        }
        for (tower_input& input : part.towers) {
            input.per_unit = input.per_frame = input.per_token = 0;  // the text of another part has no token for it
            sum.towers.push_back(input);
        }
        for (const std::string& note : part.notes) {
            sum.notes.push_back(prefix.substr(0, prefix.size() - 1) + ": " + note);
        }
    }
    void note_others(const std::vector<std::string>& chosen, std::vector<std::string>& notes) const {
        std::string others;
        for (const part& one : parts_) {
            const bool is_model =
                one.type.find("Scheduler") == std::string::npos && one.type.find("Token") == std::string::npos &&
                one.type.find("Processor") == std::string::npos && one.type.find("Extractor") == std::string::npos;
            if (is_model && std::find(chosen.begin(), chosen.end(), one.name) == chosen.end()) {
                append_item(others, text_of({one.name, " (", one.type, ")"}));
            }
        }
        if (!others.empty()) {
            notes.push_back(text_of({"not counted of ", type_, ", as what it makes is cached: ", others}));
        }
    }

    std::string type_;
    std::vector<part> parts_;
};

}  // namespace floptally::detail::pages
