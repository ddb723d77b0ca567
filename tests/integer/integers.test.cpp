// SPDX-License-Identifier: Apache-2.0
#include <compare>
#include <cstdint>
#include <iomanip>
#include <limits>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/text/error.hpp>

#include "catch2.hpp"

namespace integers_test {
namespace {

using floptally::checked;
using floptally::error;
using floptally::flops;
using floptally::indexed;
using floptally::overflow;
using floptally::uint128;

constexpr std::uint64_t max64 = std::numeric_limits<std::uint64_t>::max();
constexpr uint128 max128 = ~uint128{0};

constexpr uint128 join(std::uint64_t high, std::uint64_t low) { return (uint128{high} << 64) + low; }

template <class F>
std::string overflow_of(F&& compute) {
    try {
        static_cast<void>(compute());
        return "no error";
    } catch (const overflow& e) {
        return e.what();
    }
}

/// Decimal text read digit by digit.
uint128 read(const std::string& digits) {
    uint128 value = 0;
    for (const char digit : digits) {
        value = value * 10 + static_cast<unsigned>(digit - '0');
    }
    return value;
}

class random_numbers {
  public:
    /// A random number, of any number of bits equally often.
    std::uint64_t next64() {
        const std::uint64_t bits = engine_();
        return bits >> (engine_() % 64U);
    }
    uint128 next128() {
        const std::uint64_t high = engine_();
        const std::uint64_t low = engine_();
        return join(high, low) >> (engine_() % 128U);
    }

  private:
    std::mt19937_64 engine_{405};
};

template <class A, class B>
concept can_be_added = requires(A a, B b) {
    a + b;
};
template <class A, class B>
concept can_be_multiplied = requires(A a, B b) {
    a* b;
};
template <class A, class B>
concept can_be_increased = requires(A a, B b) {
    a += b;
};
template <class A, class B>
concept can_be_compared = requires(A a, B b) {
    a == b;
};

static_assert(can_be_added<flops, flops>);
static_assert(!can_be_added<flops, int> && !can_be_added<std::uint64_t, flops> && !can_be_added<flops, uint128>);
static_assert(can_be_multiplied<std::uint64_t, flops> && can_be_multiplied<flops, std::uint64_t>);
static_assert(!can_be_multiplied<flops, flops>);
static_assert(can_be_compared<flops, flops> && can_be_compared<flops, std::uint64_t> && can_be_compared<int, flops>);
static_assert(!can_be_compared<flops, bool> && !can_be_compared<flops, char> && !can_be_compared<flops, double>);
static_assert(flops{12} == 12 && 12 == flops{12} && flops{12} != 13U && flops{12} == uint128{12});
static_assert(flops{3} < 4 && 4 > flops{3} && flops{3} >= 3 && (flops{3} <=> 2) == std::strong_ordering::greater);
static_assert(flops{} > -1 && !(flops{} < -1) && flops{max128} != -1 && -1 < flops{} && flops{join(1, 5)} != 5);
static_assert(flops{max64} == max64 && flops{max64} != std::int64_t{-1} && flops{join(1, 0)} > max64);
static_assert(!std::is_convertible_v<std::uint64_t, flops> && !std::is_convertible_v<flops, std::uint64_t>);
static_assert(std::is_trivially_copyable_v<flops> && sizeof(flops) == 16);

static_assert(flops{} == flops{0});
static_assert(flops{max64} + flops{1} == flops{uint128{1} << 64});
static_assert(std::uint64_t{3} * flops{max64} == flops{join(2, max64 - 2)});
static_assert(flops{join(1, 0)} > flops{max64} && flops{join(1, 0)} < flops{join(1, 1)});
static_assert(flops{join(7, 9)}.high() == 7 && flops{join(7, 9)}.low() == 9);
// A checked integer becomes no narrower one, and no plain sum takes it in.
static_assert(can_be_added<checked, checked> && can_be_added<checked, int> && can_be_added<std::uint32_t, checked>);
static_assert(can_be_multiplied<checked, std::uint64_t> && can_be_multiplied<bool, checked>);
static_assert(std::is_convertible_v<checked, std::uint64_t> && !std::is_convertible_v<std::uint64_t, checked>);
static_assert(!std::is_convertible_v<checked, int> && !std::is_convertible_v<checked, std::uint32_t>);
static_assert(!can_be_increased<std::uint64_t, checked> && can_be_increased<checked, checked>);

constexpr std::uint64_t plain(checked value) { return value; }

static_assert(plain(checked(max64 - 1, "n") + 1) == max64);
static_assert(plain(0xFFFF'FFFFU * checked(0xFFFF'FFFFU, "n")) == 18446744065119617025U);
static_assert(plain(2 * (checked(3, "n") + 4U) * std::uint8_t{5} + true) == 71);

}  // namespace

