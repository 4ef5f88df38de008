// Archives that are bad in one way each.
#include "formats/archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/error.h"
#include "support.h"

namespace wide::formats {
namespace {

using test::zip;
using test::ZipPart;
using testing::HasSubstr;
using namespace std::string_literals;

std::string refused(const std::string& file) {
  try {
    const Archive archive(test::bytes_of(file));
    for (const auto& [name, member] : archive.members()) archive.verify(name);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

std::string patched(std::string file, std::size_t offset, std::string_view bytes) {
  return file.replace(offset, bytes.size(), bytes);
}

TEST(Archive, ReadsStoredMembers) {
  const Archive archive(test::bytes_of(zip({{"m/a", "hello"}, {"m/b", ""}, {"m/folder/", ""}})));
  EXPECT_EQ(archive.read("m/a"), test::bytes_of("hello"));
  EXPECT_EQ(archive.read("m/b").size(), 0u);
  EXPECT_EQ(archive.members().size(), 2u);
  EXPECT_THROW(archive.read("m/c"), Error);
}

TEST(Archive, MembersWithoutChecksumReadUnverified) {
  const Archive archive(test::bytes_of(zip({{.name = "m/a", .bytes = "hello", .crc = 0}})));
  EXPECT_EQ(archive.read("m/a"), test::bytes_of("hello"));
  EXPECT_TRUE(Archive::unverified(archive.members().at("m/a")));
}

TEST(Archive, LargeMembersAreReadWhole) {
  std::string big(300'000, '\0');
  for (std::size_t i = 0; i < big.size(); ++i) big[i] = static_cast<char>(i * i >> 3);
  const Archive archive(test::bytes_of(zip({{"m/a", big}})));
  EXPECT_EQ(archive.read("m/a"), test::bytes_of(big));
  archive.verify("m/a");
}

struct Bad {
  const char* what;
  std::string file;
  const char* why;
};
void PrintTo(const Bad& bad, std::ostream* out) {
  *out << bad.what;
}

std::vector<Bad> bad_archives() {
  const std::string good = zip({{"m/a", "hello"}, {"m/b", "world"}});
  const std::size_t end = good.size() - 22;
  const std::size_t second = 30 + 3 + 5;  // offset of the second local header
  return {
      {"wrong_checksum", zip({{.name = "m/a", .bytes = "hello", .crc = 1}}), "does not match its checksum"},
      {"compressed", zip({{.name = "m/a", .bytes = "hello", .method = 8}}), "is compressed"},
      {"encrypted", zip({{.name = "m/a", .bytes = "hello", .flags = 1}}), "is encrypted"},
      {"duplicate", zip({{"m/a", "hello"}, {"m/a", "world"}}), "'m/a' stands twice"},
      {"overlap", zip({{"m/a", "hello"}, {.name = "m/b", .bytes = "x", .local_name = "m/a", .begin = 0}}),
       ""},
      {"shared", zip({{"m/a", "hello"}, {.name = "m/a", .bytes = "hello", .begin = 0}}), "overlap"},
      {"beyond", zip({{.name = "m/a", .bytes = "hello", .size = 6}}), "reaches into the directory"},
      {"huge", zip({{.name = "m/a", .bytes = "hello", .size = 0xfffffffe}}), "reaches into the directory"},
      {"far", zip({{.name = "m/a", .bytes = "hello", .begin = 0xfffffff0}}), "lies outside"},
      {"renamed", zip({{.name = "m/a", .bytes = "hello", .local_name = "m/b"}}), "another name"},
      {"no_zip64_value", zip({{.name = "m/a", .bytes = "hello", .size = 0xffffffff}}), ""},
      {"nul", zip({{"m/a\0b"s, "x"}}), "NUL"},
      {"backslash", zip({{"m\\a", "x"}}), "backslash"},
      {"absolute", zip({{"/m/a", "x"}}), "is absolute"},
      {"drive", zip({{"C:/a", "x"}}), "is absolute"},
      {"dotdot", zip({{"m/../a", "x"}}), "component"},
      {"dot", zip({{"m/./a", "x"}}), "component"},
      {"double_slash", zip({{"m//a", "x"}}), "component"},
      {"empty_name", zip({{"", "x"}}), "is empty"},
      {"full_folder", zip({{"m/", "x"}}), "folder with content"},
      {"appended", good + "x", "not at the end"},
      {"prefixed", "x" + good, "does not end where"},
      {"too_short", good.substr(0, 21), "too short"},
      {"no_end", good.substr(0, end), "not at the end"},
      {"comment", patched(good, end + 20, "\1"), "not at the end"},
      {"two_disks", patched(good, end + 4, "\1"), "several disks"},
      {"fewer_members", patched(patched(good, end + 8, "\1"), end + 10, "\1"), "longer than its members"},
      {"more_members", patched(patched(good, end + 8, "\3"), end + 10, "\3"), ""},
      {"many_members", patched(patched(good, end + 8, "\xff\xff"), end + 10, "\xff\xff"), "too small"},
      {"no_local_header", patched(good, second, "XX"), "no local header"},
      {"local_method", patched(good, second + 8, "\x08"), "disagrees"},
      {"local_size", patched(good, second + 22, "\x06"), "disagrees"},
      {"local_crc", patched(good, second + 14, "\x06"), "disagrees"},
  };
}

class BadArchive : public testing::TestWithParam<Bad> {};

TEST_P(BadArchive, IsRefused) {
  const std::string why = refused(GetParam().file);
  EXPECT_NE(why, "");
  EXPECT_THAT(why, HasSubstr(GetParam().why));
}

INSTANTIATE_TEST_SUITE_P(All, BadArchive, testing::ValuesIn(bad_archives()),
                         [](const auto& test) { return std::string(test.param.what); });

// libzip makes room for as many members as the end record claims.
TEST(Archive, AClaimOfManyMembersCostsNoMemory) {
  const auto number = [](std::uint64_t value, int width) {
    std::string out;
    for (int i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
    return out;
  };
  const std::uint64_t claim = std::uint64_t{1} << 40;
  const std::string end64 = "PK\6\6" + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 8) +
                            number(claim, 8) + number(claim, 8) + number(0, 8) + number(0, 8);
  const std::string locator = "PK\6\7" + number(0, 4) + number(33, 8) + number(1, 4);
  const std::string decoy = end64 + locator + "PK\5\6" + number(0, 4) + number(0xffff, 2) +
                            number(0xffff, 2) + number(0xffffffff, 4) + number(0xffffffff, 4) + number(0, 2);
  EXPECT_THAT(refused(zip({{"m/a", decoy}})), HasSubstr("claims more members"));
}

TEST(Archive, AnArchiveInsideAMemberIsOnlyData) {
  const std::string inner = zip({{"x/a", "inner"}});
  const Archive archive(test::bytes_of(zip({{"m/a", inner}})));
  EXPECT_EQ(archive.read("m/a"), test::bytes_of(inner));
}

}  // namespace
}  // namespace wide::formats
