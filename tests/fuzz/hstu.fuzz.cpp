// SPDX-License-Identifier: Apache-2.0
//
// Any HSTU statistic over any samples: of small ones the pairs are those of the definition, key by key, of large ones
// the tally grows, or an error names a field and leaves it as it was.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/statistics/mask.hpp>

#include "../hstu_definition.hpp"
#include "fuzz_input.hpp"

namespace {

using namespace floptally;

hstu_mask statistic_of(reader& input) {
    const unsigned how = input.take<std::uint8_t>();
    const auto number = [&](unsigned bit) -> std::int64_t {
        return (how & bit) != 0 ? input.take<std::int32_t>() : input.take<std::uint8_t>() % 40;
    };
    return {.is_causal = (how & 1U) == 0,
            .contextual = (how & 2U) == 0,
            .max_attn_len = (how & 4U) == 0 ? number(16) : 0,
            .min_full_attn_seq_len = (how & 8U) != 0 ? number(32) : 0,
            .windowed_targets = (how & 64U) == 0,
            .targets_share_place = (how & 128U) != 0};
}

/// Parts of at most 31 rows, of which some are cached.
hstu_definition::parts small_parts(reader& input, std::uint32_t group) {
    hstu_definition::parts s{.context = input.take<std::uint8_t>() % 8,
                             .history = input.take<std::uint8_t>() % 12,
                             .targets = input.take<std::uint8_t>() % 12,
                             .group = group};
    return s;
}

template <class T>
void add_any(reader& input, tally& to, std::uint32_t group) {
    std::vector<T> lengths;
    std::vector<T> contextual;
    std::vector<T> targets;
    const unsigned how = input.take<std::uint8_t>();
    for (unsigned i = 0; i < how % 8U; ++i) {
        lengths.push_back(input.take<T>());
        contextual.push_back((how & 8U) != 0 ? input.take<T>() : static_cast<T>(input.take<std::uint8_t>()));
        targets.push_back((how & 16U) != 0 ? input.take<T>() : static_cast<T>(input.take<std::uint8_t>()));
    }
    if ((how & 32U) != 0) {
        contextual.clear();
    }
    if ((how & 64U) != 0) {
        targets.clear();
    }
    const tally before = to;
    try {
        to.add_hstu(lengths, contextual, targets, group);
        for (std::size_t i = 0; i < to.accumulators().size(); ++i) {
            require(to.accumulators()[i] >= before.accumulators()[i]);
        }
    } catch (const error& problem) {
        require(!problem.field().empty() && to == before);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    reader input(data, size);
    const hstu_mask which = statistic_of(input);
    mask_set set;
    try {
        set.find_or_add(mask::hstu(which), "masks");
    } catch (const error& problem) {
        require(!problem.field().empty());
        return 0;
    }
    tally batch{set};
    std::uint64_t pairs = 0;
    const std::uint32_t group = 1U + input.take<std::uint8_t>() % 4U;
    for (unsigned samples = input.take<std::uint8_t>() % 5U; samples != 0; --samples) {
        const hstu_definition::parts s = small_parts(input, group);
        batch.add_hstu(std::vector<std::int64_t>{s.length()}, std::vector<std::int64_t>{s.context},
                       std::vector<std::int64_t>{s.targets}, group);
        pairs += hstu_definition::pairs(which, s);
    }
    require(set.size() == 0 || batch.pairs(view::useful, set[0]) == pairs);
    while (!input.empty()) {
        const std::uint32_t any_group = input.take<std::uint8_t>() % 7U;
        if ((input.take<std::uint8_t>() & 1U) != 0) {
            add_any<std::int32_t>(input, batch, any_group);
        } else {
            add_any<std::uint64_t>(input, batch, any_group);
        }
    }
    return 0;
}
