// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include <floptally/batch/integer_view.hpp>

#include "catch2.hpp"

namespace integer_view_test {
namespace {

using floptally::integer_view;
using floptally::detail::visit_both;

/// Both views as `visit_both` shows them, with the size and the sign of their type.
struct shown {
    std::vector<std::int64_t> first;
    std::vector<std::int64_t> second;
    std::size_t bytes = 0;
    bool is_signed = false;
    bool operator==(const shown&) const = default;
};
shown both(const integer_view& first, const integer_view& second) {
    shown found;
    visit_both(first, second, [&](const auto& a, const auto& b) {
        static_assert(std::is_same_v<decltype(a), decltype(b)>);
        using integer = typename std::remove_cvref_t<decltype(a)>::value_type;
        found = {{a.begin(), a.end()}, {b.begin(), b.end()}, sizeof(integer), std::is_signed_v<integer>};
    });
    return found;
}

template <class First, class Second>
void check_small() {
    const std::vector<First> first{0, 1, 2147483647};
    const std::vector<Second> second{7};
    const shown found = both(first, second);
    CHECK(found.first == std::vector<std::int64_t>{0, 1, 2147483647});
    CHECK(found.second == std::vector<std::int64_t>{7});
}
template <class First>
void check_small_with_each() {
    check_small<First, std::int32_t>();
    check_small<First, std::int64_t>();
    check_small<First, std::uint32_t>();
    check_small<First, std::uint64_t>();
}

TEST_CASE("visit_both passes the values of two lists of any integer types to a function") {
    check_small_with_each<std::int32_t>();
    check_small_with_each<std::int64_t>();
    check_small_with_each<std::uint32_t>();
    check_small_with_each<std::uint64_t>();
}

TEST_CASE("visit_both passes negative integers and integers above 2^63 - 1 unchanged") {
    constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
    const std::vector<std::int32_t> one{1};
    const std::vector<std::int32_t> negative{-1};
    const std::vector<std::uint32_t> above_int32{4294967295U};
    const std::vector<std::uint64_t> small{5};
    const std::vector<std::uint64_t> all_ones{huge};
    CHECK(both(one, negative) == shown{{1}, {-1}, 4, true});
    CHECK(both(above_int32, negative) == shown{{4294967295}, {-1}, 8, true});
    CHECK(both(small, negative) == shown{{5}, {-1}, 8, true});
    CHECK(both(all_ones, one) == shown{{-1}, {1}, 8, false});  // 2^64 - 1, as its bits
    CHECK(both(one, all_ones) == shown{{1}, {-1}, 8, false});
    CHECK(both(all_ones, negative) == shown{{std::numeric_limits<std::int64_t>::max()}, {-1}, 8, true});
}

}  // namespace
}  // namespace integer_view_test