TEST_CASE("FLOPs print as decimal integers and respect the width of a stream") {
    std::ostringstream to;
    to << flops{} << " " << flops{1234} << " " << std::setw(6) << flops{56} << "|" << std::left << std::setw(4)
       << flops{7} << "| " << flops{max128};
    CHECK(to.str() == "0 1234     56|7   | 340282366920938463463374607431768211455");
    CHECK((std::ostringstream() << flops{9}).str() == "9");  // a stream without a name too
}

TEST_CASE("FLOPs add, multiply and compare as 128-bit integers") {
    CHECK(flops{}.value() == 0);
    CHECK(flops{2} + flops{3} == flops{5});
    CHECK(4 * flops{5} == flops{20});
    CHECK(flops{5} * 4 == flops{20});
    CHECK(0 * flops{max128} == flops{});
    CHECK(1 * flops{max128} == flops{max128});
    CHECK(flops{max128} + flops{} == flops{max128});
    CHECK(flops{join(1, 0)} != flops{0});
    CHECK(flops{join(1, 0)} > flops{join(0, max64)});
    CHECK((flops{join(2, 5)} <=> flops{join(2, 6)}) == std::strong_ordering::less);
    CHECK((flops{join(2, 6)} <=> flops{join(2, 6)}) == std::strong_ordering::equal);

    flops total;
    total += flops{max64};
    total += flops{max64};
    CHECK(total == flops{join(1, max64 - 1)});
    CHECK(total.high() == 1);
    CHECK(total.low() == max64 - 1);
    CHECK((total += flops{1}) == flops{join(1, max64)});
}

TEST_CASE("a sum of FLOPs throws exactly when it exceeds 128 bits and leaves its operand unchanged") {
    CHECK(flops{max128 - 1} + flops{1} == flops{max128});
    CHECK(overflow_of([] { return flops{max128} + flops{1}; }) ==
          "flops: a sum does not fit 128 bits: count fewer samples");
    CHECK(overflow_of([] { return flops{max128} + flops{max128}; }) ==
          "flops: a sum does not fit 128 bits: count fewer samples");
    flops total{max128 - 5};
    CHECK_THROWS_AS(total += flops{6}, overflow);
    CHECK(total == flops{max128 - 5});

    random_numbers random;
    int refused = 0;
    for (int round = 0; round < 2000; ++round) {
        const uint128 a = random.next128();
        const uint128 b = round % 2 == 0 ? random.next128() : max128 - a + 2 - static_cast<unsigned>(round % 4);
        if (b > max128 - a) {
            REQUIRE_THROWS_AS(flops{a} + flops{b}, overflow);
            ++refused;
        } else {
            REQUIRE((flops{a} + flops{b}).value() - b == a);
        }
    }
    CHECK(refused > 100);
}

