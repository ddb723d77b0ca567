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
#include <floptally/spec_language/config_tree.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/text/error.hpp>

/// @file
/// A pipeline of diffusers, described by its model_index.json. Each model of the pipeline has its own folder. Usually
/// one of them is trained.

namespace floptally::inline v0_3::detail::specs {

/// The models of a pipeline. In the sum of their costs, component names begin with the name of the model's folder:
/// "transformer.mlp".
class pipeline {
  public:
    struct part {
        std::string name;  ///< name of the model's folder
        std::string type;  ///< class of the model
    };

    explicit pipeline(const config_tree& index) {
        const config_node* const type = index.find(index.root(), "_class_name");
        type_ = type == nullptr ? std::string() : type->text;
        for (std::size_t k = 0; k < index.root().count; ++k) {
            const config_node& entry = index.child(index.root(), k);
            if (entry.type == config_node::kind::list && entry.count == 2 &&
                index.child(entry, 1).type == config_node::kind::text) {
                parts_.push_back({entry.key, index.child(entry, 1).text});
            }
        }
    }

    /// Returns true if the config describes a pipeline, false if it describes a single model.
    [[nodiscard]] bool is_one() const { return type_.ends_with("Pipeline") && !parts_.empty(); }
    [[nodiscard]] const std::string& type() const { return type_; }
    /// Returns the names of the pipeline's models as a list for errors.
    [[nodiscard]] std::string listed() const {
        std::string all;
        for (const part& known : parts_) {
            append_item(all, text_of({known.name, "/config.json (", known.type, ")"}));
        }
        return all;
    }

    /// Returns the sum of the models that `options` choose, or of the denoising model if `options` choose none.
    /// `read(name)` reads one model. The first chosen model trains; the others are frozen and run forward only.
    template <class Read>
    [[nodiscard]] model_config read(const read_options& options, Read read) const {
        const std::vector<std::string> chosen = options.parts.empty() ? denoiser() : options.parts;
        model_config sum;
        sum.model_type = type_;
        std::string grids;  // name of the model that reads grids of patches
        for (std::size_t k = chosen.size(); k-- > 0;) {
            require(chosen, k);
            model_config model = read_part(chosen[k], read);
            if (model.cost.masks().has(modality::vision)) {
                if (!grids.empty()) {
                    refuse("parts", {"\"", chosen[k], "\" and \"", grids,
                                     "\" take grids of different sizes, so that no batch fits both: count each alone"});
                }
                grids = chosen[k];
            }
            add(std::move(model), chosen[k] + ".", k != 0, sum);
        }
        note_others(chosen, sum.notes);
        return sum;
    }

  private:
    [[nodiscard]] bool has(std::string_view name) const {
        return std::any_of(parts_.begin(), parts_.end(), [name](const part& known) { return known.name == name; });
    }
    [[nodiscard]] std::vector<std::string> denoiser() const {
        for (const char* const name : {"transformer", "unet", "prior", "decoder"}) {
            if (has(name)) {
                return {name};
            }
        }
        refuse("parts",
               {"are missing; ", type_, " has no transformer, unet, prior or decoder: choose among ", listed()});
    }
    void require(const std::vector<std::string>& chosen, std::size_t k) const {
        if (!has(chosen[k])) {
            refuse("parts", {"\"", chosen[k], "\" is not a part of ", type_, "; choose among ", listed()});
        }
        if (std::find(chosen.begin(), chosen.end(), chosen[k]) != chosen.begin() + static_cast<std::ptrdiff_t>(k)) {
            refuse("parts", {"\"", chosen[k], "\" is named twice; remove one"});
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
        for (model_part& piece : part.parts) {
            piece.cost = in_pipeline(piece.cost);
            if (is_frozen) {
                piece.role = part_role::tower;
            }
            sum.parts.push_back(std::move(piece));
        }
        for (tower_input& input : part.towers) {
            // Another model of the pipeline reads the text, so no text token is a placeholder.
            input.per_unit = input.per_frame = input.per_token = 0;
            sum.towers.push_back(input);
        }
        for (const std::string& note : part.notes) {
            sum.notes.push_back(prefix.substr(0, prefix.size() - 1) + ": " + note);
        }
    }
    void note_others(const std::vector<std::string>& chosen, std::vector<std::string>& notes) const {
        std::string others;
        for (const part& known : parts_) {
            const bool is_model =
                known.type.find("Scheduler") == std::string::npos && known.type.find("Token") == std::string::npos &&
                known.type.find("Processor") == std::string::npos && known.type.find("Extractor") == std::string::npos;
            if (is_model && std::find(chosen.begin(), chosen.end(), known.name) == chosen.end()) {
                append_item(others, text_of({known.name, " (", known.type, ")"}));
            }
        }
        if (!others.empty()) {
            notes.push_back(text_of({"not counted of ", type_, ", since their results are cached: ", others}));
        }
    }

    std::string type_;
    std::vector<part> parts_;
};

}  // namespace floptally::detail::specs
