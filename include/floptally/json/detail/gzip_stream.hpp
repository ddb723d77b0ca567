// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <streambuf>
#include <string_view>
#include <vector>

#include <floptally/text/error.hpp>

namespace floptally::detail {

/// The bytes of a gzip file (RFC 1951, 1952) as a stream unpacks them, a window at a time. Several members follow each
/// other as gunzip reads them; each is checked by its CRC and its length.
class gzip_buffer : public std::streambuf {
  public:
    explicit gzip_buffer(std::istream& packed) : packed_(packed), window_(2 * history) {
        for (std::uint32_t i = 0; i < 256; ++i) {
            std::uint32_t value = i;
            for (int bit = 0; bit < 8; ++bit) {
                value = (value & 1U) != 0 ? 0xEDB88320U ^ (value >> 1U) : value >> 1U;
            }
            crc_table_[i] = value;
        }
        read_header();
    }

  protected:
    int_type underflow() override {
        if (used_ == window_.size()) {  // what a match may still copy stays
            std::copy(window_.end() - history, window_.end(), window_.begin());
            used_ = history;
        }
        const std::size_t before = used_;
        while (used_ == before && !ended_) {
            unpack();
        }
        for (std::size_t i = before; i < used_; ++i) {
            crc_ = crc_table_[(crc_ ^ window_[i]) & 0xFFU] ^ (crc_ >> 8U);
        }
        length_ += static_cast<std::uint32_t>(used_ - before);
        if (used_ == before) {
            return traits_type::eof();
        }
        char* const first = reinterpret_cast<char*>(window_.data());
        setg(first + before, first + before, first + used_);
        return traits_type::to_int_type(*gptr());
    }

  private:
    static constexpr std::ptrdiff_t history = 1 << 15;
    static constexpr unsigned longest_code = 15;

    /// Codes of one alphabet: how many there are of each length, and the symbols in the order of their codes.
    struct huffman {
        std::array<std::uint16_t, longest_code + 1> counts{};
        std::vector<std::uint16_t> symbols{};
    };
    enum class block : std::uint8_t { none, stored, coded };

    [[noreturn]] static void refuse_gzip(std::string_view problem) {
        throw error("trace", std::string("is a broken gzip file: ").append(problem));
    }

    std::uint32_t next_byte() {
        const int byte = packed_.get();
        if (byte == std::istream::traits_type::eof()) {
            refuse_gzip("it ends early");
        }
        return static_cast<std::uint32_t>(byte);
    }

    std::uint32_t bits(unsigned count) {
        while (held_ < count) {
            hold_ |= next_byte() << held_;
            held_ += 8;
        }
        const std::uint32_t value = hold_ & ((1U << count) - 1);
        hold_ >>= count;
        held_ -= count;
        return value;
    }

    std::uint32_t whole(unsigned bytes) {
        std::uint32_t value = 0;
        for (unsigned i = 0; i < bytes; ++i) {
            value |= next_byte() << (8 * i);
        }
        return value;
    }

    void read_header() {
        if (whole(2) != 0x8B1FU || next_byte() != 8) {
            refuse_gzip("no header of one");
        }
        const std::uint32_t flags = next_byte();
        whole(4);
        whole(2);
        if ((flags & 4U) != 0) {
            for (std::uint32_t extra = whole(2); extra != 0; --extra) {
                next_byte();
            }
        }
        for (const std::uint32_t text : {8U, 16U}) {  // a name, a comment
            while ((flags & text) != 0 && next_byte() != 0) {
            }
        }
        if ((flags & 2U) != 0) {
            whole(2);
        }
        crc_ = 0xFFFFFFFFU;
        length_ = 0;
        last_ = false;
    }

    /// Unpacks until there is something, or the file has ended.
    void unpack() {
        if (copies_ == 0 && now_ == block::none) {
            begin_block();
            return;
        }
        while (used_ < window_.size()) {
            if (copies_ != 0) {
                window_[used_] = window_[used_ - distance_];
                ++used_;
                --copies_;
            } else if (now_ == block::stored) {
                if (stored_ == 0) {
                    now_ = block::none;
                    return;
                }
                window_[used_++] = static_cast<unsigned char>(next_byte());
                --stored_;
            } else if (!unpack_symbol()) {
                now_ = block::none;
                return;
            }
        }
    }

    void begin_block() {
        if (last_) {
            end_member();
            return;
        }
        last_ = bits(1) != 0;
        const std::uint32_t kind = bits(2);
        if (kind == 0) {
            hold_ = held_ = 0;  // the rest of a byte
            stored_ = whole(2);
            if ((whole(2) ^ stored_) != 0xFFFFU) {
                refuse_gzip("a stored block does not know its length");
            }
            now_ = block::stored;
        } else if (kind == 1) {
            std::vector<std::uint8_t> lengths(288, 8);
            std::fill(lengths.begin() + 144, lengths.begin() + 256, std::uint8_t{9});
            std::fill(lengths.begin() + 256, lengths.begin() + 280, std::uint8_t{7});
            literals_ = codes_of(lengths);
            distances_ = codes_of(std::vector<std::uint8_t>(30, 5));
            now_ = block::coded;
        } else if (kind == 2) {
            read_codes();
            now_ = block::coded;
        } else {
            refuse_gzip("a block of no kind");
        }
    }

