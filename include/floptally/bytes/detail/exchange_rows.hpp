// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <floptally/bytes/communication.hpp>
#include <floptally/bytes/detail/element_rows.hpp>
#include <floptally/count/plan_walk.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_row.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/integer/flops.hpp>

/// @file
/// The elements that a rank sends, as rows of a cost beside the products that need them: a plan runs an exchange as
/// often as its product.

namespace floptally::detail {

/// The runs of a product that an exchange goes with.
enum class exchange_moment : std::uint8_t {
    forward,           ///< each forward, a recomputed one too
    first_forward,     ///< each forward, of what is kept until the backward
    backward_data,     ///< the gradient of what the product reads
    backward_weights,  ///< that of its weight
    backward           ///< either
};

/// Exchanges of one kind.
struct exchange {
    parallel_axis over = parallel_axis::tp;
    collective how = collective::all_reduce;
    std::uint64_t ranks = 1;
    exchange_moment when = exchange_moment::forward;
    std::uint64_t bits = 16;
    std::uint64_t times = 1;      ///< how often each happens: once a microbatch
    bool is_bound = false;        ///< all that may leave the rank; of uniform choices (n - 1) / n of it
    bool is_of_adapters = false;  ///< elements of adapters are of one unit of their rank, else of any rank

    [[nodiscard]] friend bool operator==(const exchange&, const exchange&) = default;
};

/// The exchanges of one rank, in rows of the parts that it runs.
class exchange_rows {
  public:
    explicit exchange_rows(std::span<const model_part> parts) : rows_(parts) {}

    /// So many elements of a tensor, and of an adapter's beside it, exchanged by a part as often as `like` runs.
    void put(std::size_t part, const cost& whole, const cost_row& like, const exchange& kind, std::uint64_t amount,
             std::uint64_t of_adapter = 0) {
        const auto sent = [&kind](std::uint64_t all) {
            return kind.is_bound ? all : static_cast<std::uint64_t>(sent_elements(kind.how, kind.ranks, all));
        };
        if (kind.ranks != 1 && (amount != 0 || of_adapter != 0)) {
            rows_.put(part, whole, like, kind, sent(amount), sent(of_adapter));
        }
    }

    /// Counts the rows as the plan makes them.
    void count(const training_plan& plan, communication& into) const {
        rows_.for_each(
            plan, [&into](const exchange& kind, const component_name& name, std::uint64_t sent, const passes& run) {
                const bool data = run.backward_data != 0;
                const bool weights = run.backward_weights != 0;
                const auto add = [&](phase during, std::uint64_t runs) {
                    put_bytes(name, kind, during, uint128{sent} * runs * kind.times, into);
                };
                switch (kind.when) {
                    case exchange_moment::forward:
                        add(phase::forward, run.forward);
                        add(phase::recompute, run.recomputed_forward);
                        break;
                    case exchange_moment::first_forward:
                        add(phase::forward, run.forward);
                        break;
                    case exchange_moment::backward_data:
                        add(phase::backward_data, data ? 1 : 0);
                        break;
                    case exchange_moment::backward_weights:
                        add(phase::backward_weights, weights ? 1 : 0);
                        break;
                    case exchange_moment::backward:
                        add(phase::backward_data, data || weights ? 1 : 0);
                        break;
                }
            });
    }

  private:
    static void put_bytes(const component_name& name, const exchange& kind, phase during, uint128 sent,
                          communication& into) {
        if (sent == 0) {
            return;
        }
        const auto bytes_of = [&kind](uint128 count) {
            const uint128 bits = count * kind.bits;
            return bits / 8 + (bits % 8 != 0 ? 1 : 0);
        };
        communicated_bytes* row = nullptr;
        for (communicated_bytes& known : into.rows) {
            const bool same = known.component == name && known.over == kind.over && known.how == kind.how &&
                              known.during == during && known.ranks == kind.ranks;
            row = same ? &known : row;
        }
        if (row == nullptr) {
            into.rows.push_back(
                {.component = name, .over = kind.over, .how = kind.how, .during = during, .ranks = kind.ranks});
            row = &into.rows.back();
        }
        row->bytes += bytes_of(sent);
        if (kind.is_bound) {
            const uint128 leaving = sent * (kind.ranks - 1) / kind.ranks;
            row->uniform = row->uniform.value_or(0) + bytes_of(leaving);
        }
    }

    element_rows<exchange> rows_;
};

}  // namespace floptally::detail
