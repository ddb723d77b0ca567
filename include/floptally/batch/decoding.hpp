// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <floptally/batch/length_sums.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Batch sources of inference requests that are prefilled and decoded with a key-value cache. Their passes are
/// summed in closed form. tests/batch/decoding.test.cpp compares the sums with an enumeration of all passes.

namespace floptally::inline v0_3 {

/// An inference request: a prompt to prefill, and the number of tokens to generate, one in each pass. The prompt's last
/// pass yields the first generated token, and the last generated token is not fed back. So `generated` tokens take
/// `generated` − 1 passes after the prompt.
struct request {
    std::uint32_t prompt = 0;
    std::uint32_t generated = 0;
    /// The number of tokens at the start of the prompt that are already in the cache, such as a shared prefix.
    std::uint32_t cached = 0;

    [[nodiscard]] friend constexpr bool operator==(const request&, const request&) = default;
};

/// A run of `passes` consecutive forward passes, each with `tokens` new tokens. Before the first pass, `past` tokens
/// are in the cache.
struct pass_run {
    std::uint32_t past = 0;
    std::uint32_t tokens = 0;
    std::uint32_t passes = 0;

    /// Returns the n-th pass, counted from 0.
    [[nodiscard]] constexpr sequence pass(std::uint32_t n) const {
        return {.length = tokens, .past = past + n * tokens};
    }
    /// Returns one pass with all tokens of the run, as if it had not been split into several passes.
    [[nodiscard]] constexpr sequence whole() const { return {.length = tokens * passes, .past = past}; }
    /// Returns the run without its first `first` passes.
    [[nodiscard]] constexpr pass_run after(std::uint32_t first) const {
        return {past + first * tokens, tokens, passes - first};
    }
    [[nodiscard]] constexpr pass_run first(std::uint32_t count) const { return {past, tokens, count}; }

    [[nodiscard]] friend constexpr bool operator==(const pass_run&, const pass_run&) = default;
};

/// The value of `prefill_chunk` that prefills a prompt in one pass.
inline constexpr std::uint32_t whole_prompt = 0xFFFF'FFFFU;

/// Calls `visit(run)` for the runs of a request, at most three: whole chunks of the prompt, the rest of the prompt, and
/// decoding.
template <class Visit>
constexpr void for_each_run(const request& request, std::uint32_t prefill_chunk, Visit visit) {
    const std::uint32_t computed = request.prompt - request.cached;
    const std::uint32_t chunks = computed / prefill_chunk;
    const std::uint32_t left = computed % prefill_chunk;
    if (chunks != 0) {
        visit(pass_run{request.cached, prefill_chunk, chunks});
    }
    if (left != 0) {
        visit(pass_run{request.prompt - left, left, 1});
    }
    if (request.generated > 1) {
        visit(pass_run{request.prompt, 1, request.generated - 1});
    }
}

namespace detail {

/// Throws `error` for a request that no inference engine can run. `at` is the request's index.
constexpr void check_request(const request& request, std::size_t at) {
    if (request.prompt == 0) {
        throw error(indexed("requests", at), "must have a prompt of at least 1 token, got 0");
    }
    if (request.cached >= request.prompt) {
        refuse(indexed("requests", at), {"must have fewer cached tokens than the ", request.prompt,
                                         " tokens of its prompt, got ", request.cached});
    }
    const std::uint64_t length = std::uint64_t{request.prompt} + request.generated;
    if (length > max_sequence_length) {
        refuse(indexed("requests", at), {"prompt + generated must be at most ", max_sequence_length, ", got ", length});
    }
}

/// Returns the sum of a statistic over the passes of a run. Measured, vision and audio statistics have the sum 0.
[[nodiscard]] constexpr std::uint64_t sum_over(const statistic& which, const pass_run& run) {
    if (which.in() != modality::text || which.is_measured()) {
        return 0;
    }
    if (which.counts_by_position() || run.passes == 1) {
        return which(run.whole());
    }
    checked sum(0, "pairs");
    for (std::uint32_t n = 0; n < run.passes; ++n) {
        sum += which(run.pass(n));
    }
    return sum;
}

/// Adds the passes of a run to `sums`.
constexpr void add_run(const pass_run& run, const mask_set& masks, past_sums& sums) {
    const std::uint64_t n = run.tokens;
    const std::uint64_t passes = run.passes;
    sums.squares = checked(sums.squares, "squares") + checked(n * n, "squares") * passes;
    // Adds (new tokens × cached tokens), summed over the passes. Each pass adds its `n` new tokens to the cache.
    sums.cached = checked(sums.cached, "cached") + n * (run.past * passes + n * (passes * (passes - 1) / 2));
    sums.tokens += n * passes;
    sums.count += passes;
    for (std::size_t m = 0; m < masks.size(); ++m) {
        sums.add(m, masks[m], sum_over(masks[m], run));
    }
}

/// The base class of batch sources that list runs of passes with `each_run(visit)`. Each pass of a run counts as one
/// sequence.
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
    template <class Accumulators>
    constexpr void add_to(Accumulators& accumulators) const {
        const sum_space space = accumulators.space();
        space.masks().require(modality::text, "requests");
        past_sums sums(space.sums(view::useful));
        static_cast<const Source&>(*this).each_run([&](const pass_run& run) { add_run(run, space.masks(), sums); });
        accumulators.commit(sums, sums);
    }
};

}  // namespace detail