TEST_CASE("a product of FLOPs throws exactly when it exceeds 128 bits") {
    CHECK(overflow_of([] { return 2 * flops{uint128{1} << 127}; }) ==
          "flops: a product does not fit 128 bits: use smaller numbers");
    CHECK(overflow_of([] { return flops{max128} * max64; }) ==
          "flops: a product does not fit 128 bits: use smaller numbers");
    CHECK(max64 * flops{max64} == flops{join(max64 - 1, 1)});
    CHECK(max64 * flops{join(1, 1)} == flops{max128});
    // The high half alone fits; what the low half carries does not.
    CHECK(overflow_of([] { return max64 * flops{join(1, 2)}; }) ==
          "flops: a product does not fit 128 bits: use smaller numbers");

    random_numbers random;
    int refused = 0;
    for (int round = 0; round < 4000; ++round) {
        const std::uint64_t times = random.next64();
        const uint128 work =
            round % 2 == 0 || times == 0 ? random.next128() : max128 / times + static_cast<unsigned>(round / 2 % 2);
        if (times != 0 && work > max128 / times) {
            REQUIRE_THROWS_AS(times * flops{work}, overflow);
            REQUIRE_THROWS_AS(flops{work} * times, overflow);
            ++refused;
        } else {
            const uint128 product = (times * flops{work}).value();
            REQUIRE((times == 0 ? product == 0 : product / times == work && product % times == 0));
        }
    }
    CHECK(refused > 100);
}

TEST_CASE("128-bit integers print every digit") {
    CHECK(floptally::to_string(flops{}) == "0");
    CHECK(floptally::to_string(flops{7}) == "7");
    CHECK(floptally::to_string(flops{10}) == "10");
    CHECK(floptally::to_string(flops{max64}) == "18446744073709551615");
    CHECK(floptally::to_string(flops{join(1, 0)}) == "18446744073709551616");
    CHECK(floptally::to_string(uint128{1} << 127) == "170141183460469231731687303715884105728");
    CHECK(floptally::to_string(max128) == "340282366920938463463374607431768211455");

    uint128 power = 1;
    for (std::size_t zeros = 0; zeros <= 38; ++zeros) {
        CHECK(floptally::to_string(power) == std::string(1, '1').append(zeros, '0'));
        CHECK(floptally::to_string(power - 1) == (zeros == 0 ? "0" : std::string(zeros, '9')));
        power *= zeros < 38 ? 10 : 1;
    }
    random_numbers random;
    for (int round = 0; round < 1000; ++round) {
        const uint128 value = random.next128();
        const std::string digits = floptally::to_string(value);
        REQUIRE((read(digits) == value && (digits[0] != '0' || digits.size() == 1)));
    }
}

