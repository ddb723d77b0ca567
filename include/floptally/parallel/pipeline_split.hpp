// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <floptally/descriptors/model_part.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/index_range.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// A split of a model's layers over the ranks of a pipeline.

namespace floptally::inline v0_3 {

/// Divides `total` items evenly, in their order, over `size` ranks and returns the range of rank `rank`. Throws an
/// error with field `field` if `total` is not a multiple of `size`.
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

/// How a pipeline distributes layers if its options do not give the layers of each stage.
enum class layer_split : std::uint8_t {
    /// Each chunk has equally many layers. If that is impossible, the embedding, the loss or both count as layers, as
    /// in Megatron. If that is impossible too, torchtitan's split is used.
    automatic,
    even,       ///< equally many layers in each chunk; an error if the number of layers is not divisible
    torchtitan  ///< embedding and loss count as a layer each, and the first chunks have one layer more than the others
};
/// Names of the values of `layer_split`, in the same order.
inline constexpr const char* layer_split_names[] = {"automatic", "even", "torchtitan"};

/// Options of a split of layers, with Megatron-Core's names and meanings.
struct pipeline_options {
    /// Number of layers of the first stage; 0: as many as the other stages have.
    std::uint64_t num_layers_in_first_pipeline_stage = 0;
    std::uint64_t num_layers_in_last_pipeline_stage = 0;  ///< number of layers of the last stage; 0: as many as the
                                                          ///< other stages have
    /// True: the embedding counts as one layer in the split. The next option does the same for the lm_head.
    bool account_for_embedding_in_pipeline_split = false;
    bool account_for_loss_in_pipeline_split = false;
    /// Megatron-Core's layout text, which places every layer: "Et*3|(tt|)*29,m|L". E is the embedding, t a layer, m a
    /// layer of multi-token prediction, L the loss, and | the end of a chunk. If the text is empty, other options
    /// decide.
    std::string pipeline_model_parallel_layout{};
    layer_split layers = layer_split::automatic;
};

/// The pipeline rank that runs each tower as a whole. By default this is the first rank, as in Megatron-Core.
struct tower_ranks {
    std::uint64_t vision = 0;
    std::uint64_t audio = 0;

    [[nodiscard]] constexpr std::uint64_t of(modality which) const { return which == modality::audio ? audio : vision; }
};

/// A split of a model's layers over the ranks of a pipeline.
///
/// The layers are cut into pp·vpp chunks, in forward order. Chunk c runs on rank c mod pp. With vpp above 1 a rank
/// therefore has several chunks that are not adjacent. A chunk may have no layer.
class pipeline_split {
  public:
    /// Makes a split into chunks with these numbers of layers, in forward order. Pass one number for each rank, or with
    /// virtual stages one for each of pp·vpp chunks.
    pipeline_split(std::uint64_t pp, std::span<const std::uint64_t> layers_of_chunks) : pp_(pp) {
        require_positive(pp, "pp");
        if (layers_of_chunks.empty() || layers_of_chunks.size() % pp != 0) {
            detail::refuse("layers_of_chunks",
                           {"must have pp (", pp, ") numbers, or a multiple of pp, got ", layers_of_chunks.size()});
        }
        std::uint64_t first = 0;
        for (const std::uint64_t count : layers_of_chunks) {
            const std::uint64_t last = checked(first, "layers_of_chunks") + count;
            chunks_.push_back({first, last});
            first = last;
        }
    }

