// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <fstream>
#include <istream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
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
/// Defines the functions that <floptally/json.hpp> declares. They are inline, or they are compiled once in the source
/// file that includes <floptally/json_src.hpp>.

namespace floptally::inline v0_3 {

namespace detail {

[[nodiscard]] inline model_config read_tree(const specs::config_tree& tree, const read_options& options) {
    const config_fields config(tree, tree.root(), "");
    const specs::config_node* type = config.find("model_type");
    const std::string_view own = type == nullptr ? std::string_view() : std::string_view(type->text);
    if (own == "floptally" && !options.specs.empty()) {
        refuse("specs", {"must be absent for a config of model_type \"floptally\": the config itself lists its parts"});
    }
    if (!options.parts.empty()) {
        refuse("parts", {"must be left out: parts choose among the models of a pipeline's folder, but this is the "
                         "config of one model"});
    }
    model_config model;
    if (own == "floptally") {
        model = floptally_format(config, options).read();
    } else {
        specs::library library;
        for (const spec_text& text : options.specs) {
            library.add(text.text, text.file);
        }
        model = specs::read_specs(tree, options, library);
    }
    if (options.mla == mla_core::absorbed && !mla::is_absorbed_in(model.cost)) {
        refuse("mla", {"must be expanded: ", model.model_type, " has no latent attention to absorb"});
    }
    return model;
}

/// Returns true if the file exists and can be opened.
[[nodiscard]] inline bool can_open(const std::string& file) { return std::ifstream(file).is_open(); }

/// Returns the file of a config. If `path` is a folder, this is the folder's config.json or model_index.json. If `path`
/// is no folder, it is `path` itself.
[[nodiscard]] inline std::string config_file(const std::string& path) {
    if (path.empty() || !can_open(path + "/.")) {
        return path;
    }
    const bool ends = path.back() == '/';
    const std::string file = path + (ends ? "config.json" : "/config.json");
    const std::string index = path + (ends ? "model_index.json" : "/model_index.json");
    return !can_open(file) && can_open(index) ? index : file;
}

/// Returns the folder of a file with its last separator: "run/" for "run/config.json", "" for "config.json".
[[nodiscard]] inline std::string folder_of(const std::string& file) {
#ifdef _WIN32
    const std::size_t end = file.find_last_of("/\\");
#else
    const std::size_t end = file.rfind('/');
#endif
    return file.substr(0, end == std::string::npos ? 0 : end + 1);
}

/// Reads the JSON of a config file.
[[nodiscard]] inline nlohmann::json parsed_config(const std::string& file) {
    std::ifstream text(file);
    if (!text) {
        refuse("config", {"cannot read \"", file, "\": pass a readable file"});
    }
    return read_json(text, "config", json_numbers::infinite);
}

}  // namespace detail

inline namespace FLOPTALLY_JSON_NAMESPACE {

FLOPTALLY_JSON_INLINE model_config read_config(const nlohmann::json& config, const read_options& options) {
    return detail::read_tree(detail::specs::tree_of(config), options);
}

FLOPTALLY_JSON_INLINE model_config read_config(std::istream& text, const read_options& options) {
    return read_config(read_json(text, "config", json_numbers::infinite), options);
}

FLOPTALLY_JSON_INLINE model_config load_config(const std::string& path, const read_options& options) {
    const std::string file = detail::config_file(path);
    const auto tree = detail::specs::tree_of(detail::parsed_config(file));
    const detail::specs::pipeline whole(tree);
    if (!whole.is_one()) {
        return detail::read_tree(tree, options);
    }
    read_options of_parts = options;
    of_parts.parts.clear();
    return whole.read(options, [&](const std::string& name) {
        return load_config(detail::text_of({detail::folder_of(file), name, "/config.json"}), of_parts);
    });
}

FLOPTALLY_JSON_INLINE std::vector<std::string_view> known_model_types() {
    std::vector<std::string_view> types;
    for (const std::string_view type : detail::specs::library().types()) {
        types.push_back(type);
    }
    types.push_back("floptally");
    return types;
}

FLOPTALLY_JSON_INLINE std::string spec_file(std::string_view type) {
    return detail::specs::find_model_spec(type).empty() ? std::string()
                                                        : detail::text_of({"include/floptally/models/", type, ".spec"});
}

}  // namespace FLOPTALLY_JSON_NAMESPACE

}  // namespace floptally
