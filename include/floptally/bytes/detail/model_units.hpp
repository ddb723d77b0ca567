// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/parallel/pipeline_split.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Cuts a model into model units, whose memory, exchanges and work add up: one layer of each kind, and all other parts.

namespace floptally::inline v0_3::detail {

/// The model units (such as one layer) in one chunk of layers, and how often each unit occurs in the chunk.
struct chunk_units {
    /// For each model unit of the chunk's layers: the unit's index, and how often it occurs in the chunk.
    std::vector<std::pair<std::size_t, std::uint64_t>> layers{};
    std::uint64_t others = 0;  ///< the parts outside the layers, as a set with one bit for each part

    [[nodiscard]] std::uint64_t num_layers() const {
        std::uint64_t sum = 0;
        for (const auto& [unit, count] : layers) {
            sum += count;
        }
        return sum;
    }
    void add(const chunk_units& other) {
        for (const auto& [unit, count] : other.layers) {
            put(unit, count);
        }
        others |= other.others;
    }
    void put(std::size_t unit, std::uint64_t count) {
        for (auto& [known, number] : layers) {
            if (known == unit) {
                number += count;
                return;
            }
        }
        layers.emplace_back(unit, count);
    }
};

/// A model that is divided into units: its different layers, and its parts outside the layers. Equal layers are one
/// unit. If the plan treats layers differently, each layer is a unit of its own.
class model_units {
  public:
    model_units(std::span<const model_part> model, const training_plan& plan)
        : model_(model.begin(), model.end()), is_uniform_(!plan.needs_parts()) {
        std::uint64_t layer = 0;
        for_each_run(model_, [&](std::span<const model_part> parts) {
            run own{.first = static_cast<std::size_t>(parts.data() - model_.data()), .parts = parts.size()};
            own.repeat = parts.front().repeat;
            own.is_layer = parts.front().first_layer != no_layer && parts.front().role != part_role::tower;
            if (!own.is_layer) {
                own.unit = num_others_++;
                if (num_others_ > 64) {
                    throw error("model", "has more than 64 parts outside of its layers: join some of them");
                }
            } else if (is_uniform_) {
                own.unit = kind_of(parts);
            } else {
                own.unit = layer;
            }
            layer += own.is_layer ? own.repeat : 0;
            runs_.push_back(own);
        });
        num_layer_units_ = is_uniform_ ? kinds_.size() : layer;
    }

    /// Returns the model units (such as one layer) of each chunk of a pipeline.
    [[nodiscard]] std::vector<chunk_units> chunks_of(const pipeline_split& split) const {
        const pipeline_split by_chunk = split.by_chunk();
        std::vector<chunk_units> chunks;
        for (std::uint64_t chunk = 0; chunk < by_chunk.pp(); ++chunk) {
            const std::vector<model_part> parts = by_chunk.parts_of(model_, chunk);
            chunk_units own;
            std::size_t at = 0;
            for (const run& one : runs_) {
                for (std::uint64_t done = 0; done < one.repeat; at += one.parts) {
                    const model_part& part = parts[at];
                    if (!part.elsewhere && !one.is_layer) {
                        own.others |= std::uint64_t{1} << one.unit;
                    } else if (!part.elsewhere && is_uniform_) {
                        own.put(one.unit, part.repeat);
                    } else if (!part.elsewhere) {
                        for (std::uint64_t i = 0; i < part.repeat; ++i) {
                            own.put(one.unit + done + i, 1);
                        }
                    }
                    done += part.repeat;
                }
            }
            chunks.push_back(std::move(own));
        }
        return chunks;
    }

    /// Returns the index of the model unit that consists of the parts in `others`: a set of parts outside the layers,
    /// with one bit for each part.
    [[nodiscard]] std::size_t unit_of(std::uint64_t others) {
        const auto [found, is_new] = sets_.emplace(others, num_layer_units_ + sets_.size());
        return found->second;
    }

    /// Returns the model's parts. All parts except those of `unit` are marked `elsewhere`. If layers are alike, the
    /// list has only one layer of each kind.
    [[nodiscard]] std::vector<model_part> parts_of(std::size_t unit) const {
        std::uint64_t others = 0;
        for (const auto& [set, number] : sets_) {
            others = number == unit ? set : others;
        }
        std::vector<model_part> parts;
        std::vector<bool> seen(kinds_.size(), false);
        for (const run& one : runs_) {
            if (!one.is_layer) {
                append(parts, one, 0, one.repeat, (others >> one.unit & 1U) == 0);
            } else if (is_uniform_) {
                if (!seen[one.unit]) {
                    append(parts, one, 0, 1, one.unit != unit);
                    seen[one.unit] = true;
                }
            } else if (unit < one.unit || unit >= one.unit + one.repeat) {
                append(parts, one, 0, one.repeat, true);
            } else {
                const std::uint64_t before = unit - one.unit;
                append(parts, one, 0, before, true);
                append(parts, one, before, 1, false);
                append(parts, one, before + 1, one.repeat - before - 1, true);
            }
        }
        return parts;
    }

    [[nodiscard]] std::span<const model_part> model() const { return model_; }

  private:
    struct run {
        std::size_t first = 0;  ///< index of the first part of this group of equal layers
        std::size_t parts = 0;  ///< number of parts in one layer of the group
        std::uint64_t repeat = 1;
        bool is_layer = false;
        /// The index of the model unit of this group of layers. If each layer is a unit of its own, this is the unit of
        /// the group's first layer. For a part outside the layers, it is the part's bit in `chunk_units::others`.
        std::size_t unit = 0;
    };

    void append(std::vector<model_part>& parts, const run& one, std::uint64_t first, std::uint64_t count,
                bool elsewhere) const {
        for (std::size_t i = 0; i < one.parts && count != 0; ++i) {
            model_part part = model_[one.first + i];
            part.first_layer += part.first_layer == no_layer ? 0 : first;
            part.repeat = count;
            part.elsewhere = elsewhere;
            parts.push_back(std::move(part));
        }
    }

    /// Returns the index of a layer's kind. Two layers are of one kind if their parts have equal costs.
    [[nodiscard]] std::size_t kind_of(std::span<const model_part> parts) {
        for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
            const auto& known = kinds_[kind];
            const bool same =
                known.size() == parts.size() &&
                std::equal(known.begin(), known.end(), parts.begin(), [](const auto& a, const auto& b) {
                    return a.cost == b.cost && a.role == b.role && a.beside == b.beside && a.name == b.name;
                });
            if (same) {
                return kind;
            }
        }
        kinds_.emplace_back(parts.begin(), parts.end());
        return kinds_.size() - 1;
    }

    std::vector<model_part> model_;
    bool is_uniform_;
    std::vector<run> runs_{};
    std::vector<std::vector<model_part>> kinds_{};
    std::size_t num_others_ = 0;
    std::size_t num_layer_units_ = 0;
    std::map<std::uint64_t, std::size_t> sets_{};
};

}  // namespace floptally::detail
