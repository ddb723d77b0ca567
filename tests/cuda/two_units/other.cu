// SPDX-License-Identifier: Apache-2.0
#include "every_header.cuh"

std::size_t words_of_other_unit() { return words_of_a_tally(); }
