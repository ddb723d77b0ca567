// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>

#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace component_name_test {

using floptally::component_name;
using floptally::cost;
using floptally::linear;

static_assert(component_name("encoder.", "mlp").view() == "encoder.mlp");
static_assert(component_name("mlp").on_encoder().view() == "encoder.mlp");
static_assert(component_name("norm").on_encoder().view() == "norm");
static_assert(component_name("bias").on_encoder().view() == "bias");
static_assert(component_name("embedding").on_encoder().view() == "embedding");

// A compiler compares them from their ends: equal, longer, shorter, another first or last character.
static_assert(component_name("mlp").is("mlp"));
static_assert(!component_name("mlps").is("mlp"));
static_assert(!component_name("ml").is("mlp"));
static_assert(!component_name("nlp").is("mlp"));
static_assert(!component_name("mlq").is("mlp"));

TEST_CASE("a component name has 1 to 39 characters", "[component_name][errors]") {
    const std::string longest(39, 'x');
    CHECK(component_name(longest).view() == longest);
    CHECK(component_name("a").view() == "a");
    CHECK(component_name("a") == component_name(std::string_view("a")));
    CHECK_FALSE(component_name("a") == component_name("ab"));
    CHECK(error_of([] { return component_name(""); }) == R"(component: a name must have 1 to 39 characters, got "")");
    const std::string too_long(40, 'x');
    CHECK(error_of([&] { return component_name(too_long); }) ==
          "component: a name must have 1 to 39 characters, got \"" + too_long + "\"");
    CHECK(error_of([] { return cost{}.add("", linear{.in_features = 1, .out_features = 1}); }) ==
          R"(component: a name must have 1 to 39 characters, got "")");
}

TEST_CASE("a component name with its prefix has 1 to 39 characters", "[component_name][errors]") {
    CHECK(component_name("encoder.", "mlp") == component_name("encoder.mlp"));
    CHECK(component_name("", "mlp") == component_name("mlp"));
    const std::string longest(31, 'x');
    CHECK(component_name("encoder.", longest).view() == "encoder." + longest);
    CHECK(error_of([&] { return component_name("encoder.", longest + "x"); }) ==
          "component: a name must have 1 to 39 characters, got \"encoder." + longest + "x\"");
    CHECK(error_of([] { return component_name("", ""); }) ==
          R"(component: a name must have 1 to 39 characters, got "")");
    CHECK(error_of([] { return component_name("a\t", "b"); }) ==
          "component: a name must not have control characters, got \"a?b\"");
}

}  // namespace component_name_test
