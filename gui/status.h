#pragma once
// The right end of the menu bar: what measures here, and how far its times can be trusted.

#include <cstdint>
#include <optional>
#include <string>

#include "gui/ui.h"
#include "gui/views/noise.h"

namespace wide::gui {

class Workbench;

struct StatusBar {
  std::string device;          ///< "cpu: Xeon, 2 threads"; empty: not looked up yet
  std::string details;         ///< the same in full, and devices that cannot be used with the reason
  std::optional<Noise> noise;  ///< nothing: no run of this machine says
  std::string fault;           ///< why the results could not be read; empty: they could, or there are none
  bool asked = false;
  std::uint64_t read = 0;  ///< revision of the records that `noise` is of
  std::string shown;       ///< what stands there, as far as it fits
};

/// "noise 1.20 %", or that it is not measured or not known.
std::string noise_text(const StatusBar& status);

/// Starts a job that reads the noise where there is something new to read.
void update(StatusBar& status, Workbench& bench);
/// Width in pixels of as much as fits into `room`.
float fit_status(StatusBar& status, float room);
/// Draws what fit_status() chose, at the cursor.
void draw_status(const StatusBar& status, const Ui& ui);

}  // namespace wide::gui
