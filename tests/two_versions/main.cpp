// SPDX-License-Identifier: Apache-2.0
//
// Calls two libraries that were built from two versions of floptally. Each must count as it does alone.

#include <cstdint>
#include <cstdio>

extern "C" std::uint64_t count_with_this_version(const std::int64_t* lengths, int count);
extern "C" std::uint64_t count_with_other_version(const std::int64_t* lengths, int count);

int main() {
    const std::int64_t lengths[] = {700, 5300, 2192, 8192, 4096};
    const std::uint64_t of_this = count_with_this_version(lengths, 5);
    const std::uint64_t of_other = count_with_other_version(lengths, 5);
    std::printf("this version %llu, other version %llu\n", static_cast<unsigned long long>(of_this),
                static_cast<unsigned long long>(of_other));
    return of_this == of_other && of_this != 0 ? 0 : 1;
}
