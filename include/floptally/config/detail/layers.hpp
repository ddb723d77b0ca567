// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/config/detail/arithmetic.hpp>
#include <floptally/config/detail/part_call.hpp>
#include <floptally/config/detail/part_table.hpp>
#include <floptally/config/detail/scope.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/descriptors/part_list.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/spec_language/spec.hpp>
#include <floptally/text/error.hpp>

namespace floptally::inline v0_3::detail::specs {

/// Reads one block of a spec for each layer. Layers for which the block gives equal parts share one part.
class block_reader {
  public:
    block_reader(scope& in, const scope::found_block& from, mla_core latent_core)
        : in_(in), from_(from), latent_core_(latent_core) {}

    static constexpr std::size_t nothing = ~std::size_t{0};

    struct variant {
        vector<value> key{};
        cost part{};
    };
    [[nodiscard]] const cost& part(std::size_t index) const { return variants_[index].part; }

    /// Returns the index of the part for layer `in.layer`, or `nothing` if the block has no line for this layer.
    [[nodiscard]] std::size_t read() {
        if (is_known_) {
            return last_;
        }
        const bool outer = in_.varies;
        in_.varies = false;
        vector<value> key;
        bool any = false;
        for (const part_line& line : from_.entry->lines) {
            any = evaluate(line, key) || any;
        }
        is_known_ = !in_.varies;
        in_.varies = in_.varies || outer;
        last_ = any ? find_or_make(key) : nothing;
        return last_;
    }

  private:
    /// Evaluates a line for the current layer. Appends to `key` all values that determine the line's cost. Returns
    /// false if the line's condition does not hold.
    bool evaluate(const part_line& line, vector<value>& key) {
        const bool is_there = line.condition == no_expression || holds(line);
        key.push_back(flag_value(is_there));
        if (!is_there) {
            return false;
        }
        for (const argument& word : line.arguments) {
            key.push_back(word.value != no_expression ? in_.evaluate(*from_.where, word.value) : flag_value(true));
        }
        key.push_back(in_.has("h") ? in_.named("h") : value{});
        key.push_back(in_.has("sees") ? in_.named("sees") : value{});
        return true;
    }
    [[nodiscard]] bool holds(const part_line& line) {
        const value item = in_.evaluate(*from_.where, line.condition);
        if (!item.is_whole() && !item.is_none()) {
            spec_error(from_.where->name, line.line, {"expected yes or no after \"if\", got ", in_.shown(item)});
        }
        return item.on();
    }

    [[nodiscard]] std::size_t find_or_make(const vector<value>& key) {
        for (std::size_t v = 0; v < variants_.size(); ++v) {
            bool equal = variants_[v].key.size() == key.size();
            for (std::size_t k = 0; equal && k < key.size(); ++k) {
                equal = same_value(variants_[v].key[k], key[k]);
            }
            if (equal) {
                return v;
            }
        }
        variants_.push_back({key, make(key)});
        return variants_.size() - 1;
    }

    [[nodiscard]] cost make(const vector<value>& key) {
        cost sum;
        value_names produced;
        std::size_t at = 0;
        for (const part_line& line : from_.entry->lines) {
            if (!key[at++].on()) {
                continue;
            }
            const value* const first = key.begin() + at;
            const vector<value> arguments(first, first + line.arguments.size());
            at += line.arguments.size() + 2;
            sum += cost_of_line({in_, *from_.where, line, arguments, produced, latent_core_});
        }
        return sum;
    }

    scope& in_;
    scope::found_block from_;
    mla_core latent_core_;
    vector<variant> variants_;
    std::size_t last_ = nothing;
    bool is_known_ = false;
};

/// Returns the cost of a block that runs once in a model, not in every layer.
[[nodiscard]] inline cost block_cost(scope& in, std::string_view name, mla_core latent_core = mla_core::expanded) {
    const scope::found_block found = in.find_block(name);
    if (found.entry == nullptr) {
        return {};
    }
    block_reader reader(in, found, latent_core);
    const std::size_t variant = reader.read();
    return variant == block_reader::nothing ? cost{} : reader.part(variant);
}

/// Reads the layers of a model: the norms, then the blocks in the order of execution, each as one part.
class layer_reader {
  public:
    layer_reader(scope& in, mla_core latent_core) : in_(in) {
        for (const char* name : {"before", "into_mixer", "mixer", "cross", "into_feed", "feed", "more"}) {
            if (const scope::found_block found = in.find_block(name); found.entry != nullptr) {
                feed_ = std::string_view(name) == "feed" ? blocks_.size() : feed_;
                blocks_.push_back({block_reader(in, found, latent_core), {}});
            }
        }
    }

