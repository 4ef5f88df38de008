#include "gui/settings_keeper.h"

#include <stop_token>
#include <utility>

namespace wide::gui {

SettingsKeeper::SettingsKeeper(std::filesystem::path file)
    : file_(std::move(file)), thread_([this](const std::stop_token& stop) { work(stop); }) {}

std::string SettingsKeeper::keep(const Settings& settings) {
  if (file_.empty()) return {};
  const std::lock_guard lock(mutex_);
  if (std::exchange(first_, false)) return problem_ = write_settings(file_, settings);
  wanted_ = settings;
  changed_.notify_one();
  return problem_;
}

void SettingsKeeper::close(const Settings& settings) {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();  // what it writes now must not come after these
  if (!file_.empty()) (void)write_settings(file_, settings);
}

void SettingsKeeper::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return wanted_.has_value(); })) {
    const auto settings = *std::exchange(wanted_, std::nullopt);
    lock.unlock();
    auto problem = write_settings(file_, settings);
    lock.lock();
    problem_ = std::move(problem);
  }
}

}  // namespace wide::gui
