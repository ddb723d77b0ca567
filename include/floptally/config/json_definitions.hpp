// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <istream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <floptally/config/detail/config_fields.hpp>
#include <floptally/config/detail/floptally_format.hpp>
#include <floptally/config/detail/from_nlohmann.hpp>
#include <floptally/config/detail/pipeline.hpp>
#include <floptally/config/detail/read.hpp>
#include <floptally/config/json_form.hpp>
#include <floptally/config/json_text.hpp>
#include <floptally/descriptors/latent_attention.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Definitions of what <floptally/json.hpp> declares: inline there, or in the one unit that includes
/// <floptally/json_src.hpp>.

namespace floptally {

namespace detail {

[[nodiscard]] inline model_config read_tree(const pages::config_tree& tree, const read_options& options) {
    const config_fields config(tree, tree.root(), "");
    const pages::config_node* type = config.find("model_type");
    const std::string_view own = type == nullptr ? std::string_view() : std::string_view(type->text);
    if (own == "floptally" && !options.pages.empty()) {
        refuse("pages", {"read no config of model_type \"floptally\", which says itself what it multiplies"});
    }
    if (!options.parts.empty()) {
        refuse("parts", {"are those of a pipeline's folder, got the config of a model"});
    }
    model_config model;
    if (own == "floptally") {
        model = floptally_format(config, options).read();
    } else {
        pages::library known;
        for (const page_text& given : options.pages) {
            known.add(given.text, given.file);
        }
        model = pages::read_pages(tree, options, known);
    }
    if (options.mla == mla_core::absorbed && !mla::is_absorbed_in(model.cost)) {
        refuse("mla", {model.model_type, " has no latent attention to absorb"});
    }
    return model;
}

/// The JSON of a file of a config.
[[nodiscard]] inline nlohmann::json parsed_config(const std::filesystem::path& file) {
    std::ifstream text(file);
    if (!text) {
        refuse("config", {"cannot read \"", file.string(), "\""});
    }
    return read_json(text, "config");
}

}  // namespace detail

inline namespace FLOPTALLY_JSON_NAMESPACE {

FLOPTALLY_JSON_INLINE model_config read_config(const nlohmann::json& config, const read_options& options) {
    return detail::read_tree(detail::pages::tree_of(config), options);
}

FLOPTALLY_JSON_INLINE model_config read_config(std::istream& text, const read_options& options) {
    return read_config(read_json(text, "config"), options);
}

FLOPTALLY_JSON_INLINE model_config load_config(const std::filesystem::path& path, const read_options& options) {
    std::error_code unreadable;
    std::filesystem::path file = path;
    if (std::filesystem::is_directory(path, unreadable)) {
        const std::filesystem::path index = path / "model_index.json";
        file = path / "config.json";
        file = !std::filesystem::exists(file, unreadable) && std::filesystem::exists(index, unreadable) ? index : file;
    }
    const auto tree = detail::pages::tree_of(detail::parsed_config(file));
    const detail::pages::pipeline whole(tree);
    if (!whole.is_one()) {
        return detail::read_tree(tree, options);
    }
    read_options of_parts = options;
    of_parts.parts.clear();
    return whole.read(options, [&](const std::string& name) {
        return load_config(file.parent_path() / name / "config.json", of_parts);
    });
}

FLOPTALLY_JSON_INLINE std::vector<std::string_view> known_model_types() {
    std::vector<std::string_view> types;
    for (const std::string_view type : detail::pages::library().types()) {
        types.push_back(type);
    }
    types.push_back("floptally");
    return types;
}

FLOPTALLY_JSON_INLINE std::string page_file(std::string_view type) {
    return detail::pages::find_model_page(type).empty() ? std::string()
                                                        : detail::text_of({"include/floptally/models/", type, ".page"});
}

}  // namespace FLOPTALLY_JSON_NAMESPACE

}  // namespace floptally
