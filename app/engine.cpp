// What this program says of itself: libtorch, the primitives, the zoo.
#include "app/engine.h"

#include <torch/headeronly/version.h>

#include "app/devices.h"
#include "build_commit.h"
#include "core/eager/operators.h"
#include "core/native/code_cache.h"
#include "core/strategy/primitive.h"
#include "core/strategy/sequential.h"
#include "presets/zoo/zoo.h"
#include "primitives/kernels/clones.h"
#include "source_digest.h"

namespace wide::app {
namespace {

std::vector<SubjectInfo> subjects() {
  std::vector<SubjectInfo> list;
  for (const auto& subject : zoo::subjects()) {
    list.push_back({subject.name, subject.kind, subject.summary, zoo::strategies(subject), {}});
    for (const auto& [name, size] : subject.sizes) list.back().sizes[name] = {size.least, size.most};
  }
  return list;
}

std::vector<PrimitiveInfo> primitive_list() {
  std::vector<PrimitiveInfo> list;
  for (const auto& primitive : primitives()) {
    PrimitiveInfo info{std::string(primitive.name), {}};
    for (const auto& strategy : primitive.strategies) info.strategies.emplace_back(strategy.name);
    info.strategies.emplace_back(kSequential.name);
    list.push_back(std::move(info));
  }
  return list;
}

std::map<std::string, std::string> libraries() {
  const auto& compiler = native::Compiler::of_this_machine();
  return {
      {"libtorch", TORCH_VERSION},
      {"kernels", std::string(kernels::instruction_set())},
      {"compiler", compiler.program.empty() ? "none, groups of operators are interpreted: " + compiler.refusal
                                            : compiler.program.string()}};
}

}  // namespace

Engine engine() {
  Engine result;
  result.version = WIDEBENCH_VERSION;
  result.git_commit =
      *kBuildCommit != 0 ? std::string(kBuildCommit) : std::string("sources-") + kSourceDigest;
  result.subjects = subjects;
  result.primitives = primitive_list;
  result.devices = known_devices;
  result.libraries = libraries;
  result.caches = [] {
    return std::vector<CacheInfo>{{"kernels", native::CodeCache::of_this_user().folder().string()}};
  };
  return result;
}

}  // namespace wide::app
