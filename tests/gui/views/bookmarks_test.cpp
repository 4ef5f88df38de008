// Bookmarks are kept by what was captured, wherever it is read from.
#include "gui/views/bookmarks.h"

#include <gtest/gtest.h>

#include <array>

#include "gui/views/profile_data.h"
#include "profiler/trace/chrome_export.h"
#include "profiler/trace/chrome_import.h"
#include "profiler/trace/sample_traces.h"

namespace wide::gui {
namespace {

TEST(Bookmarks, AProfileIsTheSameFromAFileAndInAnyOrder) {
  const std::array traces = {test::wide_trace(), test::eager_trace()};
  const auto print = fingerprint(traces);
  EXPECT_EQ(print.size(), 16u);
  const std::array turned = {test::eager_trace(), test::wide_trace()};
  EXPECT_EQ(fingerprint(turned), print);
  const auto read = profiler::read_chrome(profiler::chrome_json(std::array{&traces[0], &traces[1]}), "file");
  EXPECT_EQ(fingerprint(read), print);
}

TEST(Bookmarks, AnotherCaptureIsAnother) {
  const std::array one = {test::wide_trace()}, other = {test::eager_trace()};
  EXPECT_NE(fingerprint(one), fingerprint(other));
  std::array renamed = {test::wide_trace()};
  renamed[0].contender = "threads";
  EXPECT_NE(fingerprint(one), fingerprint(renamed));
  EXPECT_NE(fingerprint({}), fingerprint(one));
}

TEST(Bookmarks, TheNewestProfilesAreKept) {
  std::vector<KeptBookmarks> all;
  const std::array<Bookmark, 1> place = {Bookmark{3, "here"}};
  for (int i = 0; i < 40; ++i) keep_bookmarks(all, std::to_string(i), place);
  EXPECT_EQ(all.size(), 32u);
  EXPECT_EQ(all.front().profile, "39");
  EXPECT_TRUE(kept_bookmarks(all, "0").empty());
  EXPECT_EQ(kept_bookmarks(all, "39"), std::vector<Bookmark>(place.begin(), place.end()));
  keep_bookmarks(all, "39", {});
  EXPECT_TRUE(kept_bookmarks(all, "39").empty());
  keep_bookmarks(all, "38", std::vector<Bookmark>(500, place[0]));
  EXPECT_EQ(kept_bookmarks(all, "38").size(), 100u);
  EXPECT_EQ(all.size(), 31u);
}

TEST(ProfileData, WorkOfNoNodeIsTold) {
  std::vector<profiler::Trace> traces;
  traces.push_back(test::wide_trace());
  traces.push_back(test::eager_trace());
  traces[0].facts[profiler::kUntiedFact] = "3 of 8: the driver gave no ids\x1b[2J";
  const auto data = make_profile(std::move(traces), "", [](double, const char*) {});
  const auto texts = untied_texts(data);
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_EQ(texts[0].find("wide: kernels, copies and fills of its CUDA Graph that are of no node: 3 of 8"),
            0u);
  EXPECT_EQ(texts[0].find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace wide::gui