/// A batch source: runs of forward passes. Each pass is one sequence. Does not check the runs.
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

/// A batch source: the passes of requests. Prompts are prefilled in chunks of `prefill_chunk` tokens, or whole.
/// `accumulator::count` is the number of passes. Each pass computes the logits of its last token
/// (`logit_tokens::last`), also for chunks, as in vLLM.
class request_passes : public detail::sums_of_runs<request_passes> {
  public:
    constexpr explicit request_passes(std::span<const request> requests, std::uint32_t prefill_chunk = whole_prompt)
        : requests_(requests), chunk_(prefill_chunk) {
        require_positive(prefill_chunk, "prefill_chunk");
        for (std::size_t i = 0; i < requests.size(); ++i) {
            detail::check_request(requests[i], i);
        }
    }

    /// Calls `visit(run)` for each run of passes, request by request.
    template <class Visit>
    constexpr void each_run(Visit visit) const {
        for (const request& request : requests_) {
            for_each_run(request, chunk_, visit);
        }
    }

  private:
    std::span<const request> requests_;
    std::uint32_t chunk_;
};

/// One step of speculative decoding: the number of drafted tokens, and how many of them the target model accepted.
/// Accepted tokens are the first tokens of the draft.
struct speculation {
    std::uint32_t drafted = 0;
    std::uint32_t accepted = 0;

    [[nodiscard]] friend constexpr bool operator==(const speculation&, const speculation&) = default;
};

/// Selects the model of speculative decoding whose passes are counted: the target model or the draft model.
enum class speculating : std::uint8_t {
    target,  ///< the large model: it verifies all drafted tokens of a step in one pass
    draft    ///< the small model: it reads the tokens that are new to it, then drafts tokens one by one
};

/// A batch source: the passes of a request that is decoded speculatively, after its prompt was prefilled. Count the
/// prefill with `request_passes`, as a request with one generated token. All tokens that a pass runs count as padded,
/// but only accepted tokens count as useful. So rejected tokens are like padding.
///
/// In each step, the target reads the last sampled token and the drafted tokens. The draft model first reads the tokens
/// that are new to it: the last sampled token, and before it the last drafted token if all were accepted. Then it reads
/// each drafted token except the last, one in each pass.
class speculative_passes {
  public:
    using sample = sequence;

    constexpr speculative_passes(std::uint32_t prompt, std::span<const speculation> steps,
                                 speculating model = speculating::target)
        : prompt_(prompt), steps_(steps), model_(model) {
        require_positive(prompt, "prompt");
        std::uint64_t end = prompt;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            if (steps[i].accepted > steps[i].drafted) {
                detail::refuse(indexed("steps", i), {"accepted tokens must be at most the ", steps[i].drafted,
                                                     " drafted, got ", steps[i].accepted});
            }
            if (end + steps[i].drafted + 1 > max_sequence_length) {
                detail::refuse(indexed("steps", i), {"the sequence must have at most ", max_sequence_length,
                                                     " tokens after this step: pass fewer steps"});
            }
            end += std::uint64_t{steps[i].accepted} + 1;
        }
    }

    template <class Visit>
    constexpr void each(Visit visit) const {
        std::uint32_t past = prompt_;  // number of the request's tokens that the target model has read so far
        std::uint32_t read = prompt_;  // number of the request's tokens that the draft model has read so far
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
