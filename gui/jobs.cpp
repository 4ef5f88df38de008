#include "gui/jobs.h"

#include <algorithm>
#include <chrono>

namespace wide::gui {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kKept = 50;

}  // namespace

struct JobContext::Job {
  std::uint64_t id = 0;
  std::string title;
  Lane lane = Lane::kFiles;
  JobWork work;
  std::atomic<bool> cancelled = false;
  // Guarded by the mutex of Jobs.
  JobState state = JobState::kWaiting;
  double fraction = -1;
  std::string text;
  Clock::time_point begun, ended;
};

void JobContext::progress(double fraction, std::string text) const {
  {
    const std::lock_guard lock(jobs_.mutex_);
    job_->fraction = fraction;
    job_->text = std::move(text);
  }
  if (jobs_.wake) jobs_.wake();
}

bool JobContext::cancelled() const {
  return job_->cancelled;
}

void JobContext::check() const {
  if (job_->cancelled) throw JobCancelled();
}

void JobContext::post(Apply apply) const {
  {
    const std::lock_guard lock(jobs_.mutex_);
    jobs_.queue_.push_back(std::move(apply));
  }
  if (jobs_.wake) jobs_.wake();
}

Jobs::Jobs() {
  for (const auto lane : {Lane::kEngine, Lane::kMeasure, Lane::kFiles})
    threads_.emplace_back([this, lane] { work(lane); });
}

Jobs::~Jobs() {
  cancel_all();
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
}

std::uint64_t Jobs::start(Lane lane, std::string title, JobWork work) {
  auto job = std::make_shared<Job>();
  job->title = std::move(title);
  job->lane = lane;
  job->work = std::move(work);
  {
    const std::lock_guard lock(mutex_);
    job->id = ++last_id_;
    jobs_.push_back(job);
    while (jobs_.size() > kKept && jobs_.front()->state >= JobState::kDone) jobs_.pop_front();
  }
  changed_.notify_all();
  return job->id;
}

void Jobs::cancel(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  for (const auto& job : jobs_) {
    if (job->id == id) job->cancelled = true;
  }
  changed_.notify_all();
}

void Jobs::cancel_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& job : jobs_) job->cancelled = true;
  changed_.notify_all();
}

bool Jobs::end(std::chrono::milliseconds patience) {
  cancel_all();
  std::unique_lock lock(mutex_);
  const auto runs = [&](bool engine) {
    return std::ranges::any_of(jobs_, [&](const auto& job) {
      return job->state <= JobState::kRunning && (job->lane == Lane::kEngine) == engine;
    });
  };
  changed_.wait(lock, [&] { return !runs(false); });
  return changed_.wait_for(lock, patience, [&] { return !runs(true); });
}

// The lane's oldest waiting job, where another lane does not forbid it. Waits for one; null when closing.
std::shared_ptr<Jobs::Job> Jobs::next(Lane lane) {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    const bool disturbed = std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& job) {
      return job->state == JobState::kRunning && ((lane == Lane::kEngine && job->lane == Lane::kMeasure) ||
                                                  (lane == Lane::kMeasure && job->lane == Lane::kEngine));
    });
    for (const auto& job : jobs_) {
      if (job->lane != lane || job->state != JobState::kWaiting || (disturbed && !job->cancelled)) continue;
      job->state = JobState::kRunning;
      job->begun = Clock::now();
      return job;
    }
    changed_.wait(lock);
  }
  return nullptr;
}

void Jobs::work(Lane lane) {
  while (const auto job = next(lane)) {
    const JobContext context(*this, job);
    try {
      context.check();
      auto apply = job->work(context);
      finish(job, job->cancelled && !apply ? JobState::kCancelled : JobState::kDone, {}, std::move(apply));
    } catch (const JobCancelled&) {
      finish(job, JobState::kCancelled, "cancelled", {});
    } catch (const std::exception& error) {
      // What is thrown after a cancel is mostly its echo.
      finish(job, job->cancelled ? JobState::kCancelled : JobState::kFailed, error.what(), {});
    }
  }
}

void Jobs::finish(const std::shared_ptr<Job>& job, JobState state, std::string text, Apply apply) {
  {
    const std::lock_guard lock(mutex_);
    job->ended = Clock::now();
    job->work = {};
    if (!text.empty()) job->text = std::move(text);
    job->state = state;
    if (state == JobState::kDone) job->fraction = 1;
    if (apply) queue_.push_back(std::move(apply));
    const auto seen = view(*job);
    queue_.push_back([this, seen] {
      if (seen.state == JobState::kFailed && failed) failed(seen);
      if (ended) ended(seen);
    });
  }
  changed_.notify_all();
  if (wake) wake();
}

bool Jobs::pump() {
  bool any = false;
  while (true) {
    Apply apply;
    {
      const std::lock_guard lock(mutex_);
      if (queue_.empty()) return any;
      apply = std::move(queue_.front());
      queue_.pop_front();
    }
    any = true;
    try {
      if (apply) apply();
    } catch (const std::exception& error) {
      if (failed) failed({.title = "Showing a result", .state = JobState::kFailed, .text = error.what()});
    }
  }
}

JobView Jobs::view(const Job& job) const {
  JobView seen{job.id, job.title, job.lane, job.state, job.fraction, job.text, 0};
  if (job.state != JobState::kWaiting) {
    const auto end = job.state == JobState::kRunning ? Clock::now() : job.ended;
    seen.seconds = std::chrono::duration<double>(end - job.begun).count();
  }
  return seen;
}

std::vector<JobView> Jobs::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<JobView> list;
  for (auto job = jobs_.rbegin(); job != jobs_.rend(); ++job) list.push_back(view(**job));
  return list;
}

std::optional<JobView> Jobs::find(std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  for (const auto& job : jobs_) {
    if (job->id == id) return view(*job);
  }
  return std::nullopt;
}

bool Jobs::busy() const {
  const std::lock_guard lock(mutex_);
  return !queue_.empty() || std::any_of(jobs_.begin(), jobs_.end(),
                                        [](const auto& job) { return job->state < JobState::kDone; });
}

bool Jobs::measuring() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(jobs_.begin(), jobs_.end(), [](const auto& job) {
    return job->lane == Lane::kMeasure && job->state == JobState::kRunning;
  });
}

void Jobs::forget_finished() {
  const std::lock_guard lock(mutex_);
  std::erase_if(jobs_, [](const auto& job) { return job->state >= JobState::kDone; });
}

}  // namespace wide::gui
