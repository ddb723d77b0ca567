// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

/// All pages of docs/ and of its folders, in their order.
inline std::vector<std::filesystem::path> docs_pages() {
    std::vector<std::filesystem::path> pages;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(FLOPTALLY_SOURCE_DIR "/docs")) {
        if (entry.path().extension() == ".md") {
            pages.push_back(entry.path());
        }
    }
    std::sort(pages.begin(), pages.end());
    return pages;
}

/// A new folder of that name with the files that the pages' readers have: configs of Mistral-7B, of Flux and of
/// Boltz-1, and a page of their own.
inline std::filesystem::path page_files(const std::string& name) {
    const std::filesystem::path source = FLOPTALLY_SOURCE_DIR;
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / name;
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder / "transformer");
    std::filesystem::copy_file(source / "examples/data/mistral-7b-v0.1.json", folder / "config.json");
    std::ofstream(folder / "transformer/config.json") << R"({"_class_name": "FluxTransformer2DModel",
        "in_channels": 64, "num_layers": 19, "num_single_layers": 38, "attention_head_dim": 128,
        "num_attention_heads": 24, "joint_attention_dim": 4096, "pooled_projection_dim": 768,
        "guidance_embeds": true, "patch_size": 1})";
    std::ofstream(folder / "boltz1.json") << R"({"model_type": "boltz1", "atom_s": 128, "atom_z": 16, "token_s": 384,
        "token_z": 128, "num_bins": 64, "embedder_args": {"atom_encoder_depth": 3, "atom_encoder_heads": 4},
        "msa_args": {"msa_s": 64, "msa_blocks": 4}, "pairformer_args": {"num_blocks": 48, "num_heads": 16}})";
    std::ofstream(folder / "my_model.spec") << "spec mistral : llama prefix Mistral\nwith sliding_window 4096\n"
                                               "sees = window(.sliding_window)\n";
    return folder;
}
