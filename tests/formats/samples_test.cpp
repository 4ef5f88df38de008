// The example inputs of a .pt2: read where they are plain data, and a warning where they are anything else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "formats/exported_program.h"
#include "formats/fault.h"
#include "formats/pickled_data.h"
#include "support.h"

namespace wide::formats {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kPlace = "sample_inputs/model.pt";

ExportedProgram parse(const std::string& file) {
  return parse_exported_program(test::bytes_of(file), "m.pt2");
}

// Little-endian, as in the opcodes with an argument of four bytes.
std::string four(std::uint32_t value) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

std::string text(std::string_view value) {
  return "X" + four(static_cast<std::uint32_t>(value.size())) + std::string(value);
}

// A tensor of floats over storage 0, which has `elements`.
std::string tensor(std::uint32_t elements, std::uint32_t offset, std::uint32_t size, std::uint32_t stride) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\nFloatStorage\n" + text("0") +
         text("cpu") + "J" + four(elements) + "tQJ" + four(offset) + "J" + four(size) + "\x85J" +
         four(stride) + "\x85\x89" + "ccollections\nOrderedDict\n)RtR";
}

// args and kwargs as opcodes; the storage 0 holds four floats.
std::string archive(const std::string& args, const std::string& kwargs = "}") {
  return test::zip({{"archive/data.pkl", "\x80\x02" + args + kwargs + "\x86."},
                    {"archive/byteorder", "little"},
                    {"archive/data/0", std::string(16, '\0')}});
}

ExportedProgram with_samples(const std::string& bytes) {
  return parse(test::with_member("mlp", kPlace, [&](std::string& member) { member = bytes; }));
}

void expect_warning(const std::string& bytes, std::string_view part) {
  const auto program = with_samples(bytes);
  EXPECT_THAT(program.samples, IsEmpty());
  EXPECT_THAT(program.warnings, ElementsAre(HasSubstr(std::string(part))));
}

class EveryModelsSamples : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(EveryModelsSamples, HasASampleForEveryUserInput) {
  const auto program = read_exported_program(GetParam() / "model.pt2");
  EXPECT_THAT(program.warnings, IsEmpty());
  std::size_t at = 0;
  for (const auto& input : program.inputs) {
    if (input.kind != InputSpec::Kind::kUserInput && input.kind != InputSpec::Kind::kConstantInput) continue;
    ASSERT_LT(at, program.samples.size());
    const auto& sample = program.samples[at++];
    const auto* tensor = std::get_if<TensorName>(&input.argument.value);
    ASSERT_EQ(sample.has_value(), tensor != nullptr);
    if (!tensor) continue;
    const auto& meta = program.graph.tensors.at(tensor->name);
    EXPECT_EQ(sample->dtype, meta.dtype);
    ASSERT_EQ(sample->sizes.size(), meta.sizes.size());
    for (std::size_t i = 0; i < meta.sizes.size(); ++i) {
      if (const auto* size = std::get_if<std::int64_t>(&meta.sizes[i])) {
        EXPECT_EQ(sample->sizes[i], *size);
      }
    }
  }
  EXPECT_EQ(at, program.samples.size());
}

INSTANTIATE_TEST_SUITE_P(Corpus, EveryModelsSamples, testing::ValuesIn(test::corpus()), [](const auto& test) {
  return test.param.filename().string() + "_" + std::to_string(test.index);
});

TEST(Samples, LeavesOfArgsThenKwargsInOrder) {
  const auto program =
      with_samples(archive("(NK\x05" + tensor(4, 1, 3, 1) + "]\x88" + "at",
                           "}" + text("b") + "\x89s" + text("a") + tensor(4, 0, 2, 2) + "s"));
  EXPECT_THAT(program.warnings, IsEmpty());
  ASSERT_EQ(program.samples.size(), 6u);
  EXPECT_FALSE(program.samples[0] || program.samples[1] || program.samples[3] || program.samples[4]);
  ASSERT_TRUE(program.samples[2] && program.samples[5]);
  EXPECT_THAT(program.samples[2]->sizes, ElementsAre(3));
  EXPECT_EQ(program.samples[2]->storage_offset, 1);
  EXPECT_THAT(program.samples[5]->strides, ElementsAre(2));
}

TEST(Samples, NothingButPlainDataIsRead) {
  expect_warning(archive("cos\nsystem\n(" + text("id") + "tR\x85"), "'os system'");
  expect_warning(archive("ctorch._utils\n_rebuild_parameter\n)R\x85"), "'torch._utils _rebuild_parameter'");
  expect_warning(archive(std::string("\x93\x85")), "opcode 147");  // STACK_GLOBAL
  expect_warning(archive("ccollections\nOrderedDict\n)R\x85"), "something else than tensors");
  expect_warning(archive("ctorch\nFloatStorage\n\x85"), "something else than tensors");
  expect_warning("not an archive", "not a sound zip archive");
  expect_warning(test::zip({{"archive/x", "x"}}), "no data.pkl");
}

