// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/integer_view.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/parallel/rank_agreement.hpp>
#include <floptally/parallel/reduction.hpp>
#include <floptally/parallel/token_split.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// A plan of which bytes move when samples of different sizes move between ranks. Every rank computes the same plan
/// from the same numbers, so that ranks need not communicate for it. `mpi.hpp` and `nccl.hpp` carry it out.

namespace floptally::inline v0_3 {

/// The alignment of samples in a message, in bytes. It suffices for any element type of a tensor.
inline constexpr std::uint64_t exchange_alignment = 8;

/// The most bytes that MPI_Alltoallv can count in units of `exchange_alignment`, because it takes ints: 16 GiB − 8.
inline constexpr std::uint64_t max_mpi_bytes = exchange_alignment * std::numeric_limits<std::int32_t>::max();

/// The layout of a rank's sending or receiving buffer. Samples are ordered by the rank that they go to or come from,
/// then by index. Offsets, sizes, counts and displacements are bytes.
struct exchange_buffer {
    std::vector<std::uint64_t> samples;        ///< indices of samples, in the order of the buffer
    std::vector<std::uint64_t> offsets;        ///< offset in the buffer at which each of `samples` begins
    std::vector<std::uint64_t> sizes;          ///< size of each of `samples`, without padding
    std::vector<std::uint64_t> counts;         ///< number of bytes to or from each rank
    std::vector<std::uint64_t> displacements;  ///< offset in the buffer at which the message to or from each rank
                                               ///< begins

    [[nodiscard]] std::uint64_t bytes() const { return counts.empty() ? 0 : displacements.back() + counts.back(); }

    /// Returns the bytes of `samples[index]` within the bytes of the buffer.
    template <class Byte>
    [[nodiscard]] std::span<Byte> sample(std::span<Byte> buffer, std::size_t index) const {
        return buffer.subspan(offsets.at(index), sizes.at(index));
    }

    [[nodiscard]] friend bool operator==(const exchange_buffer&, const exchange_buffer&) = default;
};

/// The buffers that one rank sends and receives in an exchange.
struct rank_exchange {
    std::uint64_t rank = 0;
    exchange_buffer send;
    exchange_buffer receive;

    [[nodiscard]] friend bool operator==(const rank_exchange&, const rank_exchange&) = default;
};

/// The options of an exchange.
struct exchange_options {
    std::uint64_t bytes_per_element = 1;
    /// The number of microbatches whose samples are assigned together. If it is above 1, a sample's destination is
    /// microbatch · ranks + rank.
    std::uint64_t window = 1;
    /// The most bytes of one buffer. Each rank checks the buffers of all ranks, so that either all ranks throw or no
    /// rank does. If only one rank threw, the others would wait for it forever.
    std::uint64_t max_buffer_bytes = max_mpi_bytes;
};

/// The plan that moves samples from the ranks that have them to the ranks that need them. It has one exchange for each
/// microbatch of a window (`exchange_options::window`).
class exchange_plan {
  public:
    /// Creates a plan from the owning rank, the destination and the number of elements of each sample.
    template <integer_range Owners, integer_range Destinations, integer_range Sizes>
    exchange_plan(const Owners& owners, const Destinations& destinations, const Sizes& sizes, std::uint64_t ranks,
                  const exchange_options& options = {})
        : ranks_(ranks), window_(options.window) {
        require_positive(ranks, "ranks");
        require_positive(options.window, "window");
        const std::uint64_t slots = checked(ranks, "window") * options.window;
        if (slots > std::numeric_limits<std::int32_t>::max()) {
            detail::refuse("ranks", {"ranks x window must be at most 2147483647, got ", slots});
        }
        owners_ = detail::nonnegative_below(ranks, "ranks", owners, "owners");
        destinations_ =
            detail::nonnegative_below(slots, window_ == 1 ? "ranks" : "ranks x window", destinations, "destinations");
        require_as_many(owners_.size(), "owners", destinations_.size(), "destinations");
        microbatches_.resize(window_);
        for (std::size_t i = 0; i < destinations_.size(); ++i) {
            microbatches_[destinations_[i] / ranks_].push_back(i);
            destinations_[i] %= ranks_;
        }
        set_sizes(sizes, options.bytes_per_element, options.max_buffer_bytes);
    }

