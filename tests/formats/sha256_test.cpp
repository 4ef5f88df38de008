#include "formats/sha256.h"

#include <gtest/gtest.h>

#include <string_view>

namespace wide::formats {
namespace {

std::string hash(std::string_view text, std::size_t piece = 1000) {
  Sha256 sum;
  for (std::size_t at = 0; at < text.size(); at += piece)
    sum.add(std::as_bytes(std::span(text.substr(at, piece))));
  return sum.hex();
}

// The examples of FIPS 180-4 and its test vectors.
TEST(Sha256Test, IsTheOneOfTheStandard) {
  EXPECT_EQ(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, IsTheSameInPieces) {
  const std::string text(300, 'x');
  for (const std::size_t length : {0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 128, 300}) {
    const std::string part = text.substr(0, length);
    for (const std::size_t piece : {1, 7, 64, 65}) EXPECT_EQ(hash(part, piece), hash(part)) << length;
  }
}

}  // namespace
}  // namespace wide::formats