    /// Returns the split that the options describe. The layout text decides if it is set. Otherwise Megatron's other
    /// options decide if one of them is set, and `options.layers` if none is set. `described()` says which of these was
    /// used.
    [[nodiscard]] static pipeline_split of(std::uint64_t num_layers, std::uint64_t pp, std::uint64_t vpp,
                                           const pipeline_options& options = {}) {
        require_positive(pp, "pp");
        require_positive(vpp, "vpp");
        if (!options.pipeline_model_parallel_layout.empty()) {
            return from_text(options.pipeline_model_parallel_layout, num_layers, pp, vpp, options);
        }
        const bool says_sizes =
            options.num_layers_in_first_pipeline_stage != 0 || options.num_layers_in_last_pipeline_stage != 0 ||
            options.account_for_embedding_in_pipeline_split || options.account_for_loss_in_pipeline_split;
        if (says_sizes || options.layers == layer_split::even) {
            return even(num_layers, pp, vpp, options);
        }
        if (options.layers == layer_split::torchtitan) {
            return by_torchtitan(num_layers, pp, vpp);
        }
        const std::uint64_t chunks = std::uint64_t{checked(pp, "pp") * vpp};
        if (num_layers % chunks == 0) {
            return even(num_layers, pp, vpp, options);
        }
        for (const auto& [embedding, loss, which] : {std::tuple(true, true, "embedding and loss count as a layer each"),
                                                     std::tuple(false, true, "the loss counts as a layer"),
                                                     std::tuple(true, false, "the embedding counts as a layer")}) {
            const std::uint64_t counted = num_layers + (embedding ? 1 : 0) + (loss ? 1 : 0);
            if (counted % chunks == 0 && counted / chunks > (embedding && loss && chunks == 1 ? 1U : 0U)) {
                pipeline_options accounted = options;
                accounted.account_for_embedding_in_pipeline_split = embedding;
                accounted.account_for_loss_in_pipeline_split = loss;
                pipeline_split split = even(num_layers, pp, vpp, accounted);
                split.rule_ = detail::text_of({"Megatron's split where ", which});
                return split;
            }
        }
        return by_torchtitan(num_layers, pp, vpp);
    }

    /// Returns the number of chunks in Megatron-Core's layout text.
    [[nodiscard]] static std::uint64_t chunks_in(std::string_view text) {
        std::size_t at = 0;
        const std::string symbols = expanded(text, at, false);
        std::uint64_t chunks = 1;
        for (const char symbol : symbols) {
            chunks += symbol == '|' ? 1 : 0;
        }
        return chunks;
    }

    /// Returns torchtitan's split (`generate_llm_fqn_per_model_part` with weights of 1).
    [[nodiscard]] static pipeline_split by_torchtitan(std::uint64_t num_layers, std::uint64_t pp, std::uint64_t vpp) {
        const std::uint64_t chunks = std::uint64_t{checked(pp, "pp") * vpp};
        const std::uint64_t counted = chunks == 1 ? num_layers : std::uint64_t{checked(num_layers, "layers") + 2};
        if (counted < chunks) {
            detail::refuse(
                "layers", {num_layers, " layers plus the embedding and the loss are fewer than the pp x vpp = ", chunks,
                           " chunks: pass a smaller pp or vpp"});
        }
        std::vector<std::uint64_t> layers;
        for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
            layers.push_back(counted / chunks + (chunk < counted % chunks ? 1 : 0));
        }
        if (chunks > 1) {
            layers.front() -= 1;
            layers.back() -= 1;
        }
        pipeline_split split(pp, layers);
        split.rule_ = "torchtitan's split";
        return split;
    }