    [[nodiscard]] std::uint64_t ranks() const { return ranks_; }
    [[nodiscard]] std::uint64_t window() const { return window_; }

    [[nodiscard]] const std::vector<std::uint64_t>& owners() const { return owners_; }
    /// Returns the destination of each sample: microbatch · ranks + rank.
    [[nodiscard]] std::vector<std::uint64_t> destinations() const {
        std::vector<std::uint64_t> slots = destinations_;
        for (std::uint64_t microbatch = 0; microbatch < window_; ++microbatch) {
            for (const std::uint64_t sample : microbatches_[microbatch]) {
                slots[sample] += microbatch * ranks_;
            }
        }
        return slots;
    }
    /// The number of bytes of each sample, without padding.
    [[nodiscard]] const std::vector<std::uint64_t>& sizes() const { return bytes_; }

    /// The indices of a microbatch's samples, on all ranks.
    [[nodiscard]] const std::vector<std::uint64_t>& samples_of(std::uint64_t microbatch) const {
        require_below(window_, "window", microbatch, "microbatch");
        return microbatches_[microbatch];
    }

    /// Returns the buffers that a rank sends and receives in a microbatch.
    [[nodiscard]] rank_exchange for_rank(std::uint64_t rank, std::uint64_t microbatch = 0) const {
        require_below(ranks_, "ranks", rank, "rank");
        const std::vector<std::uint64_t>& samples = samples_of(microbatch);
        return {rank, buffer(samples, rank, owners_, destinations_), buffer(samples, rank, destinations_, owners_)};
    }

    /// Returns the plan that sends each sample back to its owner, in its microbatch. The returned plan sends the
    /// buffers that this plan receives.
    [[nodiscard]] exchange_plan inverse() const {
        exchange_plan back = *this;
        std::swap(back.owners_, back.destinations_);
        return back;
    }

    /// Returns the plan that moves other data of these samples: token ids in addition to pixels, or results instead of
    /// inputs.
    template <integer_range Sizes>
    [[nodiscard]] exchange_plan with_sizes(const Sizes& sizes, std::uint64_t bytes_per_element = 1,
                                           std::uint64_t max_buffer_bytes = max_mpi_bytes) const {
        exchange_plan other = *this;
        other.set_sizes(sizes, bytes_per_element, max_buffer_bytes);
        return other;
    }

    [[nodiscard]] friend bool operator==(const exchange_plan&, const exchange_plan&) = default;

  private:
    [[nodiscard]] static std::uint64_t padded(std::uint64_t bytes) { return aligned_length(bytes, exchange_alignment); }

    template <class Sizes>
    void set_sizes(const Sizes& sizes, std::uint64_t bytes_per_element, std::uint64_t max_buffer_bytes) {
        require_positive(bytes_per_element, "bytes_per_element");
        bytes_ = detail::nonnegative(sizes, "sizes");
        require_as_many(owners_.size(), "owners", bytes_.size(), "sizes");
        constexpr std::uint64_t most =
            std::numeric_limits<std::uint64_t>::max() / exchange_alignment * exchange_alignment;
        // If the caller sets no limit, the limit of a buffer is `most` bytes. A larger size, rounded up to a multiple
        // of 8, would not fit 64 bits.
        const bool own_limit = max_buffer_bytes < most;
        for (std::size_t i = 0; i < bytes_.size(); ++i) {
            const bool fits = bytes_[i] <= std::numeric_limits<std::uint64_t>::max() / bytes_per_element;
            bytes_[i] =
                fits ? bytes_[i] * bytes_per_element : checked(bytes_[i], indexed("sizes", i)) * bytes_per_element;
            if (bytes_[i] > (own_limit ? max_buffer_bytes : most)) {
                throw overflow(indexed("sizes", i),
                               detail::text_of({"must be at most ", own_limit ? "max_buffer_bytes = " : "",
                                                own_limit ? max_buffer_bytes : most, " bytes, got ", bytes_[i]}));
            }
        }
        for (std::uint64_t microbatch = 0; microbatch < window_; ++microbatch) {
            require_room("sends", microbatch, owners_, max_buffer_bytes);
            require_room("receives", microbatch, destinations_, max_buffer_bytes);
        }
    }

