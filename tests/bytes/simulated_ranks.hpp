// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// Ranks that exchange tensors element by element over a ring, and count what each of them sends.

namespace simulated {

using tensor = std::vector<std::int64_t>;

/// The ranks of one group, and the elements that each sent.
class ranks {
  public:
    explicit ranks(std::size_t count) : sent(count, 0) {}

    std::vector<std::uint64_t> sent;

    [[nodiscard]] std::size_t size() const { return sent.size(); }

    /// A message: the same elements at the receiver, and so many more that the sender sent.
    tensor message(std::size_t from, const tensor& elements) {
        sent[from] += elements.size();
        return elements;
    }

    /// Each rank's sum over its chunk, chunk r at rank r; operands are padded with zeros to a multiple of the ranks.
    std::vector<tensor> reduce_scatter(std::vector<tensor> operands) {
        const std::size_t n = size();
        const std::size_t chunk = pad(operands);
        std::vector<std::vector<tensor>> chunks(n);
        for (std::size_t rank = 0; rank < n; ++rank) {
            for (std::size_t c = 0; c < n; ++c) {
                const auto first = operands[rank].begin() + static_cast<std::ptrdiff_t>(c * chunk);
                chunks[rank].emplace_back(first, first + static_cast<std::ptrdiff_t>(chunk));
            }
        }
        for (std::size_t step = 0; step + 1 < n; ++step) {
            std::vector<tensor> arriving(n);
            for (std::size_t rank = 0; rank < n; ++rank) {
                arriving[(rank + 1) % n] = message(rank, chunks[rank][(rank + 2 * n - 1 - step) % n]);
            }
            for (std::size_t rank = 0; rank < n; ++rank) {
                tensor& own = chunks[rank][(rank + 2 * n - 2 - step) % n];
                for (std::size_t i = 0; i < own.size(); ++i) {
                    own[i] += arriving[rank][i];
                }
            }
        }
        std::vector<tensor> result;
        for (std::size_t rank = 0; rank < n; ++rank) {
            result.push_back(chunks[rank][rank]);
        }
        return result;
    }

    /// The whole at each rank, of a part of each.
    std::vector<tensor> all_gather(const std::vector<tensor>& parts) {
        const std::size_t n = size();
        std::vector<std::vector<tensor>> known(n, std::vector<tensor>(n));
        for (std::size_t rank = 0; rank < n; ++rank) {
            known[rank][rank] = parts[rank];
        }
        for (std::size_t step = 0; step + 1 < n; ++step) {
            for (std::size_t rank = 0; rank < n; ++rank) {
                const std::size_t which = (rank + n - step) % n;
                known[(rank + 1) % n][which] = message(rank, known[rank][which]);
            }
        }
        std::vector<tensor> result(n);
        for (std::size_t rank = 0; rank < n; ++rank) {
            for (const tensor& part : known[rank]) {
                result[rank].insert(result[rank].end(), part.begin(), part.end());
            }
        }
        return result;
    }

    std::vector<tensor> all_reduce(const std::vector<tensor>& operands) {
        std::vector<tensor> sums = all_gather(reduce_scatter(operands));
        for (tensor& sum : sums) {
            sum.resize(operands.front().size());
        }
        return sums;
    }

    /// parts[r][s] goes from r to s; what each has then, by sender.
    std::vector<std::vector<tensor>> all_to_all(const std::vector<std::vector<tensor>>& parts) {
        std::vector<std::vector<tensor>> got(size(), std::vector<tensor>(size()));
        for (std::size_t from = 0; from < size(); ++from) {
            for (std::size_t to = 0; to < size(); ++to) {
                got[to][from] = from == to ? parts[from][to] : message(from, parts[from][to]);
            }
        }
        return got;
    }

  private:
    [[nodiscard]] std::size_t pad(std::vector<tensor>& operands) const {
        const std::size_t chunk = (operands.front().size() + size() - 1) / size();
        for (tensor& operand : operands) {
            operand.resize(chunk * size(), 0);
        }
        return chunk;
    }
};

}  // namespace simulated
