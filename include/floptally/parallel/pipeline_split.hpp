// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/detail/checked.hpp>
#include <floptally/error.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/model/model_part.hpp>
#include <floptally/parallel/index_range.hpp>

namespace floptally {

/// The part of rank `rank` where `total` things are dealt evenly and in order to `size` ranks; where they cannot be, an
/// error that names `field`.
[[nodiscard]] inline index_range even_share(std::uint64_t total, std::uint64_t size, std::uint64_t rank,
                                            std::string_view field) {
    if (size == 0 || total % size != 0) {
        throw error(field, "must be a multiple of the " + std::to_string(size) + " ranks that share it, got " +
                               std::to_string(total));
    }
    if (rank >= size) {
        throw error("rank", "must be below " + std::to_string(size) + ", got " + std::to_string(rank));
    }
    return {total / size * rank, total / size * (rank + 1)};
}

/// What an even split of layers leaves open, by Megatron-Core's names and rules.
struct pipeline_options {
    std::uint64_t num_layers_in_first_pipeline_stage = 0;  ///< 0: as many as the others
    std::uint64_t num_layers_in_last_pipeline_stage = 0;   ///< likewise
    /// The embedding, or the lm_head, takes the place of one layer in the split.
    bool account_for_embedding_in_pipeline_split = false;
    bool account_for_loss_in_pipeline_split = false;
};

/// The pipeline rank that runs each tower, whole: the first one, as in Megatron-Core, or one of its own.
struct tower_ranks {
    std::uint64_t vision = 0;
    std::uint64_t audio = 0;

    [[nodiscard]] constexpr std::uint64_t of(modality which) const { return which == modality::audio ? audio : vision; }
};

/// Which layers a rank of a pipeline runs.
///
/// The layers, in forward order, are cut into pp·vpp chunks; chunk c runs on rank c mod pp, so that with vpp above 1 a
/// rank has several chunks that do not touch. A chunk may have no layer.
class pipeline_split {
  public:
    /// The number of layers of every chunk, in forward order: as many numbers as pp, or a multiple of it (vpp).
    pipeline_split(std::uint64_t pp, std::span<const std::uint64_t> layers_of_chunks) : pp_(pp) {
        require_positive(pp, "pp");
        if (layers_of_chunks.empty() || layers_of_chunks.size() % pp != 0) {
            throw error("layers_of_chunks", "must be as many as pp (" + std::to_string(pp) + ") or a multiple, got " +
                                                std::to_string(layers_of_chunks.size()));
        }
        std::uint64_t first = 0;
        for (const std::uint64_t count : layers_of_chunks) {
            const std::uint64_t last = checked_add(first, count, "layers_of_chunks");
            chunks_.push_back({first, last});
            first = last;
        }
    }

    /// As many layers for every chunk as for every other one, but for the options.
    [[nodiscard]] static pipeline_split even(std::uint64_t num_layers, std::uint64_t pp, std::uint64_t vpp = 1,
                                             const pipeline_options& options = {}) {
        require_positive(pp, "pp");
        require_positive(vpp, "vpp");
        std::vector<std::uint64_t> of_ranks = layers_of_ranks(num_layers, pp, options);
        std::vector<std::uint64_t> chunks;
        for (std::uint64_t v = 0; v < vpp; ++v) {
            for (const std::uint64_t layers : of_ranks) {
                chunks.push_back(even_share(layers, vpp, v, "layers of a pipeline rank").size());
            }
        }
        drop_place(chunks.front(), options.account_for_embedding_in_pipeline_split, "embedding");
        drop_place(chunks.back(), options.account_for_loss_in_pipeline_split, "loss");
        return {pp, chunks};
    }

    [[nodiscard]] std::uint64_t pp() const { return pp_; }
    [[nodiscard]] std::uint64_t vpp() const { return chunks_.size() / pp_; }
    [[nodiscard]] std::uint64_t num_layers() const { return chunks_.back().last; }
    [[nodiscard]] std::span<const index_range> chunks() const { return chunks_; }

    /// The rank that runs a layer, counted from 0 in forward order.
    [[nodiscard]] std::uint64_t rank_of_layer(std::uint64_t layer) const { return chunk_of(layer) % pp_; }

    /// The parts of a model as rank `rank` runs them: all of them, those of other ranks marked `elsewhere`. A run of
    /// equal layers is cut where the rank's layers begin and end.
    ///
    /// Layers are counted as the parts list them, so that those of an encoder come first. What stands before the first
    /// layer is the first chunk's, what stands after the last one is the last chunk's (final norm, lm_head, MTP); what
    /// stands between two layers goes with the one before it. The layers of a tower are none of these: it stands whole
    /// where `towers` says.
    [[nodiscard]] std::vector<model_part> parts_of(std::span<const model_part> model, std::uint64_t rank,
                                                   const tower_ranks& towers = {}) const {
        if (rank >= pp_) {
            throw error("pp_rank", "must be below pp, " + std::to_string(pp_) + ", got " + std::to_string(rank));
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
                layer = checked_add(layer, first.repeat, "parts");
            }
        });
        if (layer != num_layers()) {
            throw error("layers", "the pipeline is split for " + std::to_string(num_layers()) + ", the model has " +
                                      std::to_string(layer));
        }
        return of_rank;
    }

  private:
    /// With places for the embedding and the loss, where they have one.
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
        const std::uint64_t given = checked_add(first, last, "num_layers_in_first_pipeline_stage");
        const std::uint64_t others = pp - (first != 0 ? 1 : 0) - (last != 0 ? 1 : 0);
        std::uint64_t rest = checked_add(num_layers, options.account_for_embedding_in_pipeline_split ? 1 : 0, "layers");
        rest = checked_add(rest, options.account_for_loss_in_pipeline_split ? 1 : 0, "layers");
        if (given > rest || (others == 0 && given != rest)) {
            throw error("layers", "the first and the last pipeline stage name " + std::to_string(given) + " of " +
                                      std::to_string(rest));
        }
        if (others != 0 && (rest - given) % others != 0) {
            throw error("layers", std::to_string(rest - given) + " must be a multiple of the " +
                                      std::to_string(others) + " pipeline stages that share them");
        }
        std::vector<std::uint64_t> layers(pp, others == 0 ? 0 : (rest - given) / others);
        layers.front() = first != 0 ? first : layers.front();
        layers.back() = last != 0 ? last : layers.back();
        return layers;
    }

    static void drop_place(std::uint64_t& layers, bool counted, const char* what) {
        if (counted && layers == 0) {
            throw error("layers", std::string("no place for the ").append(what).append(" in a chunk without layers"));
        }
        layers -= counted ? 1 : 0;
    }

    [[nodiscard]] std::uint64_t rank_of_tower(modality which, const tower_ranks& towers) const {
        const std::uint64_t rank = towers.of(which);
        if (rank >= pp_) {
            throw error(std::string("towers.").append(name_of(which)),
                        "must be below pp, " + std::to_string(pp_) + ", got " + std::to_string(rank));
        }
        return rank;
    }

    [[nodiscard]] std::size_t chunk_of(std::uint64_t layer) const {
        for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
            if (layer < chunks_[chunk].last) {
                return chunk;
            }
        }
        throw error("layers", "the pipeline is split for " + std::to_string(num_layers()) + ", the model has more");
    }

    /// Of what stands after `layers` of them and outside the layers.
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

    /// A run of equal layers that starts at `layer`, cut where it passes from this rank to others or back.
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
