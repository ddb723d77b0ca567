// SPDX-License-Identifier: Apache-2.0
// Counts LoRA training of a mixture of experts with latent attention, on padded packs, phase by phase. The widths are
// those of DeepSeek-V3 (arXiv:2412.19437, section 4.2): 61 layers, the first 3 without experts.

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <floptally/floptally.hpp>

using namespace floptally;

namespace {

constexpr transformer<mla, dense_first<gated_mlp, moe>> model{
    .hidden_size = 7168,
    .num_layers = 61,
    .attention = {.num_heads = 128,
                  .q_lora_rank = 1536,
                  .kv_lora_rank = 512,
                  .qk_nope_head_dim = 128,
                  .qk_rope_head_dim = 64,
                  .v_head_dim = 128,
                  .elementwise = {.norm = 1536 + 512}},
    .feed_forward = {.num_dense_layers = 3,
                     .dense = {.intermediate_size = 18432},
                     .sparse = {.num_experts = 256,
                                .num_experts_per_tok = 8,
                                .intermediate_size = 2048,
                                .shared_intermediate_size = 2048}},
    .vocab = {.size = 129280},
    .layer_elementwise = {.norm = 2 * 7168},
    .final_elementwise = {.norm = 7168}};

/// One row of a table: each phase in 10¹² FLOPs, rounded only when printed.
void print_phases(const std::string& name, const breakdown& work, view seen) {
    std::printf("%-28s", name.c_str());
    for (const phase during : {phase::forward, phase::backward_data, phase::backward_weights, phase::recompute}) {
        std::printf(" %12.3f", to_double(work.get(seen, during)) / 1e12);
    }
    std::printf(" %12.3f\n", to_double(work.total(seen)) / 1e12);
}

}  // namespace

int main() {
    // A plan: everything frozen except for adapters of rank 16 on each matrix of the attention; layers are recomputed.
    const training_plan lora{.recomputed = recompute::full,
                             .weights = {{"*", weight_state::frozen}, {"attention.*", weight_state::lora, 16}}};
    const flop_counter step(model, conventions::exact, lora);
    const flop_counter whole(model, conventions::exact, {.recomputed = recompute::full});

    const parameter_counts weights = trained_parameters(parts_of(model), lora);
    std::printf("%llu weights, %llu of them train\n", static_cast<unsigned long long>(weights.stored),
                static_cast<unsigned long long>(weights.trainable));

    // Two packs: boundaries of the documents, and of the slots, each a multiple of 64. The last sequence of each pack
    // fills it up to 8192 tokens and is a mock: padded, not useful.
    split_tally batch(step.masks());
    batch.add_cu_seqlens(std::vector<std::int32_t>{0, 900, 5000, 7100, 8056},
                         std::vector<std::int32_t>{0, 960, 5120, 7232, 8192}, 3);
    batch.add_cu_seqlens(std::vector<std::int32_t>{0, 8000, 8128}, std::vector<std::int32_t>{0, 8064, 8192}, 1);
    const tally all = batch.total();

    std::printf("\n%-28s %12s %12s %12s %12s %12s\n", "10^12 FLOPs", "forward", "to data", "to weights", "recompute",
                "total");
    const breakdown tuning = step.evaluate(all);
    print_phases("LoRA, useful", tuning, view::useful);
    print_phases("LoRA, padded", tuning, view::padded);
    print_phases("LoRA, executed", tuning, view::executed);
    print_phases("all weights train, useful", whole.evaluate(all), view::useful);

    std::printf("\n%-28s %20s %20s\n", "component", "forward", "backward");
    for (const component_flops& component : tuning.components()) {
        std::printf("%-28s %20s %20s\n", std::string(component.name.view()).c_str(),
                    to_string(component.get(view::useful, phase::forward)).c_str(),
                    to_string(component.backward(view::useful)).c_str());
    }

    const padding_flops padding = padding_of(step, batch);
    std::printf("\npadding: %s in slots, %s in mock sequences\n", to_string(padding.in_slots).c_str(),
                to_string(padding.mock).c_str());
    if (tuning.is_upper_bound()) {
        std::printf("the numbers are upper bounds\n");
        return 1;
    }
    // DeepSeek-V3 has 671 026 419 200 parameters. The correction biases of its 58 routers of 256 experts are not
    // counted here.
    return model.cost().parameters() == 671'026'419'200 - 58 * 256 ? 0 : 1;
}
