// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <floptally/batch/length_sums.hpp>
#include <floptally/batch/sample_checks.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/sparse_masks.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Requests that are prefilled and decoded with a cache, as sources: the passes of each, summed in closed form.
/// Enumerated pass by pass in tests/batch/decoding.test.cpp.

namespace floptally {

/// A request: the prompt is prefilled, and so many tokens are generated, one a pass. The last pass of the prompt gives
/// the first of them, and the last one is never read: `generated` tokens are generated − 1 passes after the prompt's.
struct request {
    std::uint32_t prompt = 0;
    std::uint32_t generated = 0;
    /// Tokens at the beginning of the prompt whose keys and values are there already, as a prefix that requests share.
    std::uint32_t cached = 0;

    [[nodiscard]] friend constexpr bool operator==(const request&, const request&) = default;
};

/// Passes of `tokens` new tokens each, `passes` of them, the first after `past` cached tokens and each after those of
/// the one before.
struct pass_run {
    std::uint32_t past = 0;
    std::uint32_t tokens = 0;
    std::uint32_t passes = 0;

    /// The n-th pass, from 0.
    [[nodiscard]] constexpr sequence pass(std::uint32_t n) const {
        return {.length = tokens, .past = past + n * tokens};
    }
    /// All its tokens as one pass.
    [[nodiscard]] constexpr sequence whole() const { return {.length = tokens * passes, .past = past}; }
    /// The run without its first passes.
    [[nodiscard]] constexpr pass_run after(std::uint32_t first) const {
        return {past + first * tokens, tokens, passes - first};
    }
    [[nodiscard]] constexpr pass_run first(std::uint32_t count) const { return {past, tokens, count}; }

    [[nodiscard]] friend constexpr bool operator==(const pass_run&, const pass_run&) = default;
};

/// A prompt in one pass.
inline constexpr std::uint32_t whole_prompt = 0xFFFF'FFFFU;

/// Calls `visit(run)` for the runs of a request, at most three: chunks of the prompt, what is left of it, decoding.
template <class Visit>
constexpr void for_each_run(const request& of, std::uint32_t prefill_chunk, Visit visit) {
    const std::uint32_t computed = of.prompt - of.cached;
    const std::uint32_t chunks = computed / prefill_chunk;
    const std::uint32_t left = computed % prefill_chunk;
    if (chunks != 0) {
        visit(pass_run{of.cached, prefill_chunk, chunks});
    }
    if (left != 0) {
        visit(pass_run{of.prompt - left, left, 1});
    }
    if (of.generated > 1) {
        visit(pass_run{of.prompt, 1, of.generated - 1});
    }
}

namespace detail {

/// Throws for a request that no engine can run.
constexpr void check_request(const request& of, std::string_view field, std::size_t at) {
    if (of.prompt == 0) {
        throw error(indexed(field, at), "must have a prompt of at least 1 token");
    }
    if (of.cached >= of.prompt) {
        refuse(indexed(field, at), {"must compute at least the last token of its prompt: ", of.cached,
                                    " cached tokens of a prompt of ", of.prompt});
    }
    const std::uint64_t length = std::uint64_t{of.prompt} + of.generated;
    if (length > max_sequence_length) {
        refuse(indexed(field, at), {"prompt + generated must be at most ", max_sequence_length, ", got ", length});
    }
}

/// True for a rule whose queries count by their positions alone, so that a sequence counts the same however it is cut
/// into passes.
[[nodiscard]] constexpr bool counts_by_position(const rule& which) {
    return which.shape() == pair_shape::causal || which.is<mask_rules::compressed_keys>() ||
           which.is<mask_rules::best_compressed_keys>();
}

/// The sum of a rule of text over the passes of a run.
[[nodiscard]] constexpr std::uint64_t sum_over(const rule& which, const pass_run& run) {
    if (which.in() != modality::text || which.is_measured()) {
        return 0;
    }
    if (counts_by_position(which) || run.passes == 1) {
        return which(run.whole());
    }
    checked sum(0, "pairs");
    for (std::uint32_t n = 0; n < run.passes; ++n) {
        sum += which(run.pass(n));
    }
    return sum;
}

/// Adds the passes of a run.
constexpr void add_run(const pass_run& run, const mask_set& of, past_sums& sums) {
    const std::uint64_t n = run.tokens;
    const std::uint64_t passes = run.passes;
    sums.squares = checked(sums.squares, "squares") + checked(n * n, "squares") * passes;
    // n·past of each pass, whose past grows by n.
    sums.cached = checked(sums.cached, "cached") + n * (run.past * passes + n * (passes * (passes - 1) / 2));
    sums.tokens += n * passes;
    sums.count += passes;
    for (std::size_t m = 0; m < of.size(); ++m) {
        sums.add(m, of[m], sum_over(of[m], run));
    }
}

/// A source of what derives from it and has `each_run(visit)`: runs of passes, each pass as one sequence.
template <class Source>
class sums_of_runs {
  public:
    using sample = sequence;

