// SPDX-License-Identifier: Apache-2.0
// Every public header after macros that break other libraries, with all warnings of the compiler.

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <locale>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

#include "macros.hpp"  // after the standard library, which does not bear them
//
#include "public.hpp"  // every public header, as tests/CMakeLists.txt lists them

// The macros are there again.
#if !defined(near) || !defined(slots) || !defined(min) || !defined(check) || A + T + Z != 3
#error "a public header does not restore the macros that it hides"
#endif

int use_of_the_library(int argument);

int use_of_the_library(int argument) {
    floptally::tally batch;
    batch.add(floptally::sequence{.length = static_cast<std::uint32_t>(argument)});
    return evaluate(floptally::presets::llama_3_8b, batch).total() == 0 ? near 1 : min(2, 3);
}
