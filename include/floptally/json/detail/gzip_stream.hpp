// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <istream>

#ifdef FLOPTALLY_ZLIB
#include <array>
#include <cstddef>
#include <streambuf>
#include <string>
#include <zlib.h>

#include <floptally/text/error.hpp>
#endif

namespace floptally::inline v0_3::detail {

/// Returns true if a stream begins like a gzip file. Consumes no character.
[[nodiscard]] inline bool is_gzip(std::istream& text) { return text.peek() == 0x1f; }

#ifdef FLOPTALLY_ZLIB
/// Unpacks a gzip file with zlib, one buffer at a time. Reads concatenated gzip members, as gunzip does. zlib checks
/// the CRC and length of each member.
class gzip_buffer : public std::streambuf {
  public:
    explicit gzip_buffer(std::istream& packed) : packed_(packed) {
        if (inflateInit2(&state_, MAX_WBITS + gzip_only) != Z_OK) {
            throw error("trace", "cannot be unpacked: zlib is out of memory; unpack it with gunzip");
        }
    }
    gzip_buffer(const gzip_buffer&) = delete;
    gzip_buffer& operator=(const gzip_buffer&) = delete;
    ~gzip_buffer() override { inflateEnd(&state_); }

  protected:
    int_type underflow() override {
        state_.next_out = reinterpret_cast<Bytef*>(window_.data());
        state_.avail_out = static_cast<uInt>(window_.size());
        while (state_.avail_out == window_.size() && fill()) {
            if (is_member_done_ && inflateReset(&state_) != Z_OK) {
                throw error("trace", "is a broken gzip file: record or copy it again");
            }
            const int result = inflate(&state_, Z_NO_FLUSH);
            if (result != Z_OK && result != Z_STREAM_END) {
                throw error("trace", std::string("is a broken gzip file: ") +
                                         (state_.msg != nullptr ? state_.msg : "zlib cannot go on") +
                                         "; copy it again");
            }
            is_member_done_ = result == Z_STREAM_END;
        }
        char* const end = window_.data() + (window_.size() - state_.avail_out);
        setg(window_.data(), window_.data(), end);
        return end == window_.data() ? traits_type::eof() : traits_type::to_int_type(window_[0]);
    }

  private:
    static constexpr int gzip_only = 16;  ///< number that is added to the window bits to make zlib read the gzip format

    /// Reads more packed bytes if the input buffer is empty. Returns false at the end of the last gzip member.
    bool fill() {
        if (state_.avail_in == 0) {
            packed_.read(input_.data(), static_cast<std::streamsize>(input_.size()));
            state_.next_in = reinterpret_cast<Bytef*>(input_.data());
            state_.avail_in = static_cast<uInt>(packed_.gcount());
        }
        if (state_.avail_in == 0 && !is_member_done_) {
            throw error("trace", "is a broken gzip file: it ends early; copy it again");
        }
        return state_.avail_in != 0;
    }

    std::istream& packed_;
    z_stream state_{};
    bool is_member_done_ = false;
    std::array<char, std::size_t{1} << 15U> input_{};
    std::array<char, std::size_t{1} << 15U> window_{};
};
#endif

}  // namespace floptally::detail
