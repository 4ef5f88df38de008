#include "formats/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "formats/error.h"
#include "support.h"

namespace wide::formats {
namespace {

using test::safetensors_refusal;
using testing::HasSubstr;

std::string file_of(std::string_view header, std::string_view data = "",
                    std::optional<std::uint64_t> length = {}) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(length.value_or(header.size()) >> (8 * i) & 0xff);
  return out + std::string(header) + std::string(data);
}

struct Bad {
  const char* what;
  std::string file;
  const char* why;
};
void PrintTo(const Bad& bad, std::ostream* out) {
  *out << bad.what;
}

std::vector<Bad> bad_files() {
  const std::string four(4, 'x');
  return {
      {"empty", "", "is empty"},
      {"short", "1234567", "too short"},
      {"length_2_63", file_of("{}", "", std::uint64_t{1} << 63), "9223372036854775808 is beyond the limit"},
      {"length_all_ones", file_of("{}", "", ~std::uint64_t{0}), "beyond the limit"},
      {"torch_save", std::string("PK\3\4\0\0\x08\x08 archive", 16), "is a checkpoint of torch.save"},
      {"old_torch_save", "\x80\x02\x8a\nl\xfc\x9c\x46\xf9 pickle", "is a checkpoint of torch.save"},
      {"index", "{\"metadata\": {}, \"weight_map\": {}}", "is JSON, no safetensors file"},
      {"length_past_end", file_of("{}", "", 3), "reaches beyond the file"},
      {"no_json", file_of("hello"), "not valid JSON"},
      {"array", file_of("[]"), "header is an array"},
      {"utf8", file_of("{\"\xff\": 1}"), "invalid UTF-8"},
      {"duplicate_tensor",
       file_of(
           R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}})",
           "x"),
       "'a' stands twice"},
      {"duplicate_field",
       file_of(R"({"a":{"dtype":"U8","dtype":"U8","shape":[],"data_offsets":[0,1]}})", "x"),
       "'dtype' stands twice"},
      {"metadata_number", file_of(R"({"__metadata__":{"a":1}})"), "__metadata__ is an integer"},
      {"deep", file_of(R"({"a":[[[[[[[[[]]]]]]]]]})"), "nested deeper"},
      {"no_dtype", file_of(R"({"a":{"shape":[],"data_offsets":[0,4]}})", four), "'dtype' is missing"},
      {"unknown_dtype", file_of(R"({"a":{"dtype":"F4","shape":[],"data_offsets":[0,4]}})", four),
       "'F4' is not supported"},
      {"negative", file_of(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", four),
       "where a natural number"},
      {"fraction", file_of(R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", four),
       "where a natural number"},
      {"overflow",
       file_of(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4]}})", four),
       "64 bits"},
      {"byte_overflow",
       file_of(R"({"a":{"dtype":"F64","shape":[4611686018427387904],"data_offsets":[0,4]}})", four),
       "64 bits"},
      {"too_large_extent",
       file_of(R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]}})", four),
       "64-bit"},
      {"size", file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", four), "need 8 bytes"},
      {"past_end", file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", four),
       "do not lie within"},
      {"reversed", file_of(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[4,0]}})", four),
       "do not lie within"},
      {"three_offsets", file_of(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4,4]}})", four),
       "not two numbers"},
      {"hole", file_of(R"({"a":{"dtype":"U8","shape":[],"data_offsets":[1,2]}})", "xx"), "hole or overlap"},
      {"trailing", file_of(R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}})", "xx"),
       "data has 2 bytes"},
      {"overlap",
       file_of(
           R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
           "xxx"),
       "hole or overlap"},
      {"bool", file_of(R"({"a":{"dtype":"BOOL","shape":[],"data_offsets":[0,1]}})", "\2"), "neither 0 nor 1"},
  };
}

class BadSafetensors : public testing::TestWithParam<Bad> {};
TEST_P(BadSafetensors, IsRefused) {
  const auto why = safetensors_refusal(GetParam().file);
  EXPECT_THAT(why, HasSubstr(GetParam().why));
  EXPECT_NE(why, "");
}
INSTANTIATE_TEST_SUITE_P(All, BadSafetensors, testing::ValuesIn(bad_files()),
                         [](const auto& test) { return std::string(test.param.what); });

TEST(Safetensors, ReadsWhatTheReferenceReads) {
  EXPECT_EQ(safetensors_refusal(file_of("{}")), "");
  EXPECT_EQ(safetensors_refusal(file_of("  {}\n ")), "");
  EXPECT_EQ(safetensors_refusal(file_of(R"({"__metadata__":{"format":"pt"}})")), "");
  const auto scalars =
      Safetensors::parse(test::bytes_of(file_of(R"({"b":{"dtype":"U8","shape":[0,4],"data_offsets":[1,1]},
                                 "a":{"dtype":"I8","shape":[],"data_offsets":[0,1]},
                                 "c":{"dtype":"F32","shape":[0],"data_offsets":[1,1]}})",
                                                "\x7f")),
                         "w");
  ASSERT_EQ(scalars.entries().size(), 3u);
  EXPECT_TRUE(scalars.find("a")->shape.empty());
  EXPECT_EQ(scalars.find("a")->bytes[0], std::byte{0x7f});
  EXPECT_EQ(scalars.find("b")->shape, (std::vector<std::int64_t>{0, 4}));
  EXPECT_EQ(scalars.find("d"), nullptr);
}

TEST(Safetensors, EntriesOutliveTheObjectTheyCameFrom) {
  auto copy = [] {
    const auto file = Safetensors::read(test::model_folder("mlp") / "seed0.safetensors");
    return file;
  }();
  EXPECT_GE(copy.entries()[0].bytes.data(), copy.storage()->data());
}

