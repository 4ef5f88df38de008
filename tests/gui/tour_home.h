#pragma once
// Where the tour begins: a home folder with a model in it.

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gui/bed.h"

namespace wide::test {

// A home of its own, with the model in it and the working folder there, for as long as the object lives.
class Home {
 public:
  Home() : folder_(scratch() / "home"), before_(std::filesystem::current_path()) {
    if (const char* home = std::getenv("HOME")) home_before_ = home;
    std::filesystem::create_directories(folder_ / "models");
    std::filesystem::copy(
        corpus("resblock"), model(),
        std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
    setenv("HOME", folder_.c_str(), 1);
    std::filesystem::current_path(folder_);
  }
  ~Home() {
    std::error_code ignored;
    std::filesystem::current_path(before_, ignored);
    home_before_ ? setenv("HOME", home_before_->c_str(), 1) : unsetenv("HOME");
  }
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;

  std::filesystem::path model() const { return folder_ / "models/resblock"; }
  std::vector<std::string> files() const {
    std::vector<std::string> paths = {(model() / "model.pt2").string()};
    for (const char* seed : {"seed0", "seed1", "seed2", "seed3"})
      paths.push_back((model() / seed).string() + ".safetensors");
    return paths;
  }

 private:
  std::filesystem::path folder_, before_;
  std::optional<std::string> home_before_;
};

/// The model of the tour is open, with its four members.
void check_model();

}  // namespace wide::test
