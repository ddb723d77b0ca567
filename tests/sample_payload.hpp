// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include <floptally/balance/exchange_plan.hpp>

using bytes = std::vector<std::byte>;

/// Bytes that no other sample has: those of a generator that starts from its index.
inline bytes payload_of(std::uint64_t sample, std::uint64_t size) {
    std::minstd_rand random(static_cast<std::minstd_rand::result_type>(sample + 1));
    bytes payload(size);
    std::generate(payload.begin(), payload.end(), [&] { return static_cast<std::byte>(random() >> 8); });
    return payload;
}

/// The sending buffer of a rank with such samples.
inline bytes filled_with_payloads(const floptally::rank_exchange& how) {
    return floptally::filled_buffer(how.send, [&, place = std::size_t{0}](std::uint64_t sample) mutable {
        return payload_of(sample, how.send.sizes[place++]);
    });
}

/// True where each sample that a rank should have received is there, unchanged.
inline bool received_payloads(const floptally::rank_exchange& how, const bytes& received) {
    bool all = received.size() == how.receive.bytes();
    for (std::size_t place = 0; all && place < how.receive.samples.size(); ++place) {
        const std::span<const std::byte> found = how.receive.sample(std::span<const std::byte>(received), place);
        const bytes expected = payload_of(how.receive.samples[place], how.receive.sizes[place]);
        all = std::equal(found.begin(), found.end(), expected.begin(), expected.end());
    }
    return all;
}
