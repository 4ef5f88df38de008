#include "profiler/trace/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

#include "formats/error.h"

namespace wide::profiler {
namespace {

constexpr int kGzip = 16;  // added to the window bits: gzip's header instead of zlib's
constexpr std::size_t kChunk = 1 << 18;

// zlib counts in unsigned int: larger inputs are fed in parts.
uInt part(std::size_t left) {
  return static_cast<uInt>(std::min<std::size_t>(left, std::numeric_limits<uInt>::max()));
}

template <typename Step>
void pump(z_stream& stream, std::string_view in, std::string& out, std::size_t limit, const Step& step) {
  std::size_t fed = 0;
  for (int status = Z_OK; status != Z_STREAM_END;) {
    if (stream.avail_in == 0 && fed < in.size()) {
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data() + fed));
      stream.avail_in = part(in.size() - fed);
      fed += stream.avail_in;
    }
    const auto used = out.size();
    out.resize(used + kChunk);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + used);
    stream.avail_out = static_cast<uInt>(kChunk);
    status = step(stream, fed == in.size());
    out.resize(out.size() - stream.avail_out);
    if (status != Z_OK && status != Z_STREAM_END)
      throw Error("trace", "the compressed trace is damaged or ends early; capture it again");
    if (out.size() > limit)
      throw Error("trace", "the compressed trace unpacks to more than " + std::to_string(limit) + " bytes");
  }
}

// Room for all of it at once, which costs nothing until it is written to: growing would copy, and hold it
// twice.
void make_room(std::string& out, std::size_t packed, std::size_t limit) {
  constexpr std::size_t kBestRatio = 1032;  // deflate packs no better
  constexpr std::size_t kMost = std::size_t{4} << 30;
  try {
    out.reserve(std::min({packed < kMost / kBestRatio ? packed * kBestRatio : kMost, limit, kMost}) +
                2 * kChunk);
  } catch (const std::bad_alloc&) {
    out.clear();  // it grows as it is filled
  }
}

}  // namespace

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw Error("trace", "no memory to compress the trace");
  std::string out;
  pump(stream, bytes, out, std::numeric_limits<std::size_t>::max(),
       [](z_stream& s, bool last) { return deflate(&s, last ? Z_FINISH : Z_NO_FLUSH); });
  deflateEnd(&stream);
  return out;
}

std::string gunzip(std::string_view bytes, std::size_t limit) {
  z_stream stream{};
  if (inflateInit2(&stream, MAX_WBITS + kGzip) != Z_OK) throw Error("trace", "no memory to unpack the trace");
  std::string out;
  make_room(out, bytes.size(), limit);
  try {
    pump(stream, bytes, out, limit, [](z_stream& s, bool) { return inflate(&s, Z_NO_FLUSH); });
  } catch (...) {
    inflateEnd(&stream);
    throw;
  }
  inflateEnd(&stream);
  return out;
}

bool is_gzip(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

}  // namespace wide::profiler
