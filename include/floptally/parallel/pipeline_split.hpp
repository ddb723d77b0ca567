// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/descriptors/model_part.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/index_range.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// A split of a model's layers over the ranks of a pipeline.

namespace floptally {

/// The range of rank `rank` where `total` things are dealt evenly and in order to `size` ranks. An error of `field`
/// where that is not possible.
[[nodiscard]] inline index_range even_share(std::uint64_t total, std::uint64_t size, std::uint64_t rank,
                                            std::string_view field) {
    if (size == 0 || total % size != 0) {
        detail::refuse(field, {"must be a multiple of the ", size, " ranks that share it, got ", total});
    }
    if (rank >= size) {
        detail::refuse("rank", {"must be below ", size, ", got ", rank});
    }
    return {total / size * rank, total / size * (rank + 1)};
}

/// The options of an even split of layers, by Megatron-Core's names and with its meaning.
struct pipeline_options {
    std::uint64_t num_layers_in_first_pipeline_stage = 0;  ///< 0: as many as the others
    std::uint64_t num_layers_in_last_pipeline_stage = 0;   ///< likewise
    /// The embedding, or the lm_head, takes the place of one layer in the split.
    bool account_for_embedding_in_pipeline_split = false;
    bool account_for_loss_in_pipeline_split = false;
};

/// The pipeline rank that runs each whole tower: the first one, as in Megatron-Core, or another.
struct tower_ranks {
    std::uint64_t vision = 0;
    std::uint64_t audio = 0;

    [[nodiscard]] constexpr std::uint64_t of(modality which) const { return which == modality::audio ? audio : vision; }
};

/// A split of a model's layers over the ranks of a pipeline.
///
/// The layers, in forward order, are cut into pp·vpp chunks; chunk c runs on rank c mod pp, so that with vpp above 1 a
/// rank has several chunks that do not touch. A chunk may have no layer.
class pipeline_split {
  public:
    /// A split into chunks of these numbers of layers, in forward order: pp numbers, or a multiple of pp (vpp).
    pipeline_split(std::uint64_t pp, std::span<const std::uint64_t> layers_of_chunks) : pp_(pp) {
        require_positive(pp, "pp");
        if (layers_of_chunks.empty() || layers_of_chunks.size() % pp != 0) {
            detail::refuse("layers_of_chunks",
                           {"must be as many as pp (", pp, ") or a multiple, got ", layers_of_chunks.size()});
        }
        std::uint64_t first = 0;
        for (const std::uint64_t count : layers_of_chunks) {
            const std::uint64_t last = checked(first, "layers_of_chunks") + count;
            chunks_.push_back({first, last});
            first = last;
        }
    }

    /// A split into chunks of equally many layers, but for the options.
    [[nodiscard]] static pipeline_split even(std::uint64_t num_layers, std::uint64_t pp, std::uint64_t vpp = 1,
                                             const pipeline_options& options = {}) {
        require_positive(pp, "pp");
        require_positive(vpp, "vpp");
        const std::vector<std::uint64_t> of_ranks = layers_of_ranks(num_layers, pp, options);
        std::vector<std::uint64_t> chunks;
        for (std::uint64_t v = 0; v < vpp; ++v) {
            for (const std::uint64_t layers : of_ranks) {
                chunks.push_back(even_share(layers, vpp, v, "layers of a pipeline rank").size());
            }
        }
        chunks.front() -= options.account_for_embedding_in_pipeline_split ? 1 : 0;
        chunks.back() -= options.account_for_loss_in_pipeline_split ? 1 : 0;
        return {pp, chunks};
    }

    [[nodiscard]] std::uint64_t pp() const { return pp_; }
    [[nodiscard]] std::uint64_t vpp() const { return chunks_.size() / pp_; }
    [[nodiscard]] std::uint64_t num_layers() const { return chunks_.back().last; }
    [[nodiscard]] std::span<const index_range> chunks() const { return chunks_; }

    /// The rank that runs a layer, counted from 0 in forward order.
    [[nodiscard]] std::uint64_t rank_of_layer(std::uint64_t layer) const { return chunk_of(layer) % pp_; }

