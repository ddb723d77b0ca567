// SPDX-License-Identifier: Apache-2.0
//
// The lists of the reader of specs, against std::vector: elements that count how many there are, and text, which owns
// memory, so that ASan sees what is read after it is gone.

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <floptally/lists/list.hpp>
#include <floptally/lists/vector.hpp>

#include "catch2.hpp"

namespace vector_test {
namespace {

using floptally::detail::specs::owner;

int alive = 0;

/// A text that knows how many of its kind there are.
struct counted {
    std::string text;

    explicit counted(std::string name) : text(std::move(name)) { ++alive; }
    counted(const counted& other) : text(other.text) { ++alive; }
    counted(counted&& other) noexcept : text(std::move(other.text)) { ++alive; }
    counted& operator=(const counted&) = default;
    counted& operator=(counted&&) noexcept = default;
    ~counted() { --alive; }

    friend bool operator==(const counted& a, const counted& b) { return a.text == b.text; }
};

counted long_text(std::uint32_t n) { return counted("longer than what a string holds inside: " + std::to_string(n)); }

bool equal(const floptally::detail::specs::vector<counted>& a, const std::vector<counted>& b) {
    bool same = a.size() == b.size() && a.empty() == b.empty();
    for (std::size_t i = 0; same && i < b.size(); ++i) {
        same = a[i] == b[i] && a.begin()[i] == b[i];
    }
    return same && (b.empty() || (a.front() == b.front() && a.back() == b.back()));
}

}  // namespace

TEST_CASE("the config reader's vector behaves like std::vector and frees its elements") {
    std::mt19937 random(7);
    {
        floptally::detail::specs::vector<counted> list;
        floptally::detail::specs::vector<counted> other;
        std::vector<counted> wanted;
        std::vector<counted> other_wanted;
        for (int step = 0; step < 4000; ++step) {
            switch (random() % 10) {
                case 0:
                    list.clear();
                    wanted.clear();
                    break;
                case 1:
                    other = list;
                    other_wanted = wanted;
                    break;
                case 2:
                    list = std::move(other);
                    other = floptally::detail::specs::vector<counted>();
                    wanted = std::move(other_wanted);
                    other_wanted = {};
                    break;
                case 3:
                    list.append(other.begin(), other.end());
                    wanted.insert(wanted.end(), other_wanted.begin(), other_wanted.end());
                    break;
                case 4:
                    if (!wanted.empty()) {
                        list.push_back(list.front());  // which stands in the list itself
                        wanted.push_back(counted(wanted.front()));
                    }
                    break;
                case 5:
                    list.resize(wanted.size() + 3, long_text(1));
                    wanted.resize(wanted.size() + 3, long_text(1));
                    break;
                case 6: {
                    const floptally::detail::specs::vector<counted> copy(list.begin(), list.end());
                    list = copy;
                    CHECK(copy == list);
                    list.resize(1, long_text(2));
                    if (wanted.empty()) {
                        wanted.push_back(long_text(2));
                    }
                    break;
                }
                default: {
                    const auto n = static_cast<std::uint32_t>(random());
                    CHECK(list.push_back(long_text(n)) == long_text(n));
                    wanted.push_back(long_text(n));
                }
            }
            if (wanted.size() > 200) {
                list.clear();
                wanted.clear();
            }
            REQUIRE(equal(list, wanted));
            REQUIRE(equal(other, other_wanted));
            REQUIRE((list == other) == (wanted == other_wanted));
        }
        floptally::detail::specs::vector<counted>& itself = list;
        list = itself;
        CHECK(equal(list, wanted));
    }
    CHECK(alive == 0);
}

TEST_CASE("objects in the config reader's owning pointer keep their address and are freed") {
    {
        floptally::detail::specs::vector<owner<counted>> all;
        std::vector<const counted*> places;
        for (std::uint32_t n = 0; n < 100; ++n) {
            places.push_back(all.push_back(owner(new counted(long_text(n)))).get());
        }
        floptally::detail::specs::vector<owner<counted>> moved(std::move(all));
        REQUIRE(moved.size() == 100);
        std::uint32_t n = 0;
        for (const owner<counted>& text : moved) {
            CHECK(text.get() == places[n]);
            CHECK(*text == long_text(n));
            CHECK(text->text == long_text(n).text);
            ++n;
        }
        CHECK(alive == 100);
        owner<counted> last(new counted(long_text(7)));
        last = owner<counted>();
        CHECK(last.get() == nullptr);
        CHECK(alive == 100);
    }
    CHECK(alive == 0);
}

TEST_CASE("elements that need more alignment than new gives stand at their own") {
    struct alignas(64) wide {
        std::uint64_t number;
    };
    const auto is_aligned = [](const wide& element) { return reinterpret_cast<std::uintptr_t>(&element) % 64 == 0; };
    floptally::list<wide> numbers;
    floptally::detail::specs::vector<wide> others;
    for (std::uint64_t n = 0; n < 100; ++n) {
        numbers.push_back({n}, "numbers");
        others.push_back({n});
    }
    for (std::uint64_t n = 0; n < 100; ++n) {
        CHECK(numbers[n].number == n);
        CHECK(others[n].number == n);
        CHECK(is_aligned(numbers[n]));
        CHECK(is_aligned(others[n]));
    }
}

}  // namespace vector_test
