#pragma once
// Work off the window's thread, with progress and cancel. A job gives back what is to be done with its result
// on the window's thread, so that nothing that panels show needs a lock.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace wide::gui {

/// Thrown by JobContext::check(); ends a job as cancelled.
struct JobCancelled : std::runtime_error {
  JobCancelled() : std::runtime_error("cancelled") {}
};

/// Done on the window's thread; may be empty.
using Apply = std::function<void()>;

/// Jobs of one lane run one after the other. While a kMeasure job runs no kEngine job does, and the window
/// draws one frame a second while nobody touches it: timings are not disturbed by us.
enum class Lane {
  kEngine,   ///< models: loading, planning, building, validating
  kMeasure,  ///< a child process that takes timings
  kFiles,    ///< databases, reports, traces
};

enum class JobState { kWaiting, kRunning, kDone, kFailed, kCancelled };

struct JobView {
  std::uint64_t id = 0;
  std::string title;
  Lane lane = Lane::kFiles;
  JobState state = JobState::kWaiting;
  double fraction = -1;  ///< in [0, 1]; below 0: not known
  std::string text;      ///< what it is at: "case 12 of 57"; of a failed job the whole message
  double seconds = 0;    ///< running so far, or in all
};

class Jobs;

/// What the work sees of its job. Every function may be called from the job's thread.
class JobContext {
 public:
  void progress(double fraction, std::string text) const;
  bool cancelled() const;
  void check() const;  ///< throws JobCancelled
  /// Queues something for the window's thread: results that come in while the job goes on.
  void post(Apply apply) const;

 private:
  friend class Jobs;
  struct Job;
  JobContext(Jobs& jobs, std::shared_ptr<Job> job) : jobs_(jobs), job_(std::move(job)) {}
  Jobs& jobs_;
  std::shared_ptr<Job> job_;
};

using JobWork = std::function<Apply(const JobContext&)>;

class Jobs {
 public:
  Jobs();
  /// Cancels all and waits for them.
  ~Jobs();
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  /// Returns the job's id, never 0. What `work` throws ends the job as failed and goes to `failed`.
  std::uint64_t start(Lane lane, std::string title, JobWork work);
  void cancel(std::uint64_t id);
  void cancel_all();
  /// Cancels all and waits for them, but for those of the engine no longer than `patience`: between two steps
  /// of a large model they may go on for long. True where none is left.
  bool end(std::chrono::milliseconds patience);

  /// Window's thread: does what jobs have queued. True when something was.
  bool pump();
  /// Window's thread: newest first; the finished ones among the last 50.
  std::vector<JobView> list() const;
  std::optional<JobView> find(std::uint64_t id) const;
  bool busy() const;       ///< one waits or runs
  bool measuring() const;  ///< a kMeasure job runs
  void forget_finished();

  /// Called by pump(): title and message of a job that failed; the window posts a notice.
  std::function<void(const JobView&)> failed;
  std::function<void(const JobView&)> ended;  ///< called by pump() for every job that ended, however
  std::function<void()> wake;                 ///< any thread: there is something to draw

 private:
  friend class JobContext;
  using Job = JobContext::Job;
  void work(Lane lane);
  std::shared_ptr<Job> next(Lane lane);
  void finish(const std::shared_ptr<Job>& job, JobState state, std::string text, Apply apply);
  JobView view(const Job& job) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> jobs_;  ///< oldest first
  std::deque<Apply> queue_;
  std::uint64_t last_id_ = 0;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace wide::gui