    template <class Visit>
    constexpr void each(Visit visit) const {
        static_cast<const Source&>(*this).each_run([&visit](const pass_run& run) {
            for (std::uint32_t n = 0; n < run.passes; ++n) {
                const sequence pass = run.pass(n);
                visit(pass, pass);
            }
        });
    }
    template <class Commit>
    constexpr void sum(const sum_space& space, Commit commit) const {
        require_modality(space.masks(), modality::text, "requests");
        past_sums sums(space.sums(view::useful));
        static_cast<const Source&>(*this).each_run([&](const pass_run& run) { add_run(run, space.masks(), sums); });
        commit(sums, sums);
    }
};

}  // namespace detail

/// A source (source.hpp): runs of passes, which are valid.
class pass_runs : public detail::sums_of_runs<pass_runs> {
  public:
    constexpr explicit pass_runs(std::span<const pass_run> runs) : runs_(runs) {}

    template <class Visit>
    constexpr void each_run(Visit visit) const {
        for (const pass_run& run : runs_) {
            visit(run);
        }
    }

  private:
    std::span<const pass_run> runs_;
};

/// A source: the passes of requests. Their prompts are prefilled in chunks of `prefill_chunk` tokens, or whole.
/// `statistic::count` is the number of passes, each of which computes the logits of its last token
/// (`logit_tokens::last`), as vLLM does for chunks too.
class request_passes : public detail::sums_of_runs<request_passes> {
  public:
    constexpr explicit request_passes(std::span<const request> requests, std::uint32_t prefill_chunk = whole_prompt,
                                      std::string_view field = "requests")
        : requests_(requests), chunk_(prefill_chunk) {
        require_positive(prefill_chunk, "prefill_chunk");
        for (std::size_t i = 0; i < requests.size(); ++i) {
            detail::check_request(requests[i], field, i);
        }
    }

    /// Calls `visit(run)` for each run of passes, request by request.
    template <class Visit>
    constexpr void each_run(Visit visit) const {
        for (const request& one : requests_) {
            for_each_run(one, chunk_, visit);
        }
    }

  private:
    std::span<const request> requests_;
    std::uint32_t chunk_;
};

/// One step of speculative decoding: so many tokens were drafted, and the target model accepted the first of them.
struct speculation {
    std::uint32_t drafted = 0;
    std::uint32_t accepted = 0;

    [[nodiscard]] friend constexpr bool operator==(const speculation&, const speculation&) = default;
};

/// The tokens of speculative steps: three counts that are never one. A step generates its accepted tokens and one more,
/// which the target model samples itself.
struct speculation_counts {
    std::uint64_t drafted = 0;   ///< by the draft model
    std::uint64_t verified = 0;  ///< passed through the target model: the drafted ones and the last sampled one
    std::uint64_t accepted = 0;
    std::uint64_t generated = 0;

    [[nodiscard]] friend constexpr bool operator==(const speculation_counts&, const speculation_counts&) = default;
};

/// The counts of these steps.
[[nodiscard]] constexpr speculation_counts counts_of(std::span<const speculation> steps) {
    speculation_counts sum;
    for (const speculation& step : steps) {
        sum.drafted += step.drafted;
        sum.verified += std::uint64_t{step.drafted} + 1;
        sum.accepted += step.accepted;
        sum.generated += std::uint64_t{step.accepted} + 1;
    }
    return sum;
}

/// The models of speculative decoding.
enum class speculating : std::uint8_t {
    target,  ///< verifies all drafted tokens of a step in one pass
    draft    ///< drafts them one by one, after what it has not read yet
};

/// A source: the passes of a request that is decoded speculatively, after its prompt was prefilled (`request_passes`
/// with one generated token). Slots are the tokens that a pass runs; those of rejected tokens are padding: useful FLOPs
/// are of accepted tokens, executed ones of all.
///
/// The target reads the last sampled token and the drafted ones. The draft reads first what it has not read of the
/// request (the last sampled token; before it the last drafted one where all were accepted), and then each token that
/// it drafted but the last, one a pass.
class speculative_passes {
  public:
    using sample = sequence;

    constexpr speculative_passes(std::uint32_t prompt, std::span<const speculation> steps,
                                 speculating model = speculating::target, std::string_view field = "steps")
        : prompt_(prompt), steps_(steps), model_(model) {
        require_positive(prompt, "prompt");
        std::uint64_t end = prompt;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            if (steps[i].accepted > steps[i].drafted) {
                detail::refuse(
                    detail::text_of({indexed(field, i)}),
                    {steps[i].accepted, " accepted tokens are more than the ", steps[i].drafted, " drafted"});
            }
            if (end + steps[i].drafted + 1 > max_sequence_length) {
                detail::refuse(indexed(field, i), {"ends above ", max_sequence_length, " tokens"});
            }
            end += std::uint64_t{steps[i].accepted} + 1;
        }
    }

    template <class Visit>
    constexpr void each(Visit visit) const {
        std::uint32_t past = prompt_;  // tokens of the request that the target has read
        std::uint32_t read = prompt_;  // and the draft
        for (const speculation& step : steps_) {
            if (model_ == speculating::target) {
                visit(sequence{.length = step.accepted + 1, .past = past},
                      sequence{.length = step.drafted + 1, .past = past});
            } else if (step.drafted != 0) {
                const sequence missed{.length = past + 1 - read, .past = read};
                visit(missed, missed);
                for (std::uint32_t n = 1; n < step.drafted; ++n) {
                    const sequence drafted{.length = 1, .past = past + n};
                    visit(n <= step.accepted ? drafted : sequence{}, drafted);
                }
                read = past + 1 + std::min(step.accepted, step.drafted - 1);
            }
            past += step.accepted + 1;
        }
    }

  private:
    std::uint32_t prompt_;
    std::span<const speculation> steps_;
    speculating model_;
};

}  // namespace floptally
