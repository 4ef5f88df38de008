#pragma once
// When to draw. See Note [When to draw].

#include <chrono>

#include "gui/workbench.h"

namespace wide::gui {

// Note [When to draw]
// Nothing is drawn while nothing happens: the loop sleeps until an event comes, or a job has something to
// show. After an event frames follow for kLively seconds, since tooltips, fades and layouts take more than
// one; after what a job shows, for kSettling. While a child process takes timings there is one frame a
// second, unless the person does something: that is answered as ever, and a case whose times it disturbed
// is measured again (profiler/load.h). Keys and clicks that came in together are seen in several frames,
// which follow at once: none is lost, however short. A frame that the next one outdates, since more input
// waits or letters of another size were asked for, is not drawn: that takes most of its time. While
// History is shown the loop looks now and then whether another process stored something, and draws only
// then.
inline constexpr int kPassedOver = 4;  // frames not drawn one after another, at most
inline constexpr double kLively = 0.7;
inline constexpr double kBetweenFrames = 1.0 / 60;  // meanwhile, unless something happens
inline constexpr double kSettling = 0.2;            // after a job showed something
inline constexpr double kWhileMeasuring = 1.0;
inline constexpr double kWatching = 3.0;      // whether somebody else stored a run
inline constexpr double kWhileWorking = 0.1;  // progress of jobs

class Pace {
 public:
  void touched() { last_event_ = Clock::now(); }  ///< the person did something
  void drawn() { last_frame_ = Clock::now(); }    ///< a frame begins
  /// Whether the frame that was laid out just now is not to be drawn.
  bool passes_over(const Workbench& bench);
  /// Sleeps until there is something to draw; takes events of GLFW.
  void wait(const Workbench& bench) const;

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_event_ = Clock::now(), last_frame_ = Clock::now();
  int passed_over_ = 0;  // since one was drawn
};

}  // namespace wide::gui
