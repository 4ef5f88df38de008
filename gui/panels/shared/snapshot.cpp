// The pixels are read back by a draw callback of the foreground, which the backend calls when all else is
// drawn and the context is current.
#include "gui/panels/shared/snapshot.h"

#include <GLFW/glfw3.h>
#include <imstb_image_write.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "gui/paths.h"

namespace wide::gui {
namespace {

// Of OpenGL; the header is not needed for two functions and their constants.
using ReadPixels = void (*)(int, int, int, int, unsigned, unsigned, void*);
using PixelStore = void (*)(unsigned, int);
constexpr unsigned kRgba = 0x1908, kUnsignedByte = 0x1401, kPackAlignment = 0x0D05;

struct Wish {
  std::filesystem::path file;
  int x, y, width, height;  ///< in pixels of the frame buffer, from below
  Notices* notices;
  std::function<void()> written = {};
};

std::vector<unsigned char> read_pixels(const Wish& wish) {
  const auto read = reinterpret_cast<ReadPixels>(glfwGetProcAddress("glReadPixels"));
  const auto store = reinterpret_cast<PixelStore>(glfwGetProcAddress("glPixelStorei"));
  if (read == nullptr || store == nullptr) return {};
  const auto row = static_cast<std::size_t>(wish.width) * 4;
  std::vector<unsigned char> pixels(row * static_cast<std::size_t>(wish.height)), turned(pixels.size());
  store(kPackAlignment, 1);
  read(wish.x, wish.y, wish.width, wish.height, kRgba, kUnsignedByte, pixels.data());
  for (std::size_t y = 0; y < static_cast<std::size_t>(wish.height);
       ++y) {  // the first row is the lowest one
    const auto from = (static_cast<std::size_t>(wish.height) - 1 - y) * row;
    std::copy_n(pixels.begin() + static_cast<std::ptrdiff_t>(from), row,
                turned.begin() + static_cast<std::ptrdiff_t>(y * row));
  }
  for (std::size_t i = 3; i < turned.size(); i += 4) turned[i] = 255;
  return turned;
}

void take(const ImDrawList*, const ImDrawCmd* command) {
  Wish wish;
  {
    const std::unique_ptr<Wish> owned(static_cast<Wish*>(command->UserCallbackData));
    wish = *owned;
  }
  const auto pixels = read_pixels(wish);
  const bool written = !pixels.empty() && stbi_write_png(wish.file.c_str(), wish.width, wish.height, 4,
                                                         pixels.data(), wish.width * 4) != 0;
  if (written && wish.written) {
    wish.written();
  } else if (written) {
    wish.notices->post(Level::kInfo, "Written", shown_path(wish.file));
  } else {
    wish.notices->post(Level::kError, "The picture could not be written",
                       wish.file.string() + ": choose a folder that can be written to");
  }
}

}  // namespace

void Snapshot::want(std::filesystem::path file, std::function<void()> written) {
  file_ = std::move(file);
  written_ = std::move(written);
  frames_ = 3;
}

void Snapshot::area(const Ui& ui, ImVec2 low, ImVec2 high) {
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