    /// The parts of a model as rank `rank` runs them, with those of other ranks marked `elsewhere`. A run of equal
    /// layers is cut where the rank's layers begin and end.
    ///
    /// Layers are counted as the parts list them, so that those of an encoder come first. A part before the first layer
    /// belongs to the first chunk, a part after the last layer (final norm, lm_head, MTP) to the last chunk, and a part
    /// between two layers to the chunk of the earlier one. A tower is not cut: the rank in `towers` runs it whole.
    [[nodiscard]] std::vector<model_part> parts_of(std::span<const model_part> model, std::uint64_t rank,
                                                   const tower_ranks& towers = {}) const {
        if (rank >= pp_) {
            detail::refuse("pp_rank", {"must be below pp, ", pp_, ", got ", rank});
        }
        std::vector<model_part> of_rank;
        std::uint64_t layer = 0;
        for_each_run(model, [&](std::span<const model_part> parts) {
            const model_part& first = parts.front();
            if (first.role == part_role::tower) {
                append(of_rank, parts, rank_of_tower(first.in(), towers) == rank, {0, first.repeat});
            } else if (first.first_layer == no_layer) {
                append(of_rank, parts, chunk_beside(layer) % pp_ == rank, {0, first.repeat});
            } else {
                append_layers(of_rank, parts, layer, rank);
                layer = checked(layer, "parts") + first.repeat;
            }
        });
        if (layer != num_layers()) {
            detail::refuse("layers", {"the pipeline is split for ", num_layers(), ", the model has ", layer});
        }
        return of_rank;
    }

  private:
    /// The number of layers of each rank, plus the places of the embedding and the loss where these count as layers.
    [[nodiscard]] static std::vector<std::uint64_t> layers_of_ranks(std::uint64_t num_layers, std::uint64_t pp,
                                                                    const pipeline_options& options) {
        const std::uint64_t first = options.num_layers_in_first_pipeline_stage;
        const std::uint64_t last = options.num_layers_in_last_pipeline_stage;
        const bool places =
            options.account_for_embedding_in_pipeline_split || options.account_for_loss_in_pipeline_split;
        if ((first != 0 || last != 0) && places) {
            throw error("account_for_*_in_pipeline_split",
                        "has no meaning where the first or the last stage has a "
                        "number of layers of its own");
        }
        if (first != 0 && last != 0 && pp == 1) {
            throw error("num_layers_in_last_pipeline_stage", "pp is 1: the first stage is the last");
        }
        const std::uint64_t given = checked(first, "num_layers_in_first_pipeline_stage") + last;
        const std::uint64_t others = pp - (first != 0 ? 1 : 0) - (last != 0 ? 1 : 0);
        const std::uint64_t rest = checked(num_layers, "layers") +
                                   (options.account_for_embedding_in_pipeline_split ? 1 : 0) +
                                   (options.account_for_loss_in_pipeline_split ? 1 : 0);
        if (given > rest || (others == 0 && given != rest)) {
            detail::refuse("layers", {"the first and the last pipeline stage name ", given, " of ", rest});
        }
        if (others != 0 && (rest - given) % others != 0) {
            detail::refuse("layers",
                           {rest - given, " must be a multiple of the ", others, " pipeline stages that share them"});
        }
        std::vector<std::uint64_t> layers(pp, others == 0 ? 0 : (rest - given) / others);
        layers.front() = first != 0 ? first : layers.front();
        layers.back() = last != 0 ? last : layers.back();
        return layers;
    }

    [[nodiscard]] std::uint64_t rank_of_tower(modality which, const tower_ranks& towers) const {
        const std::uint64_t rank = towers.of(which);
        if (rank >= pp_) {
            detail::refuse(detail::text_of({"towers.", name_of(which)}), {"must be below pp, ", pp_, ", got ", rank});
        }
        return rank;
    }

    [[nodiscard]] std::size_t chunk_of(std::uint64_t layer) const {
        for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
            if (layer < chunks_[chunk].last) {
                return chunk;
            }
        }
        detail::refuse("layers", {"the pipeline is split for ", num_layers(), ", the model has more"});
    }

    /// The chunk of a part that comes after `layers` layers and is none itself.
    [[nodiscard]] std::size_t chunk_beside(std::uint64_t layers) const {
        return layers == 0 ? 0 : layers == num_layers() ? chunks_.size() - 1 : chunk_of(layers - 1);
    }

    static void append(std::vector<model_part>& to, std::span<const model_part> parts, bool here,
                       const index_range& run) {
        for (model_part part : parts) {
            part.first_layer = part.first_layer == no_layer ? no_layer : part.first_layer + run.first;
            part.repeat = run.size();
            part.elsewhere = part.elsewhere || !here;
            to.push_back(part);
        }
    }

    /// Appends a run of equal layers that starts at `layer`, cut where it passes from this rank to others or back.
    void append_layers(std::vector<model_part>& to, std::span<const model_part> parts, std::uint64_t layer,
                       std::uint64_t rank) const {
        const std::uint64_t repeat = parts.front().repeat;
        for (std::uint64_t first = 0; first < repeat;) {
            const bool here = rank_of_layer(layer + first) == rank;
            std::uint64_t end = first;
            while (end < repeat && (rank_of_layer(layer + end) == rank) == here) {
                ++end;
            }
            append(to, parts, here, {first, end});
            first = end;
        }
    }

    std::uint64_t pp_;
    std::vector<index_range> chunks_;
};

}  // namespace floptally
