// Real files with every kind of damage: each is refused with one line, or still sound; nothing else may
// happen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "support.h"

namespace wide::formats {
namespace {

using test::EditableJson;

using testing::HasSubstr;

std::string model(std::string_view folder) {
  return test::slurp(test::model_folder(folder) / "model.pt2");
}

/// Members of the archive, as slices of its text. Of the corpus files each member's bytes occur once.
struct Slice {
  std::string name;
  std::size_t begin, size;
};
std::vector<Slice> slices(const std::string& file) {
  std::vector<Slice> result;
  for (const auto& part : test::unzip(file)) {
    if (part.bytes.empty()) continue;
    const auto header = file.find(part.name);
    result.push_back({part.name, file.find(part.bytes, header), part.bytes.size()});
  }
  return result;
}

class EveryModel : public testing::TestWithParam<std::filesystem::path> {};

// Not only what is read: also sample inputs and weights that checkpoints would replace.
TEST_P(EveryModel, OneFlippedBitInAnyMemberIsRefused) {
  const std::string good = test::slurp(GetParam() / "model.pt2");
  std::mt19937 random(1);
  for (const auto& slice : slices(good)) {
    std::string bad = good;
    bad[slice.begin + random() % slice.size] ^= static_cast<char>(1 << random() % 8);
    EXPECT_THAT(test::refusal(bad), HasSubstr("'" + slice.name + "' does not match its checksum"));
  }
}

TEST_P(EveryModel, ATruncatedFileIsRefused) {
  const std::string good = test::slurp(GetParam() / "model.pt2");
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_NE(test::refusal(good.substr(0, good.size() * i / 50)), "");
    EXPECT_NE(test::refusal(good.substr(0, good.size() - 1 - i)), "");
  }
}

TEST_P(EveryModel, ATruncatedCheckpointIsRefused) {
  const std::string good = test::slurp(GetParam() / "seed0.safetensors");
  ASSERT_EQ(test::safetensors_refusal(good), "");
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_NE(test::safetensors_refusal(good.substr(0, good.size() * i / 50)), "");
    EXPECT_NE(test::safetensors_refusal(good.substr(0, good.size() - 1 - i)), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Corpus, EveryModel, testing::ValuesIn(test::corpus()), [](const auto& test) {
  return test.param.filename().string() + "_" + std::to_string(test.index);
});

// Every byte of the archive's own structure, that is all but the data of the members, replaced in two ways.
TEST(DamagedProgram, EveryStructuralByteMayBeAnything) {
  const std::string good = model("dict_output");
  std::vector<bool> is_data(good.size());
  for (const auto& slice : slices(good))
    std::fill_n(is_data.begin() + static_cast<std::ptrdiff_t>(slice.begin), slice.size, true);
  std::size_t refused = 0, total = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    if (is_data[i]) continue;
    for (const int change : {0x01, 0xff}) {
      std::string bad = good;
      bad[i] ^= static_cast<char>(change);
      refused += !test::refusal(bad).empty();
      ++total;
    }
  }
  EXPECT_GT(total, 3000u);
  EXPECT_GT(refused, total / 10);  // padding and time stamps may change freely
}

TEST(DamagedProgram, RandomBytesAnywhere) {
  const std::string good = model("dict_output");
  std::mt19937 random(2);
  for (int round = 0; round < 3000; ++round) {
    std::string bad = good;
    for (auto left = 1 + random() % 8; left > 0; --left)
      bad[random() % bad.size()] = static_cast<char>(random());
    test::refusal(bad);
  }
}

/// A text or JSON member is damaged and the archive sealed again with right checksums.
void damage_text(std::string_view folder, std::string_view suffix, int rounds, unsigned seed) {
  const auto parts = test::unzip(model(folder));
  std::mt19937 random(seed);
  const std::string_view characters = "{}[]\",:0123456789-+eEtrufalsn\\ ";
  int refused = 0;
  for (int round = 0; round < rounds; ++round) {
    auto bad = parts;
    for (auto& part : bad) {
      if (!part.name.ends_with(suffix)) continue;
      for (auto left = 1 + random() % 3; left > 0; --left) {
        char& target = part.bytes[random() % part.bytes.size()];
        target = random() % 4 ? characters[random() % characters.size()] : static_cast<char>(random());
      }
    }
    refused += !test::refusal(test::zip(bad)).empty();
  }
  EXPECT_GT(refused, rounds / 10);
}

TEST(DamagedProgram, CharactersOfTheGraph) {
  damage_text("dict_output", "models/model.json", 3000, 3);
}
TEST(DamagedProgram, CharactersOfTheWeightsConfig) {
  damage_text("tied_linears", "_weights_config.json", 3000, 4);
}
TEST(DamagedProgram, CharactersOfADynamicGraph) {
  damage_text("minigpt_dynamic", "models/model.json", 100, 5);
}

std::vector<EditableJson*> all_values(EditableJson& json) {
  std::vector<EditableJson*> values = {&json};
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i]->is_structured())
      for (auto& child : *values[i]) values.push_back(&child);
  return values;
}

