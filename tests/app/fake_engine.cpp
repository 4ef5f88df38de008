#include "app/fake_engine.h"

namespace wide::test {

app::Engine fake_engine() {
  app::Engine engine;
  engine.version = "0.1.0-test";
  engine.subjects = [] {
    std::vector<app::SubjectInfo> subjects;
    for (const auto* name : {"mlp", "deep_mlp", "slow"})
      subjects.push_back({name, "zoo", std::string("model ") + name});
    for (const auto* name : {"linear", "crash", "fail", "hang", "skipped"}) {
      subjects.push_back({name, "primitive", std::string("operation ") + name});
      if (subjects.back().name == "linear") subjects.back().strategies = {"bmm"};
    }
    for (auto& subject : subjects) {
      for (const auto* size : {"batch", "features", "hidden", "in_features", "out_features", "outputs"})
        subject.sizes[size] = {1, 1000};
    }
    return subjects;
  };
  engine.primitives = [] {
    return std::vector<app::PrimitiveInfo>{{"aten.linear.default", {"bmm", "sequential"}}};
  };
  engine.devices = [] {
    return std::vector<app::DeviceInfo>{
        {.name = "cpu", .description = "some CPU"},
        {.name = "cuda", .usable = false, .reason = "no driver; install one"}};
  };
  engine.libraries = [] { return std::map<std::string, std::string>{{"libfake", "1.2.3"}}; };
  engine.caches = [] { return std::vector<app::CacheInfo>{{"kernels", "/nonexistent/cache"}}; };
  return engine;
}

}  // namespace wide::test
