// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/integer/host_device.hpp>
#include <floptally/statistics/seen_keys.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/statistic_type.hpp>

/// @file
/// Masks that a user brings, which the library knows nothing of: on the host, in constants and in kernels.

/// A query sees itself and every `step`-th token before it, `taps` of them in all (arXiv:2004.05150, section 3.1).
struct dilated_window {
    std::int32_t taps;
    std::int32_t step;

    static constexpr std::string_view name = "dilated_window";
    static constexpr floptally::statistic_parameter parameters[] = {{"taps", 1}, {"step", 1}};

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const floptally::sequence& s) const {
        return rows(std::uint64_t{s.past} + s.length) - rows(s.past);
    }
    [[nodiscard]] constexpr floptally::pair_shape shape() const { return floptally::pair_shape::causal; }
    [[nodiscard]] constexpr bool counts_by_position() const { return true; }
    constexpr void add_keys(const floptally::sequence& /*s*/, std::uint64_t first, std::uint64_t end,
                            floptally::seen_keys& keys) const {
        for (std::int32_t tap = 0; tap < taps; ++tap) {
            const std::uint64_t back = static_cast<std::uint64_t>(tap) * static_cast<std::uint64_t>(step);
            keys.add(first > back ? first - back : 0, end > back ? end - back : 0);
        }
    }

    /// The pairs of the first n rows: rows j·step … see j + 1 taps each, up to all taps.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t rows(std::uint64_t n) const {
        const auto most = static_cast<std::uint64_t>(taps);
        const auto by = static_cast<std::uint64_t>(step);
        const std::uint64_t groups = n / by;
        const std::uint64_t growing = groups < most ? groups : most;
        const std::uint64_t next = groups < most ? groups + 1 : most;
        return by * (growing * (growing + 1) / 2 + most * (groups - growing)) + n % by * next;
    }
};

/// Causal: a query sees the last `window` keys, and the last `full` queries of a pass see all keys before them (the
/// "tri shape" of arXiv:2412.10319). Its shape is causal, but its count depends on where the pass ends.
struct full_last_queries {
    std::int32_t window;
    std::int32_t full;

    static constexpr std::string_view name = "full_last_queries";
    static constexpr floptally::statistic_parameter parameters[] = {{"window", 1}, {"full", 0}};

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const floptally::sequence& s) const {
        std::uint64_t pairs = 0;
        for (std::uint64_t i = 0; i < s.length; ++i) {
            const std::uint64_t before = s.past + i + 1;
            const bool sees_all = i + static_cast<std::uint64_t>(full) >= s.length;
            pairs +=
                sees_all || before < static_cast<std::uint64_t>(window) ? before : static_cast<std::uint64_t>(window);
        }
        return pairs;
    }
    [[nodiscard]] constexpr floptally::pair_shape shape() const { return floptally::pair_shape::causal; }
};

/// Causal over blocks: a query sees its own block, the `local` blocks before it, and the first `global` ones
/// (arXiv:1904.10509, section 4). It says nothing about its shape: every convention counts it as it is.
struct block_sparse {
    std::int32_t block;
    std::int32_t local;
    std::int32_t global;

    static constexpr std::string_view name = "block_sparse";

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const floptally::sequence& s) const {
        const std::uint64_t end = std::uint64_t{s.past} + s.length;
        const auto size = static_cast<std::uint64_t>(block);
        std::uint64_t pairs = 0;
        for (std::uint64_t at = s.past; at < end;) {
            const std::uint64_t own = at / size;
            const std::uint64_t next = (own + 1) * size < end ? (own + 1) * size : end;
            const std::uint64_t before =
                own < static_cast<std::uint64_t>(local + global) ? own : static_cast<std::uint64_t>(local + global);
            const std::uint64_t n = next - at;
            const std::uint64_t first = at - own * size;
            pairs += n * before * size + n * first + n * (n + 1) / 2;
            at = next;
        }
        return pairs;
    }
};