TEST_CASE("Llama-3.1-405B on 16M tokens needs more than 64 bits") {
    // 405 853 388 800 parameters, 6 FLOPs each per token, 2^24 tokens: 40 EFLOP is 2.2 times 2^64.
    const flops step = std::uint64_t{16'777'216} * (std::uint64_t{405'853'388'800} * flops{6});
    CHECK(step > flops{max64});
    CHECK(step.high() == 2);
    CHECK(floptally::to_string(step) == "40854539809377484800");
    // As many steps as 15.6 T tokens take.
    CHECK(floptally::to_string(step * 929'832) == "37987858460033085446553600");
}

TEST_CASE("checked arithmetic that exceeds 64 bits is an error with the field and both operands") {
    const auto sum = [](std::uint64_t a, std::uint64_t b, const char* field) { return plain(checked(a, field) + b); };
    CHECK(sum(2, 3, "tokens") == 5);
    CHECK(sum(max64, 0, "tokens") == max64);
    CHECK(sum(0, max64, "tokens") == max64);
    CHECK(overflow_of([&] { return sum(max64, 1, "tokens"); }) ==
          "tokens: 18446744073709551615 + 1 does not fit 64 bits: use smaller numbers");
    CHECK(overflow_of([&] { return sum(1, max64, "squares"); }) ==
          "squares: 1 + 18446744073709551615 does not fit 64 bits: use smaller numbers");
    CHECK(overflow_of([&] { return sum(max64, max64, "squares"); }) ==
          "squares: 18446744073709551615 + 18446744073709551615 does not fit 64 bits: use smaller numbers");

    const auto product = [](std::uint64_t a, std::uint64_t b, const char* field) {
        return plain(checked(a, field) * b);
    };
    CHECK(product(6, 7, "tokens") == 42);
    CHECK(product(max64, 1, "tokens") == max64);
    CHECK(product(max64, 0, "tokens") == 0);
    CHECK(overflow_of([&] { return product(4294967296, 4294967296, "grid"); }) ==
          "grid: 4294967296 x 4294967296 does not fit 64 bits: use smaller numbers");
    CHECK(overflow_of([&] { return product(max64, 2, "grid"); }) ==
          "grid: 18446744073709551615 x 2 does not fit 64 bits: use smaller numbers");

    random_numbers random;
    for (int round = 0; round < 2000; ++round) {
        const std::uint64_t a = random.next64();
        const std::uint64_t b = random.next64();
        checked total(a, "n");
        if (b > max64 - a) {
            REQUIRE_THROWS_AS(checked(a, "n") + b, overflow);
            REQUIRE_THROWS_AS(a + checked(b, "n"), overflow);
            REQUIRE_THROWS_AS(total += b, overflow);
            REQUIRE(plain(total) == a);
        } else {
            REQUIRE(sum(a, b, "n") - b == a);
            REQUIRE(plain(a + checked(b, "n")) - b == a);
            REQUIRE(plain(total += b) - b == a);
        }
        if (a != 0 && b > max64 / a) {
            REQUIRE_THROWS_AS(checked(a, "n") * b, overflow);
            REQUIRE_THROWS_AS(a * checked(b, "n"), overflow);
        } else {
            REQUIRE(product(a, b, "n") == a * b);
            REQUIRE(plain(a * checked(b, "n")) == a * b);
        }
    }
}

TEST_CASE("an overflow of two operands with field names reports the field of the left operand") {
    const checked heads(4294967296, "attention.qkv");
    const checked width(4294967296, "attention.output");
    CHECK(overflow_of([&] { return plain(heads * width); }).starts_with("attention.qkv: "));
    CHECK(overflow_of([&] { return plain(width * heads); }).starts_with("attention.output: "));
    CHECK(overflow_of([&] { return plain(heads * 2 * width); }).starts_with("attention.qkv: 8589934592 x "));
    CHECK(overflow_of([&] { return plain(max64 + 1 * heads); }).starts_with("attention.qkv: "));
    CHECK(overflow_of([&] { return plain(max64 + (heads + width)); }).starts_with("attention.qkv: "));
    CHECK(overflow_of([&] { return plain(checked(width, "mixer.state") * heads); }).starts_with("mixer.state: "));
}

TEST_CASE("the what() text of an error contains its field and its problem") {
    const error e("text_config.hidden_size", "must be above 0, got 0");
    CHECK(e.field() == "text_config.hidden_size");
    CHECK(e.problem() == "must be above 0, got 0");
    CHECK(std::string(e.what()) == "text_config.hidden_size: must be above 0, got 0");

    // A field may hold what separates it from the problem.
    const error colon("a: b", "c: d");
    CHECK(colon.field() == "a: b");
    CHECK(colon.problem() == "c: d");

    const error bare("", "");
    CHECK(bare.field() == "");
    CHECK(bare.problem() == "");

    const error copy = e;
    CHECK(copy.field() == "text_config.hidden_size");
}

TEST_CASE("class overflow derives from class error, and class error derives from std::runtime_error") {
    STATIC_REQUIRE(std::is_base_of_v<error, overflow>);
    STATIC_REQUIRE(std::is_base_of_v<std::runtime_error, error>);
    STATIC_REQUIRE(std::is_nothrow_copy_constructible_v<error>);
    try {
        throw overflow("squares", "does not fit");
    } catch (const error& e) {
        CHECK(e.field() == "squares");
        CHECK(e.problem() == "does not fit");
    }
}

TEST_CASE("an error for an element of a list names the element by index") {
    CHECK(indexed("cu_seqlens", 0) == "cu_seqlens[0]");
    CHECK(indexed("cu_seqlens", 12) == "cu_seqlens[12]");
    CHECK(indexed("", max64) == "[18446744073709551615]");
}

}  // namespace integers_test
