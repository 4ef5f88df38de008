#include "app/cli/signals.h"

namespace wide::cli {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

std::atomic<int> first_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);

void note(int number) {
  int none = 0;
  first_signal.compare_exchange_strong(none, number);
}

}  // namespace

SignalWatch::SignalWatch() {
  first_signal = 0;
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler == SIG_IGN) continue;  // nohup asked for it
    ::sigaction(kSignals[i], &action, nullptr);
  }
}

SignalWatch::~SignalWatch() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
}

const std::atomic<int>& SignalWatch::signal() const {
  return first_signal;
}

}  // namespace wide::cli