    void require_room(std::string_view verb, std::uint64_t microbatch, const std::vector<std::uint64_t>& own,
                      std::uint64_t max_buffer_bytes) const {
        std::vector<std::uint64_t> buffers(ranks_, 0);
        for (const std::uint64_t sample : microbatches_[microbatch]) {
            std::uint64_t& bytes = buffers[own[sample]];
            bytes = checked(bytes, "sizes") + padded(bytes_[sample]);
            if (bytes > max_buffer_bytes) {
                throw overflow("sizes", detail::text_of({"rank ", own[sample], " ", verb,
                                                         " more than max_buffer_bytes = ", max_buffer_bytes,
                                                         " in microbatch ", microbatch, ": ", bytes,
                                                         "; use smaller microbatches or raise the limit"}));
            }
        }
    }

    /// Returns the buffer of `rank` for sending or receiving. It has the samples that `own` assigns to `rank`, ordered
    /// by the rank that `other` assigns to them.
    [[nodiscard]] exchange_buffer buffer(const std::vector<std::uint64_t>& samples, std::uint64_t rank,
                                         const std::vector<std::uint64_t>& own,
                                         const std::vector<std::uint64_t>& other) const {
        exchange_buffer result;
        std::copy_if(samples.begin(), samples.end(), std::back_inserter(result.samples),
                     [&](std::uint64_t sample) { return own[sample] == rank; });
        std::stable_sort(result.samples.begin(), result.samples.end(),
                         [&](std::uint64_t a, std::uint64_t b) { return other[a] < other[b]; });
        result.counts.resize(ranks_);
        std::uint64_t end = 0;
        for (const std::uint64_t sample : result.samples) {
            result.offsets.push_back(end);
            result.sizes.push_back(bytes_[sample]);
            result.counts[other[sample]] += padded(bytes_[sample]);
            end += padded(bytes_[sample]);
        }
        end = 0;
        for (const std::uint64_t count : result.counts) {
            result.displacements.push_back(end);
            end += count;
        }
        return result;
    }

    std::uint64_t ranks_;
    std::uint64_t window_;
    std::vector<std::uint64_t> owners_;
    std::vector<std::uint64_t> destinations_;  ///< destination rank of each sample; does not include the microbatch
    std::vector<std::uint64_t> bytes_;         ///< bytes of each sample
    std::vector<std::vector<std::uint64_t>> microbatches_;  ///< indices of the samples of each microbatch, ascending
};

/// Returns the content of a sending buffer. `bytes_of(sample)` returns the sample's bytes, as a vector or a span.
/// Padding is 0, so that equal samples make equal messages.
template <class BytesOf>
[[nodiscard]] std::vector<std::byte> filled_buffer(const exchange_buffer& send, BytesOf bytes_of) {
    std::vector<std::byte> buffer(send.bytes());
    for (std::size_t index = 0; index < send.samples.size(); ++index) {
        const auto& sample = bytes_of(send.samples[index]);
        const std::span<const std::byte> bytes{sample};
        require_as_many(send.sizes[index], "planned", bytes.size(), indexed("bytes", send.samples[index]));
        std::copy(bytes.begin(), bytes.end(), buffer.begin() + static_cast<std::ptrdiff_t>(send.offsets[index]));
    }
    return buffer;
}

/// Throws if `exchange` does not belong to rank `rank` of `ranks`. Also throws if a buffer is null, has a wrong size,
/// or does not begin at a multiple of `exchange_alignment`.
inline void require_exchange(const rank_exchange& exchange, std::uint64_t rank, std::uint64_t ranks,
                             std::span<const std::byte> send, std::span<const std::byte> receive) {
    if (exchange.rank != rank) {
        detail::refuse(
            "rank", {"must be ", rank, ", the rank of this process, got an exchange planned for rank ", exchange.rank});
    }
    require_as_many(ranks, "ranks of the communicator", exchange.send.counts.size(), "ranks");
    const auto require_buffer = [](const exchange_buffer& planned, std::span<const std::byte> bytes,
                                   std::string_view field) {
        if (bytes.size() != planned.bytes()) {
            detail::refuse(field, {"must have ", planned.bytes(), " bytes, got ", bytes.size()});
        }
        if (bytes.data() == nullptr && !bytes.empty()) {
            detail::refuse(field, {"must not be null: pass a buffer of ", planned.bytes(), " bytes"});
        }
        if (reinterpret_cast<std::uintptr_t>(bytes.data()) % exchange_alignment != 0) {
            throw error(field, "must begin at an address that is a multiple of 8: align the buffer to 8 bytes");
        }
    };
    require_buffer(exchange.send, send, "send");
    require_buffer(exchange.receive, receive, "receive");
}

/// Returns numbers of bytes as counts for MPI_Alltoallv, in units of `exchange_alignment`.
[[nodiscard]] inline std::vector<int> mpi_counts(std::span<const std::uint64_t> bytes, std::string_view field) {
    std::vector<int> counts;
    counts.reserve(bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (bytes[i] > max_mpi_bytes) {
            throw overflow(indexed(field, i),
                           detail::text_of({"must be at most ", max_mpi_bytes,
                                            " bytes, the limit of MPI's int counts, got ", bytes[i]}));
        }
        counts.push_back(static_cast<int>(bytes[i] / exchange_alignment));
    }
    return counts;
}

// Collective checks before an exchange: all ranks have the same plan, and each rank can take part.

namespace detail {

/// Six hashes of a plan. Ranks that made their plans from different numbers have different hashes.
class exchange_schema {
  public:
    explicit exchange_schema(const exchange_plan& plan)
        : hashes_{(schema_hash() << plan.ranks()).value(),
                  (schema_hash() << plan.window()).value(),
                  hash_of(plan.owners()),
                  hash_of(plan.destinations()),
                  hash_of(plan.sizes()),
                  (schema_hash() << version).value()} {}

