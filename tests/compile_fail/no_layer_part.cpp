// SPDX-License-Identifier: Apache-2.0
#include <floptally/descriptors/attention.hpp>
#include <floptally/descriptors/feed_forward.hpp>
#include <floptally/descriptors/transformer.hpp>

// A layer of one's own whose cost is not const.
struct own_layer {
#ifdef INVALID
    floptally::cost cost(const floptally::layer& where) { return floptally::mlp{4}.cost(where); }
#else
    floptally::cost cost(const floptally::layer& where) const { return floptally::mlp{4}.cost(where); }
#endif
};

int main() {
    const floptally::transformer<floptally::mha, own_layer> model{.hidden_size = 4, .num_layers = 1};
    return model.num_layers == 1 ? 0 : 1;
}
