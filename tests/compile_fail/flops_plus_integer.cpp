// SPDX-License-Identifier: Apache-2.0
#include <floptally/integer/flops.hpp>

#ifdef INVALID
constexpr auto sum = floptally::flops{2} + 1;
#else
constexpr auto sum = floptally::flops{2} + floptally::flops{1};
#endif

int main() { return sum == floptally::flops{3} ? 0 : 1; }
