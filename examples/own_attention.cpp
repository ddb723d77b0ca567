// SPDX-License-Identifier: Apache-2.0
// A user's own attention with its own mask. It is counted under conventions of the library and of the user, sharded by
// tensor parallelism, and used in a meter. docs/extending.md explains each part.

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/layout.hpp>
#include <floptally/meter.hpp>

using namespace floptally;

/// A mask in which a query attends itself and every `step`-th token before it, `taps` keys in all.
struct dilated_window {
    std::int32_t taps;
    std::int32_t step;

    static constexpr std::string_view name = "dilated_window";
    static constexpr statistic_parameter parameters[] = {{"taps", 1}, {"step", 1}};

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return rows(std::uint64_t{s.past} + s.length) - rows(s.past);
    }
    constexpr pair_shape shape() const { return pair_shape::causal; }
    constexpr bool counts_by_position() const { return true; }

    /// The pairs of the first n queries of a sequence: queries j·step … (j + 1)·step − 1 attend j + 1 keys, up to
    /// `taps`.
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t rows(std::uint64_t n) const {
        const auto most = static_cast<std::uint64_t>(taps);
        const auto by = static_cast<std::uint64_t>(step);
        const std::uint64_t groups = n / by;
        const std::uint64_t growing = groups < most ? groups : most;
        const std::uint64_t next = groups < most ? groups + 1 : most;
        return by * (growing * (growing + 1) / 2 + most * (groups - growing)) + n % by * next;
    }
};

/// True if the mask counts the pairs of its definition, compared one by one.
bool counts_its_pairs(const dilated_window& mask, const sequence& s) {
    const std::int64_t end = std::int64_t{s.past} + s.length;
    std::uint64_t pairs = 0;
    for (std::int64_t query = s.past; query < end; ++query) {
        for (std::int64_t key = 0; key <= query; ++key) {
            pairs += (query - key) % mask.step == 0 && (query - key) / mask.step < mask.taps ? 1U : 0U;
        }
    }
    return statistic(mask)(s) == pairs;
}

/// An attention in which most heads have a window and the last ones a dilated window (arXiv:2004.05150, section 3.1).
struct two_window_attention {
    std::uint64_t num_heads = 0;
    std::uint64_t dilated_heads = 0;  ///< heads with a dilated window
    std::uint64_t head_dim = 0;
    dilated_window dilated{};

    constexpr floptally::cost cost(const layer& where) const {
        const std::uint64_t width = checked(num_heads, "attention.qkv") * head_dim;
        const value::set q = value::local(0);
        const value::set k = value::local(1);
        const value::set v = value::local(2);
        const value::set out = value::local(3);
        const auto projection = [&](std::string_view weight, value::set writes) {
            return linear{.in_features = where.hidden_size,
                          .out_features = width,
                          .weight = weight,
                          .reads = value::stream,
                          .writes = writes,
                          .sharding = tensor_sharding::heads(num_heads)};
        };
        floptally::cost sum;
        sum.add("attention.qkv", projection("q_proj", q));
        sum.add("attention.qkv", projection("k_proj", k));
        sum.add("attention.qkv", projection("v_proj", v));
        const std::uint64_t near_heads = num_heads - dilated_heads;
        sum.add("attention.core", attention_core{near_heads, head_dim, head_dim, q, k, v, out}, where.attends);
        sum.add("attention.dilated", attention_core{dilated_heads, head_dim, head_dim, q, k, v, out}, dilated);
        sum.add("attention.output", linear{.in_features = width,
                                           .out_features = where.hidden_size,
                                           .weight = "o_proj",
                                           .reads = out,
                                           .sharding = tensor_sharding::heads(num_heads)});
        return sum;
    }
};
static_assert(layer_part<two_window_attention>);

/// A convention that a dashboard may have used so far.
constexpr counted_statistics count_boxes(const statistic& attends, const convention& how,
                                         const attention_context& model) {
    if (attends.is<dilated_window>()) {
        return statistic(mask::box(attends.as<dilated_window>().taps));
    }
    return count_pairs(attends, how, model);
}
constexpr convention boxes{.name = "boxes",
                           .summary = "every matmul; a dilated window as L x min(L, taps)",
                           .counted = products.without(term::router),
                           .pairs = count_boxes};

int main() {
    constexpr transformer<two_window_attention, gated_mlp> model{
        .hidden_size = 4096,
        .num_layers = 32,
        .attention = {.num_heads = 32, .dilated_heads = 8, .head_dim = 128, .dilated = {.taps = 512, .step = 4}},
        .feed_forward = {.intermediate_size = 14336},
        .vocab = {.size = 32000},
        .masks = mask::sliding_window(512)};

    for (const sequence& s : {sequence{.length = 0}, sequence{.length = 9, .past = 5}, sequence{.length = 100}}) {
        if (!counts_its_pairs({4, 3}, s) || !counts_its_pairs({1, 5}, s) || !counts_its_pairs({512, 4}, s)) {
            std::printf("a dilated window does not count its pairs\n");
            return 1;
        }
    }

    // One packed sequence of three documents, by several conventions.
    const std::vector<std::int32_t> cu_seqlens{0, 700, 6000, 8192};
    for (const convention* how :
         {&conventions::exact, &conventions::megatron, &conventions::torch_flop_counter, &boxes}) {
        const flop_counter counter(model, *how);
        tally batch{counter.masks()};
        batch.add_cu_seqlens(cu_seqlens);
        const breakdown work = counter.evaluate(batch);
        std::printf("%-20s %s, of them %s in dilated heads\n", std::string(how->name).c_str(),
                    to_string(work.total()).c_str(), to_string(work["attention.dilated"].total(view::useful)).c_str());
    }

    // On four ranks of tensor parallelism, with 6 near heads and 2 dilated ones each: the ranks' costs add up to the
    // whole.
    const std::vector<model_part> parts = parts_of(model);
    tally batch{model.cost().masks()};
    batch.add_cu_seqlens(cu_seqlens);
    flops of_ranks;
    for (std::uint64_t rank = 0; rank < 4; ++rank) {
        of_ranks += evaluate(tensor_parts(parts, 4, rank), batch).total();
    }
    std::printf("four ranks           %s\n", to_string(of_ranks).c_str());
    if (of_ranks != evaluate(parts, batch).total()) {
        std::printf("the ranks do not add up to the model\n");
        return 1;
    }

    // In a training loop.
    meter steps(flop_counter(model), {.gpus = 1, .peak_tflops = 989});
    for (int step = 0; step < 3; ++step) {
        steps.begin_step();
        steps.microbatch().add_cu_seqlens(cu_seqlens);
        steps.microbatch().add_cu_seqlens(cu_seqlens);
        steps.end_step(1.25);  // seconds, for example by a GPU timer; end_step() uses the host's clock
    }
    for (const metric& logged : metrics(steps, steps.run(), "train/")) {
        if (logged.name == "train/mfu_pct" || logged.name == "train/tokens_per_second") {
            std::printf("%-28s %.3f (%s)\n", logged.name.c_str(), logged.value, std::string(logged.counted).c_str());
        }
    }
}