    /// Returns a split into chunks of equally many layers, unless the options say otherwise.
    [[nodiscard]] static pipeline_split even(std::uint64_t num_layers, std::uint64_t pp, std::uint64_t vpp = 1,
                                             const pipeline_options& options = {}) {
        require_positive(pp, "pp");
        require_positive(vpp, "vpp");
        const std::vector<std::uint64_t> rank_layers = layers_of_ranks(num_layers, pp, options);
        std::vector<std::uint64_t> chunks;
        for (std::uint64_t v = 0; v < vpp; ++v) {
            for (const std::uint64_t layers : rank_layers) {
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
    /// Returns the chunk of each layer of multi-token prediction; empty: the last chunk has all of them.
    [[nodiscard]] std::span<const std::uint64_t> mtp_chunks() const { return mtp_chunks_; }
    /// Returns this split with a separate rank for every chunk.
    [[nodiscard]] pipeline_split by_chunk() const {
        pipeline_split split = *this;
        split.pp_ = chunks_.size();
        return split;
    }

    /// Returns a text with the rule of the split and the number of layers of each chunk: "torchtitan's split: 3 x 1, 4
    /// x 14, 2 x 1". Returns an empty text if all chunks have equally many layers.
    [[nodiscard]] std::string described() const {
        std::string sizes;
        bool all_equal = mtp_chunks_.empty();
        for (std::size_t first = 0; first < chunks_.size();) {
            std::size_t last = first + 1;
            while (last < chunks_.size() && chunks_[last].size() == chunks_[first].size()) {
                ++last;
            }
            all_equal = all_equal && last - first == chunks_.size();
            append_item(sizes, detail::text_of({chunks_[first].size(), " x ", last - first}));
            first = last;
        }
        return all_equal ? std::string() : detail::text_of({rule_, ": ", sizes});
    }
    [[nodiscard]] std::span<const index_range> chunks() const { return chunks_; }

    /// Returns the rank that runs a layer. Layers are counted from 0 in forward order.
    [[nodiscard]] std::uint64_t rank_of_layer(std::uint64_t layer) const { return chunk_of(layer) % pp_; }

    /// Returns the parts of a model for rank `rank`. Parts that other ranks run are marked `elsewhere`. A group of
    /// equal layers is cut where the rank's layers begin and end.
    ///
    /// Layers are numbered in the order of the parts, so those of an encoder come first. A part before the first layer
    /// belongs to the first chunk. A part after the last layer (final norm, lm_head, MTP) belongs to the last chunk,
    /// except layers of MTP that a layout text places. A part between two layers belongs to the chunk of the earlier
    /// layer. A tower is not cut: the rank in `towers` runs all of it.
    [[nodiscard]] std::vector<model_part> parts_of(std::span<const model_part> model, std::uint64_t rank,
                                                   const tower_ranks& towers = {}) const {
        if (rank >= pp_) {
            detail::refuse("pp_rank", {"must be below pp, ", pp_, ", got ", rank});
        }
        std::vector<model_part> parts_on_rank;
        std::uint64_t layer = 0;
        std::size_t depth = 0;
        for_each_run(model, [&](std::span<const model_part> parts) {
            const model_part& first = parts.front();
            const bool is_mtp = first.name.view() == "mtp";
            if (first.role == part_role::tower) {
                append(parts_on_rank, parts, rank_of_tower(first.in(), towers) == rank, {0, first.repeat});
            } else if (is_mtp && first.role != part_role::head && !mtp_chunks_.empty()) {
                if (depth >= mtp_chunks_.size()) {
                    refuse_mtp();
                }
                append(parts_on_rank, parts, mtp_chunks_[depth] % pp_ == rank, {0, first.repeat});
            } else if (first.first_layer == no_layer) {
                append(parts_on_rank, parts, chunk_after(layer) % pp_ == rank, {0, first.repeat});
            } else {
                append_layers(parts_on_rank, parts, layer, rank);
                layer = checked(layer, "parts") + first.repeat;
            }
            depth += is_mtp && first.role == part_role::head ? 1 : 0;
        });
        if (!mtp_chunks_.empty() && depth != mtp_chunks_.size()) {
            refuse_mtp();
        }
        if (layer != num_layers()) {
            detail::refuse("layers", {"must be ", num_layers(), ", as in the pipeline split, got a model with ", layer,
                                      " layers: make the split for this model"});
        }
        return parts_on_rank;
    }

  private:
    [[noreturn]] void refuse_mtp() const {
        detail::refuse(
            "pipeline_model_parallel_layout",
            {"places ", mtp_chunks_.size(),
             " layers of multi-token prediction (m), but the model has another number: read the model with mtp ",
             mtp_chunks_.size(), ", or change the number of m in the layout"});
    }

    /// Reads Megatron-Core's layout text. A symbol or a group in parentheses may be followed by `*` and a number.
    /// Commas are ignored.
    [[nodiscard]] static pipeline_split from_text(std::string_view text, std::uint64_t num_layers, std::uint64_t pp,
                                                  std::uint64_t vpp, const pipeline_options& options) {
        constexpr const char* field = "pipeline_model_parallel_layout";
        if (options.num_layers_in_first_pipeline_stage != 0 || options.num_layers_in_last_pipeline_stage != 0 ||
            options.account_for_embedding_in_pipeline_split || options.account_for_loss_in_pipeline_split) {
            throw error(field,
                        "already places every layer: leave out the options for the first stage, the last stage, the "
                        "embedding and the loss");
        }
        std::size_t at = 0;
        const std::string symbols = expanded(text, at, false);
        std::vector<std::uint64_t> layers(1, 0);
        std::vector<std::uint64_t> mtp;
        std::uint64_t embeddings = 0;
        std::uint64_t losses = 0;
        std::uint64_t all = 0;
        for (const char symbol : symbols) {
            switch (symbol) {
                case '|':
                    layers.push_back(0);
                    break;
                case 't':
                    ++layers.back();
                    ++all;
                    break;
                case 'm':
                    mtp.push_back(layers.size() - 1);
                    break;
                case 'E':
                    ++embeddings;
                    if (layers.size() != 1 || layers.back() != 0) {
                        throw error(field, "must begin with the embedding, E: it belongs to the first chunk");
                    }
                    break;
                default:
                    ++losses;
                    break;
            }
        }
        if (embeddings != 1 || losses != 1 || symbols.back() != 'L') {
            throw error(field, "must begin with the embedding, E, end with the loss, L, and have each of them once");
        }
        if (all != num_layers) {
            detail::refuse(field, {"must place the ", num_layers, " layers of the model (t), got ", all});
        }
        if (layers.size() % pp != 0 || layers.size() / pp != vpp) {
            detail::refuse(field,
                           {"has ", layers.size(), " chunks, but pp x vpp is ", pp, " x ", vpp,
                            layers.size() % pp == 0 ? ": pass vpp " : ": pass a pp that divides the chunks, not ",
                            layers.size() % pp == 0 ? layers.size() / pp : pp});
        }
        pipeline_split split(pp, layers);
        split.mtp_chunks_ = std::move(mtp);
        split.rule_ = "the split of the layout text";
        return split;
    }

    /// Returns the symbols of a layout text with all repetitions written out, such as "ttt" for "t*3".
    [[nodiscard]] static std::string expanded(std::string_view text, std::size_t& at, bool in_group) {
        constexpr const char* field = "pipeline_model_parallel_layout";
        constexpr std::size_t most = 100'000;
        std::string symbols;
        while (at < text.size()) {
            const char symbol = text[at++];
            std::string item;
            if (symbol == ')' && in_group) {
                return symbols;
            }
            if (symbol == '(') {
                item = expanded(text, at, true);
                if (text[at - 1] != ')') {
                    throw error(field, "has a ( without a ): add the )");
                }
            } else if (symbol == ',' || symbol == ' ') {
                continue;
            } else if (symbol == '|' || symbol == 't' || symbol == 'm' || symbol == 'E' || symbol == 'L') {
                item.push_back(symbol);
            } else {
                detail::refuse(field, {"must consist of the symbols E, t, m, L, |, parentheses and *number, got \"",
                                       std::string(1, symbol), "\" in \"", detail::shortened(std::string(text)), "\""});
            }
            std::uint64_t times = 1;
            if (at < text.size() && text[at] == '*') {
                times = 0;
                const std::size_t first = ++at;
                while (at < text.size() && text[at] >= '0' && text[at] <= '9' && times <= most) {
                    times = 10 * times + static_cast<std::uint64_t>(text[at++] - '0');
                }
                if (at == first) {
                    throw error(field, "must have a number after *, such as t*3");
                }
            }
            if (symbols.size() + times * item.size() > most) {
                detail::refuse(field, {"must have at most ", most, " symbols: lower a number after *"});
            }
            for (std::uint64_t i = 0; i < times; ++i) {
                symbols += item;
            }
        }
        return symbols;
    }

    /// Returns the number of layers of each rank, including the embedding and the loss if these count as layers.
    [[nodiscard]] static std::vector<std::uint64_t> layers_of_ranks(std::uint64_t num_layers, std::uint64_t pp,
                                                                    const pipeline_options& options) {
        const std::uint64_t first = options.num_layers_in_first_pipeline_stage;
        const std::uint64_t last = options.num_layers_in_last_pipeline_stage;
        const bool counts_ends =
            options.account_for_embedding_in_pipeline_split || options.account_for_loss_in_pipeline_split;
        if ((first != 0 || last != 0) && counts_ends) {
            throw error(
                "account_for_*_in_pipeline_split",
                "must be false where num_layers_in_first_pipeline_stage or num_layers_in_last_pipeline_stage is set");
        }
        if (first != 0 && last != 0 && pp == 1) {
            throw error(
                "num_layers_in_last_pipeline_stage",
                "must be 0 where pp is 1, because the only stage has num_layers_in_first_pipeline_stage layers");
        }
        const std::uint64_t named_layers = checked(first, "num_layers_in_first_pipeline_stage") + last;
        const std::uint64_t others = pp - (first != 0 ? 1 : 0) - (last != 0 ? 1 : 0);
        const std::uint64_t rest = checked(num_layers, "layers") +
                                   (options.account_for_embedding_in_pipeline_split ? 1 : 0) +
                                   (options.account_for_loss_in_pipeline_split ? 1 : 0);
        if (named_layers > rest || (others == 0 && named_layers != rest)) {
            detail::refuse("layers",
                           {"the first and the last pipeline stage take ", named_layers, " of ", rest, " layers",
                            others == 0 ? ": they must take all layers, because there is no other stage"
                                        : ": lower num_layers_in_first_pipeline_stage or "
                                          "num_layers_in_last_pipeline_stage"});
        }
        if (others != 0 && (rest - named_layers) % others != 0) {
            detail::refuse("layers", {"the ", rest - named_layers, " remaining layers must be a multiple of the ",
                                      others, " pipeline stages that share them"});
        }
        std::vector<std::uint64_t> layers(pp, others == 0 ? 0 : (rest - named_layers) / others);
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
        detail::refuse("layers", {"must be ", num_layers(),
                                  ", as in the pipeline split, but the model has more: make the split for this model"});
    }

    /// Returns the chunk of a part that is not a layer (norm, lm_head) and comes after `layers` layers.
    [[nodiscard]] std::size_t chunk_after(std::uint64_t layers) const {
        return layers == 0 ? 0 : layers == num_layers() ? chunks_.size() - 1 : chunk_of(layers - 1);
    }

    static void append(std::vector<model_part>& to, std::span<const model_part> parts, bool on_rank,
                       const index_range& run) {
        for (model_part part : parts) {
            part.first_layer = part.first_layer == no_layer ? no_layer : part.first_layer + run.first;
            part.repeat = run.size();
            part.elsewhere = part.elsewhere || !on_rank;
            to.push_back(part);
        }
    }

    /// Appends a group of equal layers that starts at `layer`. The group is cut where layers of this rank and of other
    /// ranks meet.
    void append_layers(std::vector<model_part>& to, std::span<const model_part> parts, std::uint64_t layer,
                       std::uint64_t rank) const {
        const std::uint64_t repeat = parts.front().repeat;
        for (std::uint64_t first = 0; first < repeat;) {
            const bool on_rank = rank_of_layer(layer + first) == rank;
            std::uint64_t end = first;
            while (end < repeat && (rank_of_layer(layer + end) == rank) == on_rank) {
                ++end;
            }
            append(to, parts, on_rank, {first, end});
            first = end;
        }
    }

    std::uint64_t pp_;
    std::vector<index_range> chunks_;
    std::vector<std::uint64_t> mtp_chunks_{};
    std::string rule_ = "layers of each chunk as passed";
};

}  // namespace floptally
