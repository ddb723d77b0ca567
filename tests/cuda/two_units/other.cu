// SPDX-License-Identifier: Apache-2.0
#include "every_header.cuh"

std::size_t accumulators_of_other_unit() { return accumulators_of_a_tally(); }
