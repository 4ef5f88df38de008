#pragma once

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "gui/settings.h"

namespace wide::gui {

/// Writes settings to a file, on a thread of its own: bringing them to disk takes what the disk takes, which
/// on a busy machine is more than a frame may. Of several that wait the last is written.
class SettingsKeeper {
 public:
  /// An empty path: nothing is kept.
  explicit SettingsKeeper(std::filesystem::path file);
  SettingsKeeper(const SettingsKeeper&) = delete;

  /// The first time it waits, so that it is told at once where nothing can be kept. Gives what went wrong
  /// with the last that was written; empty: nothing.
  std::string keep(const Settings& settings);
  /// The last ones: written when it comes back.
  void close(const Settings& settings);

 private:
  void work(const std::stop_token& stop);

  std::filesystem::path file_;
  bool first_ = true;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<Settings> wanted_;
  std::string problem_;
  std::jthread thread_;  ///< the last member: it ends first
};

}  // namespace wide::gui
