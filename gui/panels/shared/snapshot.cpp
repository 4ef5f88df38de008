// The pixels are read back by a draw callback of the foreground, which the backend calls when all else is
// drawn and the context is current.
#include "gui/panels/shared/snapshot.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "formats/error.h"
#include "gui/paths.h"
#include "gui/picture.h"

namespace wide::gui {
namespace {

struct Wish {
  std::filesystem::path file;
  int x, y, width, height;  ///< in pixels of the frame buffer, from below
  Notices* notices;
  std::function<void()> written = {};
};

void take(const ImDrawList*, const ImDrawCmd* command) {
  Wish wish;
  {
    const std::unique_ptr<Wish> owned(static_cast<Wish*>(command->UserCallbackData));
    wish = *owned;
  }
  try {
    write_picture(wish.file, wish.x, wish.y, wish.width, wish.height);
  } catch (const Error& fault) {
    return wish.notices->post(Level::kError, "The picture could not be written", fault.what());
  }
  if (wish.written) return wish.written();
  wish.notices->post(Level::kInfo, "Written", shown_path(wish.file));
}

}  // namespace

void Snapshot::want(std::filesystem::path file, std::function<void()> written) {
  file_ = std::move(file);
  written_ = std::move(written);
  frames_ = 3;
}

std::string Snapshot::refusal() const {
  constexpr int kFew = 2;  // a command may come before or after what is pictured, and a dialog between
  return ImGui::GetFrameCount() - drawn_ <= kFew ? "" : "it is not in view; show it first";
}

void Snapshot::area(const Ui& ui, ImVec2 low, ImVec2 high) {
  drawn_ = ImGui::GetFrameCount();
  if (frames_ == 0 || --frames_ > 0) return;
  const auto& io = ImGui::GetIO();
  const auto scale = io.DisplayFramebufferScale;
  const float bottom = io.DisplaySize.y * scale.y;
  const auto* viewport = ImGui::GetMainViewport();
  const auto pixel = [](float value) { return static_cast<int>(std::lround(value)); };
  const float left = std::max(0.0F, (low.x - viewport->Pos.x) * scale.x);
  const float right = std::min(io.DisplaySize.x * scale.x, (high.x - viewport->Pos.x) * scale.x);
  const float under = std::min(bottom, (high.y - viewport->Pos.y) * scale.y);
  const float top = std::max(0.0F, (low.y - viewport->Pos.y) * scale.y);
  if (right - left < 1 || under - top < 1) return;
  auto wish = std::make_unique<Wish>(Wish{file_, pixel(left), pixel(bottom - under), pixel(right - left),
                                          pixel(under - top), &ui.notices, written_});
  ImGui::GetForegroundDrawList()->AddCallback(take, wish.release());
}

}  // namespace wide::gui
