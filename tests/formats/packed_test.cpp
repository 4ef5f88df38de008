#include "formats/packed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "formats/error.h"
#include "support.h"

namespace wide::formats {
namespace {

using testing::HasSubstr;

/// Checkpoints of the model, packed into `path`.
std::vector<Safetensors> pack(const std::filesystem::path& model, const std::filesystem::path& path) {
  std::vector<Safetensors> files;
  std::vector<PackMember> members;
  for (int i = 0; i < 4; ++i) {
    const auto name = "seed" + std::to_string(i);
    files.push_back(Safetensors::read(model / (name + ".safetensors")));
    members.push_back({name, name, files.back().entries(), std::string(files.back().header())});
  }
  write_packed(path, members);
  return files;
}

TEST(Packed, TheCorpusSurvivesARoundTrip) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "packed.safetensors";
  for (const auto& model : test::corpus()) {
    const auto files = pack(model, path);
    const auto packed = Packed::of(Safetensors::read(path), "packed");
    ASSERT_TRUE(packed);
    EXPECT_THAT(packed->members(), testing::ElementsAre("seed0", "seed1", "seed2", "seed3"));
    EXPECT_EQ(packed_members(path), packed->members());
    for (std::size_t i = 0; i < 4; ++i) {
      const auto member = packed->member(i);
      ASSERT_EQ(member.entries.size(), files[i].entries().size());
      for (std::size_t k = 0; k < member.entries.size(); ++k) {
        const auto &a = member.entries[k], &b = files[i].entries()[k];
        EXPECT_EQ(std::tie(a.name, a.dtype, a.shape), std::tie(b.name, b.dtype, b.shape));
        EXPECT_TRUE(std::ranges::equal(a.bytes, b.bytes)) << a.name;
      }
      packed->write_member(i, folder.path() / "one");
      EXPECT_EQ(test::slurp(folder.path() / "one"),
                test::slurp(model / ("seed" + std::to_string(i) + ".safetensors")));
    }
  }
}

TEST(Packed, AnOrdinaryCheckpointOrAnotherFormatIsNone) {
  EXPECT_FALSE(packed_members(test::model_folder("mlp") / "model.pt2"));
  const auto path = test::model_folder("mlp") / "seed0.safetensors";
  EXPECT_FALSE(Packed::of(Safetensors::read(path), "seed0"));
  EXPECT_FALSE(packed_members(path));
}

TEST(Packed, DamagedMetadataIsRefusedOrSound) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "packed.safetensors";
  pack(test::model_folder("tied_linears"), path);
  const auto whole = test::slurp(path);
  const auto size = Safetensors::read(path).header().size();
  std::mt19937 random(19);
  int refused = 0, sound = 0;
  for (int i = 0; i < 4000; ++i) {
    auto text = whole;
    for (unsigned n = 0; n <= random() % 3; ++n) {
      const auto place = 8 + random() % size;
      text[place] = random() % 2 ? static_cast<char>(random()) : text[8 + random() % size];
    }
    try {
      const auto packed = Packed::of(Safetensors::parse(test::bytes_of(text), "mutant"), "mutant");
      for (std::size_t k = 0; packed && k < packed->members().size(); ++k) {
        EXPECT_EQ(objection_to_member_name(packed->members()[k]), "");
        packed->write_member(k, folder.path() / "one");
        Safetensors::read(folder.path() / "one");
      }
      ++sound;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(sound, 10);
}

TEST(Packed, NamesArePathsBelowAFolder) {
  for (const char* good : {"a", "a b", "run/model", "…", "a..b", "...", "#2", "a\\b", "~"})
    EXPECT_EQ(objection_to_member_name(good), "") << good;
  for (const char* bad : {"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/..", "a/./b", "a\nb", "\x7f"})
    EXPECT_NE(objection_to_member_name(bad), "") << bad;
  EXPECT_NE(objection_to_member_name(std::string_view("a\0b", 3)), "");
}

}  // namespace
}  // namespace wide::formats