    /// Reads all layers. The results of layer number `used` and of all layers after it do not reach the loss.
    void read(std::uint64_t used, cost& sum, part_list& parts) {
        const std::uint64_t layers = in_.number("layers");
        if (layers == 0 || layers > 10'000) {
            refuse(in_.config().field("num_hidden_layers"), {"must be an integer from 1 to 10000, got ", layers});
        }
        run now;
        std::uint64_t norms = 0;
        // The first use of each component in the forward decides the order of the components in `sum`.
        vector<first_use> forward;
        for (in_.layer = 0; layers > in_.layer; ++in_.layer) {
            run next{
                .first = in_.layer, .repeat = 1, .norms = in_.number_or("norms", 0), .detached = in_.layer >= used};
            for (entry& block : blocks_) {
                next.variants.push_back(block.reader.read());
                if (block.count(next.variants.back(), next.detached)) {
                    forward.push_back({&block, next.variants.back()});
                }
            }
            norms = checked(norms, "norm") + next.norms;
            if (now.repeat != 0 && now.norms == next.norms && now.detached == next.detached &&
                now.variants == next.variants) {
                ++now.repeat;
                continue;
            }
            put(now, parts);
            now = next;
        }
        in_.layer = layers - 1;
        put(now, parts);
        last_ = now;
        for (const first_use& use : forward) {
            const layer_counts& times = use.block->counts[use.variant];
            add_times(sum, times.used, use.block->reader.part(use.variant));
            if (times.detached != 0) {
                add_times(sum, times.detached, use.block->reader.part(use.variant).detached());
            }
        }
        sum.add_parameters("norm", term::norm, norms);
    }

    /// Returns the parts of the last layer, for multi-token prediction.
    [[nodiscard]] std::vector<cost> last_parts() const {
        std::vector<cost> all;
        for (std::size_t b = 0; b < blocks_.size(); ++b) {
            if (last_.variants[b] != block_reader::nothing) {
                all.push_back(blocks_[b].reader.part(last_.variants[b]));
            }
        }
        return all;
    }

    /// Returns the parts of one more layer after the last one. Its layer index `i` is the number of layers. Its kind
    /// may differ from the other layers.
    [[nodiscard]] std::vector<cost> parts_after_all() {
        std::vector<cost> all;
        in_.layer = in_.number("layers");
        for (entry& block : blocks_) {
            if (const std::size_t variant = block.reader.read(); variant != block_reader::nothing) {
                all.push_back(block.reader.part(variant));
            }
        }
        return all;
    }

  private:
    struct layer_counts {
        std::uint64_t used = 0;
        std::uint64_t detached = 0;
    };
    struct entry {
        block_reader reader;
        vector<layer_counts> counts;

        /// Adds one layer to the number of layers that use part number `variant`. Returns true if no earlier layer uses
        /// this part.
        bool count(std::size_t variant, bool detached) {
            if (variant == block_reader::nothing) {
                return false;
            }
            const bool is_first = variant >= counts.size();
            if (is_first) {
                counts.resize(variant + 1, {});
            }
            ++(detached ? counts[variant].detached : counts[variant].used);
            return is_first;
        }
    };
    struct first_use {
        const entry* block;
        std::size_t variant;
    };
    struct run {
        std::uint64_t first = 0;
        std::uint64_t repeat = 0;
        std::uint64_t norms = 0;
        bool detached = false;
        vector<std::size_t> variants{};
    };

    static void add_times(cost& sum, std::uint64_t times, const cost& part) {
        if (times != 0) {
            sum += times * part;
        }
    }
    void put(const run& layers, part_list& parts) const {
        if (layers.repeat == 0) {
            return;
        }
        std::vector<cost> all(1);
        all[0].add_parameters("norm", term::norm, layers.norms);
        std::size_t beside = part_list::no_part;
        for (std::size_t b = 0; b < blocks_.size(); ++b) {
            if (layers.variants[b] != block_reader::nothing) {
                beside = b == feed_ && in_.on("beside") ? all.size() : beside;
                const cost& part = blocks_[b].reader.part(layers.variants[b]);
                all.push_back(layers.detached ? part.detached() : part);
            }
        }
        parts.add_layers(layers.first, layers.repeat, std::move(all), beside);
    }

    scope& in_;
    vector<entry> blocks_;
    std::size_t feed_ = block_reader::nothing;
    run last_;
};

/// Returns the parts of one layer of multi-token prediction. If the spec has a block `mtp`, the parts are that block,
/// one more layer, and the block `after`. Otherwise they are the parts of the model's last layer.
[[nodiscard]] inline std::vector<cost> mtp_parts(scope& in, layer_reader& layers, mla_core latent_core) {
    if (in.find_block("mtp").entry == nullptr) {
        return layers.last_parts();
    }
    std::vector<cost> parts{block_cost(in, "mtp", latent_core)};
    for (cost& part : layers.parts_after_all()) {
        parts.push_back(std::move(part));
    }
    parts.push_back(block_cost(in, "after", latent_core));
    return parts;
}

}  // namespace floptally::detail::specs
