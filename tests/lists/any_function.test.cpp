// SPDX-License-Identifier: Apache-2.0

#include <functional>
#include <memory>
#include <utility>

#include <floptally/lists/any_function.hpp>

#include "catch2.hpp"

namespace any_function_test {
namespace {

using floptally::any_function;

int doubled(int value) { return 2 * value; }

}  // namespace

TEST_CASE("an any_function calls a lambda, a pointer to a function and a std::function", "[any_function]") {
    int factor = 3;
    CHECK(any_function<int(int)>([factor](int value) { return factor * value; })(7) == 21);
    CHECK(any_function<int(int)>(doubled)(7) == 14);
    CHECK(any_function<int(int)>(std::function<int(int)>(doubled))(7) == 14);
}

TEST_CASE("an empty any_function converts to false", "[any_function]") {
    CHECK_FALSE(any_function<int(int)>());
    CHECK_FALSE(any_function<int(int)>(static_cast<int (*)(int)>(nullptr)));
    CHECK_FALSE(any_function<int(int)>(std::function<int(int)>()));
    CHECK(any_function<int(int)>(doubled));
}

TEST_CASE("each copy of an any_function has its own state and frees this state", "[any_function]") {
    const auto alive = std::make_shared<int>(0);
    {
        any_function<int()> counts([alive, calls = 0]() mutable { return ++calls; });
        CHECK(counts() == 1);
        any_function<int()> copy(counts);
        CHECK(counts() == 2);
        CHECK(copy() == 2);
        CHECK(alive.use_count() == 3);
        any_function<int()> moved(std::move(copy));
        CHECK(moved() == 3);
        CHECK(alive.use_count() == 3);
        moved = counts;
        CHECK(moved() == 3);
        CHECK(alive.use_count() == 3);
        moved = [] { return 9; };
        CHECK(moved() == 9);
        CHECK(alive.use_count() == 2);
    }
    CHECK(alive.use_count() == 1);
}

TEST_CASE("an any_function passes references through", "[any_function]") {
    const any_function<int&(int&)> same([](int& value) -> int& { return value; });
    int value = 4;
    same(value) = 5;
    CHECK(value == 5);
    const any_function<std::unique_ptr<int>(std::unique_ptr<int>)> keep(
        [](std::unique_ptr<int> owned) { return owned; });
    CHECK(*keep(std::make_unique<int>(6)) == 6);
}

}  // namespace any_function_test