std::vector<SafetensorsEntry> sample(const std::vector<std::byte>& bytes) {
  const std::span<const std::byte> all(bytes);
  return {{"flag", Dtype::kBool, {1}, all.subspan(0, 1)},
          {"w", Dtype::kFloat32, {2, 2}, all.subspan(0, 16)},
          {"ü", Dtype::kBFloat16, {3}, all.subspan(0, 6)},
          {"nothing", Dtype::kFloat64, {0, 5}, {}},
          {"count", Dtype::kInt64, {}, all.subspan(0, 8)}};
}

TEST(SafetensorsWriter, WhatIsWrittenReadsTheSame) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "out.safetensors";
  const std::vector<std::byte> bytes(16, std::byte{1});
  const auto entries = sample(bytes);
  write_safetensors(path, entries, {{"note", "x\ny"}});
  const auto back = Safetensors::read(path);
  ASSERT_EQ(back.entries().size(), entries.size());
  EXPECT_EQ(back.metadata().at("note"), "x\ny");
  for (const auto& entry : entries) {
    const auto* found = back.find(entry.name);
    ASSERT_TRUE(found) << entry.name;
    EXPECT_EQ(found->dtype, entry.dtype);
    EXPECT_EQ(found->shape, entry.shape);
    EXPECT_TRUE(std::ranges::equal(found->bytes, entry.bytes));
    const auto offset = static_cast<std::size_t>(found->bytes.data() - back.storage()->data());
    EXPECT_EQ(offset % item_size(entry.dtype), 0u) << entry.name;
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}),
            1);  // no temporary is left
}

TEST(SafetensorsWriter, TheCorpusSurvivesARoundTrip) {
  const test::TemporaryFolder folder;
  for (const auto& model : test::corpus()) {
    const auto original = Safetensors::read(model / "golden.safetensors");
    write_safetensors(folder.path() / "copy", original.entries(), original.metadata());
    const auto copy = Safetensors::read(folder.path() / "copy");
    ASSERT_EQ(copy.entries().size(), original.entries().size());
    for (std::size_t i = 0; i < copy.entries().size(); ++i) {
      EXPECT_EQ(copy.entries()[i].name, original.entries()[i].name);
      EXPECT_EQ(copy.entries()[i].shape, original.entries()[i].shape);
      EXPECT_TRUE(std::ranges::equal(copy.entries()[i].bytes, original.entries()[i].bytes));
    }
  }
}

std::string write_refusal(const std::filesystem::path& path, const std::vector<SafetensorsEntry>& entries) {
  try {
    write_safetensors(path, entries);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.stage(), "write");
    EXPECT_THAT(error.what(), HasSubstr(path.string()));
    return error.what();
  }
}

TEST(SafetensorsWriter, RefusesWhatCannotBeWritten) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "out";
  const std::vector<std::byte> bytes(16);
  const auto refused = [&](SafetensorsEntry entry) { return write_refusal(path, {std::move(entry)}); };
  EXPECT_THAT(refused({"w", Dtype::kFloat32, {2}, bytes}), HasSubstr("tensor 'w': has 16 bytes"));
  EXPECT_THAT(refused({"w", Dtype::kFloat32, {-1}, {}}), HasSubstr("has 0 bytes"));
  EXPECT_THAT(refused({"w", Dtype::kComplex128, {1}, bytes}), HasSubstr("no type complex128"));
  EXPECT_THAT(refused({"__metadata__", Dtype::kFloat32, {4}, bytes}), HasSubstr("reserved"));
  EXPECT_THAT(refused({"\xff", Dtype::kFloat32, {4}, bytes}), HasSubstr("UTF-8"));
  const SafetensorsEntry twin{"w", Dtype::kFloat32, {4}, bytes};
  EXPECT_THAT(write_refusal(path, {twin, twin}), HasSubstr("two tensors are named 'w'"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SafetensorsWriter, WritesOverNoDatabaseNorWhatBelongsToOne) {
  const test::TemporaryFolder folder;
  const auto database = folder.path() / "r.db", link = folder.path() / "link";
  std::ofstream(database) << "SQLite format 3" << '\0' << "pages";
  std::filesystem::create_symlink("r.db-wal", link);
  for (const auto& file : {database, folder.path() / "r.db-wal", folder.path() / "r.db-journal", link})
    EXPECT_THAT(write_refusal(file, {}), HasSubstr("SQLite database")) << file;
  EXPECT_EQ(std::filesystem::file_size(database), 21u);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "r.db-wal"));
  EXPECT_EQ(write_refusal(folder.path() / "other-wal", {}), "");
}

TEST(SafetensorsWriter, AFailureLeavesTheOldFileAndNoTemporary) {
  const test::TemporaryFolder folder;
  const auto path = folder.write("out.safetensors", "old");
  const std::vector<std::byte> bytes(1 << 16);
  const std::vector<SafetensorsEntry> entries = {{"w", Dtype::kUInt8, {1 << 16}, bytes}};
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{1000, limit.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string why = write_refusal(path, entries);
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(why, HasSubstr("cannot be written"));
  EXPECT_EQ(test::slurp(path), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);

  EXPECT_THAT(write_refusal(folder.path() / "none" / "out", entries), HasSubstr("cannot be created"));
  std::filesystem::create_directory(folder.path() / "taken");
  EXPECT_THAT(write_refusal(folder.path() / "taken", entries), HasSubstr("cannot be replaced"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 2);
}

}  // namespace
}  // namespace wide::formats