TEST(Samples, ATensorStaysWithinItsStorage) {
  expect_warning(archive(tensor(4, 0, 5, 1) + "\x85"), "beyond the 16 bytes");
  expect_warning(archive(tensor(4, 4, 1, 1) + "\x85"), "beyond the 16 bytes");
  expect_warning(archive(tensor(4, 0, 2, 0x7fffffff) + "\x85"), "beyond the 16 bytes");
  expect_warning(archive(tensor(4, 0, 0xffffffff, 1) + "\x85"), "negative extent");
  expect_warning(archive(tensor(4, 0xffffffff, 1, 1) + "\x85"), "negative offset");
  expect_warning(archive(tensor(5, 0, 1, 1) + "\x85"), "another number of elements");
  expect_warning(archive(tensor(4, 0, 0x02000000, 0) + "\x85"), "repeats the same elements too often");
}

// A list that holds itself, and tuples that hold the one before twice: neither is walked for ever.
TEST(Samples, CyclesAndGrowthAreRefused) {
  expect_warning(archive("]q\x01h\x01" + std::string("a\x85")), "nested too deeply");
  std::string doubled = "N";
  for (int i = 0; i < 30; ++i) doubled += std::string("q\x01h\x01\x86");
  expect_warning(archive(doubled), "more than 4096 leaves");
}

TEST(Samples, DamageToThePickleIsAtMostAWarning) {
  std::mt19937 random(11);
  std::size_t read = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto file = test::with_member("mlp", kPlace, [&](std::string& member) {
      auto parts = test::unzip(member);
      for (auto& part : parts) {
        if (!part.name.ends_with("data.pkl")) continue;
        for (auto left = 1 + random() % 3; left > 0; --left) {
          const auto at = random() % part.bytes.size();
          if (random() % 4 == 0)
            part.bytes.erase(at, 1);
          else
            part.bytes[at] =
                static_cast<char>(random() % 2 ? random() : part.bytes[random() % part.bytes.size()]);
        }
      }
      member = test::zip(parts);
    });
    const auto program = parse(file);
    EXPECT_EQ(program.samples.empty(), !program.warnings.empty());
    ++(program.samples.empty() ? refused : read);
  }
  EXPECT_GT(refused, 1000u);
  EXPECT_GT(read, 0u);
}

TEST(Samples, DamageToTheInnerArchiveIsAtMostAWarning) {
  std::mt19937 random(12);
  for (int round = 0; round < 2000; ++round) {
    const auto file = test::with_member("mlp", kPlace, [&](std::string& member) {
      for (auto left = 1 + random() % 4; left > 0; --left)
        member[random() % member.size()] = static_cast<char>(random());
    });
    const auto program = parse(file);
    EXPECT_EQ(program.samples.empty(), !program.warnings.empty());
  }
}

std::string pickle_refusal(const std::string& bytes) {
  try {
    read_pickle(test::bytes_of(bytes), {});
    return "";
  } catch (const Fault& fault) {
    return fault.what();
  }
}

TEST(PickledData, IntegersOfEveryWidth) {
  const auto read = [](const std::string& opcodes) {
    const auto data = read_pickle(test::bytes_of("\x80\x02" + opcodes + "."), {});
    return data.values[data.root].integer;
  };
  EXPECT_EQ(read("K\xff"), 255);
  EXPECT_EQ(read("M\xff\xff"), 65535);
  EXPECT_EQ(read("J\xff\xff\xff\xff"), -1);
  EXPECT_EQ(read(std::string("\x8a\x00", 2)), 0);
  EXPECT_EQ(read("\x8a\x01\xfe"), -2);
  EXPECT_EQ(read(std::string("\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80", 10)), INT64_MIN);
}

TEST(PickledData, ABrokenStackIsRefused) {
  EXPECT_THAT(pickle_refusal(""), HasSubstr("cut off"));
  EXPECT_THAT(pickle_refusal("\x80\x04N."), HasSubstr("protocol 2"));
  EXPECT_THAT(pickle_refusal("\x80\x02."), HasSubstr("one value"));
  EXPECT_THAT(pickle_refusal("\x80\x02NN."), HasSubstr("one value"));
  EXPECT_THAT(pickle_refusal("\x80\x02N.x"), HasSubstr("one value"));
  EXPECT_THAT(pickle_refusal("\x80\x02t."), HasSubstr("lacks a mark"));
  EXPECT_THAT(pickle_refusal("\x80\x02N(\x85."), HasSubstr("more values than there are"));
  EXPECT_THAT(pickle_refusal("\x80\x02NNa."), HasSubstr("something else than a list"));
  EXPECT_THAT(pickle_refusal("\x80\x02}(Nu."), HasSubstr("something else than a list or dict"));
  EXPECT_THAT(pickle_refusal("\x80\x02h\x01."), HasSubstr("does not have"));
  EXPECT_THAT(pickle_refusal("\x80\x02X\xff\xff\xff\xffx."), HasSubstr("cut off"));
  EXPECT_THAT(pickle_refusal("\x80\x02"
                             "cos\nsystem\n."),
              HasSubstr("'os system'"));
  EXPECT_THAT(pickle_refusal("\x80\x02\x8a\x09"
                             "123456789."),
              HasSubstr("64 bits"));
  EXPECT_THAT(pickle_refusal(std::string((1 << 20) + 1, 'N')), HasSubstr("1 MiB"));
}

}  // namespace
}  // namespace wide::formats