    void end_member() {
        hold_ = held_ = 0;
        if (whole(4) != (crc_ ^ 0xFFFFFFFFU) || whole(4) != length_) {
            refuse_gzip("its check sum is another");
        }
        if (packed_.peek() == 0x1f) {
            read_header();
        } else {
            ended_ = true;
        }
    }

    static huffman codes_of(const std::vector<std::uint8_t>& lengths) {
        huffman codes;
        for (const std::uint8_t length : lengths) {
            ++codes.counts[length];
        }
        codes.counts[0] = 0;
        int left = 1;
        std::array<std::size_t, longest_code + 2> first{};
        for (unsigned length = 1; length <= longest_code; ++length) {
            left = 2 * left - codes.counts[length];
            if (left < 0) {
                refuse_gzip("more codes than there can be");
            }
            first[length + 1] = first[length] + codes.counts[length];
        }
        codes.symbols.resize(first[longest_code + 1]);
        for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol) {
            if (lengths[symbol] != 0) {
                codes.symbols[first[lengths[symbol]]++] = static_cast<std::uint16_t>(symbol);
            }
        }
        return codes;
    }

    std::uint32_t symbol_of(const huffman& codes) {
        std::uint32_t code = 0;
        std::uint32_t first = 0;
        std::uint32_t index = 0;
        for (unsigned length = 1; length <= longest_code; ++length) {
            code |= bits(1);
            const std::uint32_t count = codes.counts[length];
            if (code < first + count) {
                return codes.symbols[index + (code - first)];
            }
            index += count;
            first = (first + count) << 1U;
            code <<= 1U;
        }
        refuse_gzip("a code that nothing has");
    }

    void read_codes() {
        const std::uint32_t literals = bits(5) + 257;
        const std::uint32_t distances = bits(5) + 1;
        const std::uint32_t of_lengths = bits(4) + 4;
        constexpr std::uint8_t order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
        std::vector<std::uint8_t> lengths(19, 0);
        for (std::uint32_t i = 0; i < of_lengths; ++i) {
            lengths[order[i]] = static_cast<std::uint8_t>(bits(3));
        }
        const huffman codes = codes_of(lengths);
        lengths.clear();
        while (lengths.size() < literals + distances) {
            const std::uint32_t symbol = symbol_of(codes);
            if (symbol < 16) {
                lengths.push_back(static_cast<std::uint8_t>(symbol));
                continue;
            }
            if (symbol == 16 && lengths.empty()) {
                refuse_gzip("a length of nothing before");
            }
            const std::uint8_t repeated = symbol == 16 ? lengths.back() : std::uint8_t{0};
            const std::uint32_t times = symbol == 16 ? 3 + bits(2) : symbol == 17 ? 3 + bits(3) : 11 + bits(7);
            lengths.insert(lengths.end(), times, repeated);
        }
        if (lengths.size() != literals + distances) {
            refuse_gzip("more lengths than codes");
        }
        const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(literals);
        literals_ = codes_of({lengths.begin(), middle});
        distances_ = codes_of({middle, lengths.end()});
    }

    /// A byte, or a match to copy; false at the end of the block.
    bool unpack_symbol() {
        const std::uint32_t symbol = symbol_of(literals_);
        if (symbol < 256) {
            window_[used_++] = static_cast<unsigned char>(symbol);
            return true;
        }
        if (symbol == 256) {
            return false;
        }
        constexpr std::uint16_t bases[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                           31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
        constexpr std::uint8_t extra[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                          2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
        constexpr std::uint16_t far[] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                         33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                         1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
        if (symbol - 257 >= 29) {
            refuse_gzip("a match of no length");
        }
        copies_ = bases[symbol - 257] + bits(extra[symbol - 257]);
        const std::uint32_t distance = symbol_of(distances_);
        if (distance >= 30) {
            refuse_gzip("a match of no distance");
        }
        distance_ = far[distance] + bits(distance < 4 ? 0 : distance / 2 - 1);
        if (distance_ > used_) {
            refuse_gzip("a match before its beginning");
        }
        return true;
    }

    std::istream& packed_;
    std::vector<unsigned char> window_;
    std::size_t used_ = 0;
    std::array<std::uint32_t, 256> crc_table_{};
    std::uint32_t crc_ = 0;
    std::uint32_t length_ = 0;
    std::uint32_t hold_ = 0;
    unsigned held_ = 0;
    block now_ = block::none;
    bool last_ = false;
    bool ended_ = false;
    std::uint32_t stored_ = 0;
    std::uint32_t copies_ = 0;
    std::size_t distance_ = 0;
    huffman literals_{};
    huffman distances_{};
};

}  // namespace floptally::detail