EditableJson odd_value(std::mt19937& random) {
  static const std::vector<EditableJson> values = {
      nullptr,
      true,
      0,
      -1,
      1,
      65,
      INT64_MIN,
      INT64_MAX,
      UINT64_MAX,
      1.5,
      "",
      "Infinity",
      "..",
      "a/b",
      EditableJson::array(),
      EditableJson::object(),
      {{"as_int", -1}},
      {{"as_int", INT64_MAX}},
      {{"as_none", true}},
      {{"as_unknown", 1}},
      {{"as_expr", {{"expr_str", "Add(Integer(1), Symbol('s0'))"}, {"hint", nullptr}}}},
      "x\n\x1b[31m"};
  return values[random() % values.size()];
}

// Structure-aware: whole JSON values are exchanged, removed or doubled, so that damage gets past the JSON
// parser.
void damage_values(std::string_view folder, std::string_view suffix, int rounds, unsigned seed) {
  const auto parts = test::unzip(model(folder));
  const auto part = std::ranges::find_if(parts, [&](const auto& p) { return p.name.ends_with(suffix); });
  const EditableJson good = EditableJson::parse(part->bytes);
  std::mt19937 random(seed);
  int refused = 0;
  for (int round = 0; round < rounds; ++round) {
    EditableJson bad = good;
    for (auto left = 1 + random() % 2; left > 0; --left) {
      auto values = all_values(bad);
      EditableJson& target = *values[random() % values.size()];
      const auto kind = random() % 4;
      if (kind == 0) {
        const EditableJson other = *values[random() % values.size()];
        target = other;
      } else if (kind == 1 && target.is_structured() && !target.empty()) {
        target.erase(std::next(target.begin(), static_cast<std::ptrdiff_t>(random() % target.size())));
      } else if (kind == 2 && target.is_array() && !target.empty()) {
        const EditableJson copy = target[random() % target.size()];
        target.push_back(copy);
      } else {
        target = odd_value(random);
      }
    }
    auto archive = parts;
    archive[static_cast<std::size_t>(part - parts.begin())].bytes = bad.dump();
    refused += !test::refusal(test::zip(archive)).empty();
  }
  EXPECT_GT(refused, rounds / 10);
}

TEST(DamagedProgram, ValuesOfTheGraph) {
  damage_values("dict_output", "models/model.json", 3000, 6);
}
TEST(DamagedProgram, ValuesOfTheWeightsConfig) {
  damage_values("tied_linears", "_weights_config.json", 4000, 7);
}
TEST(DamagedProgram, ValuesOfADynamicGraph) {
  damage_values("minigpt_dynamic", "models/model.json", 60, 8);
}

TEST(DamagedCheckpoint, EveryHeaderByteMayBeAnything) {
  const std::string good = test::slurp(test::model_folder("tied_linears") / "seed0.safetensors");
  const std::size_t header =
      8 + static_cast<unsigned char>(good[0]) + 256u * static_cast<unsigned char>(good[1]);
  std::size_t refused = 0, total = 0;
  for (std::size_t i = 0; i < header; ++i) {
    for (const int change : {0x01, 0x04, 0x10, 0x20, 0x80, 0xff}) {
      std::string bad = good;
      bad[i] ^= static_cast<char>(change);
      refused += !test::safetensors_refusal(bad).empty();
      ++total;
    }
  }
  EXPECT_GT(total, 2000u);
  EXPECT_GT(refused, total / 2);
}

TEST(DamagedCheckpoint, RandomBytesInTheHeader) {
  const std::string good = test::slurp(test::model_folder("dict_output") / "seed0.safetensors");
  std::mt19937 random(9);
  const std::string_view characters = "{}[]\",:0123456789-+eEtrufalsn\\ ";
  for (int round = 0; round < 20000; ++round) {
    std::string bad = good;
    for (auto left = 1 + random() % 4; left > 0; --left)
      bad[random() % 500] = characters[random() % characters.size()];
    test::safetensors_refusal(bad);
  }
}

}  // namespace
}  // namespace wide::formats
