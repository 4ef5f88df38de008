#include "app/model_hash.h"

#include <gtest/gtest.h>

#include <fstream>

#include "app/temporary_folder.h"

namespace wide::app {
namespace {

class ModelHash : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    const auto path = (folder_.path() / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  static presets::CaseSpec model(const std::string& file, const std::vector<std::string>& weights) {
    presets::CaseSpec spec;
    spec.subject = "net";
    spec.kind = "model";
    spec.model = file;
    spec.weights = weights;
    return spec;
  }

  TemporaryFolder folder_{"widebench"};
  ModelHashes hashes_;
};

TEST_F(ModelHash, IsThatOfWhatTheFilesHold) {
  const auto graph = write("g.pt2", "graph"), copy = write("copy.pt2", "graph");
  const auto a = write("a.safetensors", "weights a"), b = write("b.safetensors", "weights b");
  const auto hash = hashes_.of(model(graph, {a, b}));
  EXPECT_EQ(hash.size(), 64u);
  EXPECT_EQ(hashes_.of(model(copy, {a, b})), hash) << "names do not matter";
  EXPECT_NE(hashes_.of(model(graph, {b, a})), hash) << "the order of members does";
  EXPECT_NE(hashes_.of(model(graph, {a})), hash);
  write("g.pt2", "another graph");
  EXPECT_NE(hashes_.of(model(graph, {a, b})), hash) << "the file was read again";
}

TEST_F(ModelHash, IsEmptyForWhatCannotBeRead) {
  const auto graph = write("g.pt2", "graph");
  EXPECT_EQ(hashes_.of(model(graph, {(folder_.path() / "none").string()})), "");
  EXPECT_EQ(hashes_.of(model(folder_.path().string(), {})), "");
  EXPECT_EQ(hashes_.of(model("/dev/zero", {})), "");
}

TEST_F(ModelHash, OfBuiltInSubjectsIsTheirNameAndShape) {
  presets::CaseSpec spec;
  spec.subject = "mlp";
  spec.kind = "zoo";
  spec.shape = {{"batch", 3}};
  const auto hash = hashes_.of(spec);
  EXPECT_EQ(hash.size(), 64u);
  spec.n = 8;
  spec.strategy = "sequential";
  EXPECT_EQ(hashes_.of(spec), hash);
  spec.shape["batch"] = 4;
  EXPECT_NE(hashes_.of(spec), hash);
}

}  // namespace
}  // namespace wide::app
