// SPDX-License-Identifier: Apache-2.0
//
// Real text as packed sequences: paragraphs of different lengths one after another, and their boundaries.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace training {

/// A microbatch of sequences one after another, none of which sees a token of another. The rest of the row is a mock
/// sequence, as collators add that pad to a fixed shape: kernels process it, and nobody learns from it.
struct packed_batch {
    std::vector<std::uint8_t> tokens{};   ///< bytes; every slot of the row
    std::vector<std::uint8_t> targets{};  ///< the byte that follows each
    std::vector<std::int32_t> cu_seqlens{0};
    std::size_t num_real_seqs = 0;

    [[nodiscard]] std::size_t slots() const { return tokens.size(); }
    [[nodiscard]] std::size_t real_tokens() const { return static_cast<std::size_t>(cu_seqlens[num_real_seqs]); }
    [[nodiscard]] std::size_t sequences() const { return cu_seqlens.size() - 1; }
    [[nodiscard]] std::size_t first(std::size_t sequence) const {
        return static_cast<std::size_t>(cu_seqlens[sequence]);
    }
    [[nodiscard]] std::size_t length(std::size_t sequence) const { return first(sequence + 1) - first(sequence); }

    /// Appends a document of at least two bytes: it predicts each but the first.
    void append(std::string_view document) {
        tokens.insert(tokens.end(), document.begin(), document.end() - 1);
        targets.insert(targets.end(), document.begin() + 1, document.end());
        cu_seqlens.push_back(static_cast<std::int32_t>(tokens.size()));
        ++num_real_seqs;
    }

    void pad_to(std::size_t row_slots) {
        if (slots() < row_slots) {
            tokens.resize(row_slots);
            targets.resize(row_slots);
            cu_seqlens.push_back(static_cast<std::int32_t>(row_slots));
        }
    }
};

/// The paragraphs of a file, or of all Markdown files of a folder. A paragraph of more than `longest` bytes is several.
[[nodiscard]] inline std::vector<std::string> read_paragraphs(const std::filesystem::path& path, std::size_t longest) {
    std::vector<std::filesystem::path> files{path};
    if (std::filesystem::is_directory(path)) {
        files.clear();
        for (const auto& entry : std::filesystem::directory_iterator(path)) {
            if (entry.path().extension() == ".md") {
                files.push_back(entry.path());
            }
        }
        std::sort(files.begin(), files.end());
    }
    std::vector<std::string> paragraphs;
    for (const std::filesystem::path& name : files) {
        std::ifstream file(name, std::ios::binary);
        if (!file) {
            throw std::runtime_error("cannot read " + name.string());
        }
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t blank = text.find("\n\n", at);
            const std::size_t end =
                std::min({blank == std::string::npos ? blank : blank + 2, at + longest, text.size()});
            if (end - at > 1) {  // One byte has no next one to predict.
                paragraphs.push_back(text.substr(at, end - at));
            }
            at = end;
        }
    }
    if (paragraphs.empty()) {
        throw std::runtime_error("no text in " + path.string());
    }
    return paragraphs;
}

/// Documents in a new random order each epoch, packed into rows of `slots` tokens. Each must fit a row.
class packer {
  public:
    packer(std::vector<std::string> documents, std::size_t slots, std::uint32_t seed)
        : documents_(std::move(documents)), order_(documents_.size()), slots_(slots), random_(seed) {
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        next_ = order_.size();
    }

    [[nodiscard]] packed_batch next() {
        packed_batch batch;
        for (;;) {
            if (next_ == order_.size()) {
                std::shuffle(order_.begin(), order_.end(), random_);
                next_ = 0;
            }
            const std::string& document = documents_[order_[next_]];
            if (batch.slots() + document.size() - 1 > slots_) {
                batch.pad_to(slots_);
                return batch;
            }
            batch.append(document);
            ++next_;
        }
    }

  private:
    std::vector<std::string> documents_;
    std::vector<std::size_t> order_;
    std::size_t slots_;
    std::size_t next_ = 0;
    std::mt19937 random_;
};

}  // namespace training