    [[nodiscard]] std::array<std::uint64_t, 12> message() const { return agreement_message(hashes_); }

    static void require_agreement(const std::array<std::uint64_t, 12>& maxima) {
        detail::require_agreement<6>(maxima, {"ranks", "window", "owners", "destinations", "sizes", "version"},
                                     "so nothing was sent");
    }

  private:
    [[nodiscard]] static std::uint64_t hash_of(const std::vector<std::uint64_t>& values) {
        schema_hash hash;
        hash << std::uint64_t{values.size()};
        for (const std::uint64_t value : values) {
            hash << value;
        }
        return hash.value();
    }

    std::array<std::uint64_t, 6> hashes_;
};

}  // namespace detail

/// Throws on every rank if ranks have different plans. Their exchange would hang or deliver wrong bytes. The check
/// takes one MAX all-reduce of twelve integers over the ranks of the plan.
template <integer_reducer Reducer>
void require_same_plan(const exchange_plan& plan, Reducer& everyone) {
    detail::agree(detail::exchange_schema(plan), everyone);
}

/// Runs `prepare`, which may fail on one rank alone (buffers of a wrong size, no memory). If it throws on one rank,
/// every rank throws, so that no rank begins an exchange and waits for a rank that failed. The failed rank throws its
/// own error, the others an error that names the rank. The check takes one MAX all-reduce of one integer. `mpi.hpp` and
/// `nccl.hpp` use it before each exchange. Call it yourself around the allocation of buffers.
template <integer_reducer Reducer, class Prepare>
void prepare_together(std::uint64_t rank, Reducer& everyone, Prepare prepare) {
    std::exception_ptr own_error;
    try {
        prepare();
    } catch (...) {
        own_error = std::current_exception();
    }
    std::uint64_t failed = own_error ? rank + 1 : 0;  // If several ranks failed, the error names the failed rank with
                                                      // the largest number.
    everyone.max(std::span<std::uint64_t>(&failed, 1));
    if (own_error) {
        std::rethrow_exception(own_error);
    }
    if (failed != 0) {
        detail::refuse("exchange",
                       {"rank ", failed - 1, " failed, so nothing was sent: look at the error of that rank"});
    }
}

}  // namespace floptally
