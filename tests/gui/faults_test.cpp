// What is missing or broken around the window is said, and nothing else stops working.
#include <cstdlib>
#include <fstream>

#include "gui/results_bed.h"

namespace wide::test {
namespace {

// A window whose database is what `make` left there.
template <typename Make>
void with_database(ImGuiTestContext* ctx, const Make& make) {
  with_no_results(ctx);
  const auto path = database();
  std::filesystem::create_directories(path.parent_path());
  make(path);
  fresh(ctx);
  settle(ctx);
}

// Told at once and in the panel, with the file's name; the rest of the window works.
void is_told(ImGuiTestContext* ctx, const std::string& words) {
  IM_CHECK(noticed("Results cannot be read"));
  IM_CHECK(noticed(database().string()));
  if (!noticed(words)) IM_ERRORF("\"%s\" says nothing of \"%s\"", newest_notice().c_str(), words.c_str());
  IM_CHECK_STR_EQ(gui::noise_text(bench().status).c_str(), "noise not known");
  show(ctx, "history");
  settle(ctx);
  ctx->Yield(6);
  IM_CHECK(ctx->ItemExists("//###History/###again"));
  IM_CHECK(panels().history->fault.find(database().string()) != std::string::npos);
  show(ctx, "sweep");
  settle(ctx);
  bench().commands.run("file.sample");
  settle(ctx);
  IM_CHECK(bench().session.model != nullptr);
}

void no_database_at_all(ImGuiTestContext* ctx) {
  with_database(ctx, [](const auto& path) { std::ofstream(path) << std::string(5000, 'x'); });
  is_told(ctx, "no SQLite database");
  const auto before = bytes_of(database());
  bench().commands.run("sweep.take_command", "widebench benchmark linear -p ci -n 2");
  ctx->Yield(2);
  bench().commands.run("sweep.start");
  settle(ctx);
  IM_CHECK(noticed("Sweep did not work"));
  IM_CHECK(bytes_of(database()) == before);  // somebody's file is left as it was
}

void a_newer_schema(ImGuiTestContext* ctx) {
  with_database(ctx, [](const auto& path) {
    { const auto made = results::Store::open(path, results::OpenMode::kReadWrite); }
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    constexpr std::streamoff kUserVersion = 60;  // of SQLite's header: four bytes, the highest first
    file.seekp(kUserVersion);
    file.write("\x00\x0f\x42\x40", 4);
  });
  is_told(ctx, "newer");
}

void an_unreadable_database(ImGuiTestContext* ctx) {
  with_database(ctx, [](const auto& path) { std::filesystem::create_directories(path); });
  is_told(ctx, "");
}

void a_database_comes_back(ImGuiTestContext* ctx) {
  with_database(ctx, [](const auto& path) { std::ofstream(path) << std::string(5000, 'x'); });
  show(ctx, "history");
  settle(ctx);
  std::filesystem::remove(database());
  ctx->ItemClick("//###History/###again");
  settle(ctx);
  IM_CHECK(panels().history->fault.empty());
  IM_CHECK(ctx->ItemExists("//###History/Measure the small sweep"));
}

// Puts an environment variable back as it was.
class Without {
 public:
  Without(const char* name, const char* instead) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    if (instead != nullptr) {
      setenv(name, instead, 1);
    } else {
      unsetenv(name);
    }
  }
  ~Without() { setenv(name_, before_.c_str(), 1); }
  Without(const Without&) = delete;
  Without& operator=(const Without&) = delete;

 private:
  const char* name_;
  std::string before_;
};

void nowhere_to_write(ImGuiTestContext* ctx) {
  const Without data("XDG_DATA_HOME", "/proc/none");  // where nobody may write, not even root
  fresh(ctx);
  settle(ctx);
  IM_CHECK(bench().notices.shown().empty());  // nothing is wrong before something is to be kept
  bench().commands.run("sweep.take_command", "widebench benchmark linear -p ci -n 2");
  show(ctx, "sweep");
  bench().commands.run("sweep.start");
  settle(ctx);
  IM_CHECK(noticed("Sweep did not work"));
  IM_CHECK(noticed("/proc/none"));
}

void no_home(ImGuiTestContext* ctx) {
  const Without data("XDG_DATA_HOME", nullptr), home("HOME", nullptr);
  fresh(ctx);
  settle(ctx);
  IM_CHECK_STR_EQ(bench().commands.refusal("sweep.start").c_str(),
                  "there is no place to keep results; set HOME");
  show(ctx, "history");
  settle(ctx);
  bench().commands.run("file.sample");
  settle(ctx);
  IM_CHECK(bench().session.model != nullptr);
}

void no_model(ImGuiTestContext* ctx) {
  fresh(ctx);
  for (const char* command : {"strategies.build", "strategies.validate", "strategies.measure", "graph.text",
                              "inspector.kernel", "file.close"})
    IM_CHECK_STR_EQ(bench().commands.refusal(command).c_str(), "no model is open");
  for (const char* panel : {"Graph", "Strategies", "Inspector", "Models"}) {
    show(ctx, bench().panels.at(0).id.c_str());
    for (const auto& one : bench().panels) {
      if (one.title == panel) show(ctx, one.id.c_str());
    }
    IM_CHECK(ctx->ItemExists(("//###" + std::string(panel) + "/###sample").c_str()));
  }
}

}  // namespace

void add_faults_tests(ImGuiTestEngine* engine) {
  const auto add = [engine](const char* name, ImGuiTestTestFunc* test) {
    IM_REGISTER_TEST(engine, "faults", name)->TestFunc = test;
  };
  add("no database at all", no_database_at_all);
  add("a newer schema", a_newer_schema);
  add("an unreadable database", an_unreadable_database);
  add("a database comes back", a_database_comes_back);
  add("nowhere to write", nowhere_to_write);
  add("no home", no_home);
  add("no model", no_model);
}

}  // namespace wide::test
