// What is made of weights is made once for all programs of a build, and never shown to another constant.
#include "core/strategy/shared_constants.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace wide {
namespace {

constexpr std::int64_t kMembers = 4;

struct Maker {
  int calls = 0;
  at::Tensor operator()(const at::Tensor& constant, const std::string& purpose = "twice") {
    return shared_constant(constant, purpose, [this](const at::Tensor& all) {
      ++calls;
      return all * 2;
    });
  }
};

TEST(SharedConstants, ProgramsOfPartsShareWhatIsMadeOfAll) {
  const SharedConstants sharing(kMembers);
  const auto weights = at::arange(kMembers * 6, at::kFloat).reshape({kMembers, 2, 3});
  Maker make;
  const auto all = make(weights);
  for (std::int64_t member = 0; member < kMembers; ++member) {
    const auto part = make(weights.narrow(0, member, 1));
    EXPECT_TRUE(at::equal(part, 2 * weights.narrow(0, member, 1))) << member;
    EXPECT_TRUE(part.is_alias_of(all)) << member;
  }
  EXPECT_EQ(make.calls, 1);
  EXPECT_EQ(shared_constant_bytes(), weights.numel() * 4);
  (void)make(weights, "another purpose");
  EXPECT_EQ(make.calls, 2);
}

TEST(SharedConstants, APartKeepsWhatIsMadeOfAll) {
  const c10::InferenceMode guard;  // as builds run: a view holds no base
  const SharedConstants sharing(kMembers);
  const auto weights = at::arange(kMembers * 6, at::kFloat).reshape({kMembers, 2, 3});
  Maker make;
  std::vector<at::Tensor> parts;
  for (std::int64_t member = 0; member < kMembers; ++member) {
    parts.push_back(make(weights.narrow(0, member, 1)));
    EXPECT_TRUE(at::equal(parts.back(), 2 * weights.narrow(0, member, 1))) << member;
  }
  EXPECT_EQ(make.calls, 1);
  EXPECT_EQ(shared_constant_bytes(), weights.numel() * 4);
  parts.clear();
  EXPECT_EQ(shared_constant_bytes(), 0);
}

TEST(SharedConstants, OtherConstantsGetTheirOwn) {
  const SharedConstants sharing(kMembers);
  Maker make;
  // In memory of something larger, of another shape, turned, and repeated.
  const auto large = at::arange(96, at::kFloat);
  const auto first = large.narrow(0, 0, 24).view({kMembers, 2, 3}),
             second = large.narrow(0, 24, 24).view({kMembers, 2, 3});
  for (const auto& one : {first, second, first.reshape({kMembers, 3, 2}), first.transpose(1, 2),
                          large.narrow(0, 0, 6).view({1, 2, 3}).expand({kMembers, 2, 3})})
    EXPECT_TRUE(at::equal(make(one), 2 * one));
  EXPECT_EQ(make.calls, 5);
}

// Some 3 MB: more than are stacked at a time.
TEST(SharedConstants, MembersApartAreNeverAllStacked) {
  constexpr std::int64_t kMany = 6;
  std::vector<at::Tensor> members;
  for (std::int64_t i = 0; i < kMany; ++i) members.push_back(at::randn({1 << 17}));
  const Constant apart(members);
  const auto weights = at::stack(members);
  for (const bool shares : {false, true}) {
    std::optional<SharedConstants> sharing;
    if (shares) sharing.emplace(kMany);
    std::int64_t most = 0;
    const auto make = [&](const ConstantPart& part) {
      return shared_constant(part, "twice", [&](const at::Tensor& some) {
        most = std::max(most, some.size(0));
        return some * 2;
      });
    };
    const auto all = make({apart, 0, kMany});
    EXPECT_TRUE(at::equal(all, 2 * weights));
    EXPECT_LT(most, kMany);
    EXPECT_GT(most, 1);
    const auto part = make({apart, 2, 3});
    EXPECT_TRUE(at::equal(part, 2 * weights.narrow(0, 2, 3)));
    EXPECT_EQ(part.is_alias_of(all), shares);
    EXPECT_EQ(apart.stack().storage().nbytes(), 0U) << "they were stacked";
  }
  EXPECT_TRUE(at::equal(ConstantPart(apart, 2, 3).tensor(), weights.narrow(0, 2, 3)));
  EXPECT_TRUE(at::equal(ConstantPart(apart, 2, 3).member(1), weights[3]));
}

TEST(SharedConstants, MembersAreMadeWhenAskedFor) {
  const auto weights = at::randn({kMembers, 1 << 18});
  int made = 0;
  const auto make_member = [&](std::int64_t i) {
    ++made;
    return weights[i] * 3;
  };
  const Constant constant(weights.sizes(), weights.options(), make_member);
  const SharedConstants sharing(kMembers);
  const auto make = [&](const ConstantPart& part) {
    return shared_constant(part, "twice", [](const at::Tensor& some) { return some * 2; });
  };
  EXPECT_EQ(made, 0);
  const auto all = make({constant, 0, kMembers});
  EXPECT_TRUE(at::equal(all, weights * 3 * 2));
  EXPECT_TRUE(make({constant, 1, 2}).is_alias_of(all));
  EXPECT_EQ(made, kMembers) << "each is made once";
  EXPECT_EQ(constant.stack().storage().nbytes(), 0U) << "they were stacked";
  EXPECT_TRUE(at::equal(ConstantPart(constant, 1, 3).member(2), weights[3] * 3));
  const auto stacked = constant.part(1, 2, false);
  EXPECT_TRUE(at::equal(stacked, (weights * 3).narrow(0, 1, 2)));
  constant.settle();
  made = 0;
  EXPECT_TRUE(at::equal(constant.part(3, 1, true), weights[3] * 3));
  EXPECT_EQ(made, 0) << "the stack has it";
  constant.release();
  EXPECT_TRUE(at::equal(stacked, (weights * 3).narrow(0, 1, 2))) << "somebody looks into the stack";
}

// What oneDNN packs cannot be divided among members.
TEST(SharedConstants, PartsOfAWholeAreTheirOwn) {
  const SharedConstants sharing(kMembers);
  std::vector<at::Tensor> members;
  for (std::int64_t i = 0; i < kMembers; ++i) members.push_back(at::full({3}, static_cast<double>(i)));
  const Constant apart(members);
  int calls = 0;
  const auto make = [&](const ConstantPart& part) {
    return shared_whole_constant(part, "twice", [&] {
      ++calls;
      return part.tensor() * 2;
    });
  };
  const auto first = make({apart, 0, 2}), second = make({apart, 2, 2}), again = make({apart, 0, 2});
  EXPECT_TRUE(at::equal(first, 2 * at::stack(members).narrow(0, 0, 2)));
  EXPECT_TRUE(at::equal(second, 2 * at::stack(members).narrow(0, 2, 2)));
  EXPECT_TRUE(again.is_alias_of(first));
  EXPECT_EQ(calls, 2);
}

TEST(SharedConstants, NothingOutlivesWhatItWasMadeOfOrTheBuild) {
  Maker make;
  {
    const SharedConstants sharing(kMembers);
    auto weights = at::ones({kMembers, 2});
    (void)make(weights);  // what was made is gone at once
    EXPECT_EQ(shared_constant_bytes(), 0);
    const auto kept = make(weights);
    EXPECT_EQ(make.calls, 2);
    weights = at::full({kMembers, 2}, 3.0);  // memory of the first may serve the second
    EXPECT_TRUE(at::equal(make(weights), 2 * weights));
  }
  const auto weights = at::ones({kMembers, 2});
  (void)make(weights), (void)make(weights);
  EXPECT_EQ(make.calls, 5);
}

}  // namespace
}  // namespace wide
