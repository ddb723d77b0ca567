// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <floptally/config/detail/function_call.hpp>
#include <floptally/config/detail/value.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Tables that are looked up by a hash of several tokens (Qwen4). No config gives their number of rows: each head of
/// each layer has as many as the next prime, so that no two hash alike. No expression finds primes.

namespace floptally::detail::pages {

[[nodiscard]] inline bool is_prime(std::int64_t number) {
    for (std::int64_t divisor = 2; divisor * divisor <= number; ++divisor) {
        if (number % divisor == 0) {
            return false;
        }
    }
    return number > 1;
}

/// hashed_rows(layers, layer, heads, base, divisor): the rows of all heads' tables of one layer, rounded up to a
/// multiple. Heads of all `layers` take successive primes, from the first that is at least `base`.
inline value hashed_rows_of(const function_call& c) {
    constexpr std::int64_t most = 1024;  // primes are searched one by one
    const auto layers = c.numbers(0);
    if (layers.size() > static_cast<std::size_t>(most)) {
        c.fail({"at most 1024 layers, got ", layers.size()});
    }
    std::int64_t before = 0;  // each layer once, however often it is listed
    for (std::size_t at = 0; at < layers.size(); ++at) {
        bool is_first = layers[at] < c.number(1);
        for (std::size_t other = 0; other < at; ++other) {
            is_first = is_first && layers[other] != layers[at];
        }
        before += is_first ? 1 : 0;
    }
    const std::int64_t heads = c.number(2);
    const std::int64_t divisor = c.number(4);
    if (heads < 1 || heads > most || (before + 1) * heads > most) {
        c.fail({"at most 1024 tables of a model, got ", before + 1, " layers of ", heads});
    }
    if (c.number(3) < 1 || c.number(3) > 0x7FFF'FFFF || divisor < 1 || divisor > 0x7FFF'FFFF) {
        c.fail({"rows and their divisor must be from 1 to 2147483647"});
    }
    std::int64_t rows = 0;
    std::int64_t prime = c.number(3) - 1;
    for (std::int64_t table = 0; table < (before + 1) * heads; ++table) {
        do {
            ++prime;
        } while (!is_prime(prime));
        rows += table >= before * heads ? prime : 0;
    }
    return number_value((rows + divisor - 1) / divisor * divisor);
}

}  // namespace floptally::detail::pages
