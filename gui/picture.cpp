#include "gui/picture.h"

#include <GLFW/glfw3.h>
#include <imstb_image_write.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace wide::gui {
namespace {

// The names of OpenGL that are used, so that no header of it is needed.
constexpr unsigned kFramebuffer = 0x8D40, kRenderbuffer = 0x8D41, kColour0 = 0x8CE0, kRgba8 = 0x8058,
                   kRgba = 0x1908, kBytes = 0x1401, kColourBit = 0x4000, kPackAlignment = 0x0D05;

template <typename Function>
Function* call(const char* name) {
  return reinterpret_cast<Function*>(glfwGetProcAddress(name));
}

}  // namespace

void clear_picture(int width, int height, const ImVec4& colour) {
  call<void(int, int, int, int)>("glViewport")(0, 0, width, height);
  call<void(float, float, float, float)>("glClearColor")(colour.x, colour.y, colour.z, 1);
  call<void(unsigned)>("glClear")(kColourBit);
}

Offscreen::Offscreen(int width, int height) : width_(width), height_(height) {
  call<void(int, unsigned*)>("glGenFramebuffers")(1, &frame_);
  call<void(int, unsigned*)>("glGenRenderbuffers")(1, &colour_);
  call<void(unsigned, unsigned)>("glBindRenderbuffer")(kRenderbuffer, colour_);
  call<void(unsigned, unsigned, int, int)>("glRenderbufferStorage")(kRenderbuffer, kRgba8, width, height);
  call<void(unsigned, unsigned)>("glBindFramebuffer")(kFramebuffer, frame_);
  call<void(unsigned, unsigned, unsigned, unsigned)>("glFramebufferRenderbuffer")(kFramebuffer, kColour0,
                                                                                  kRenderbuffer, colour_);
}

Offscreen::~Offscreen() {
  call<void(unsigned, unsigned)>("glBindFramebuffer")(kFramebuffer, 0);
  call<void(int, const unsigned*)>("glDeleteRenderbuffers")(1, &colour_);
  call<void(int, const unsigned*)>("glDeleteFramebuffers")(1, &frame_);
}

std::string Offscreen::write(const std::string& file) const {
  const auto row = static_cast<std::size_t>(width_) * 4;
  std::vector<unsigned char> pixels(row * static_cast<std::size_t>(height_)), turned(pixels.size());
  call<void(unsigned, int)>("glPixelStorei")(kPackAlignment, 1);
  call<void(int, int, int, int, unsigned, unsigned, void*)>("glReadPixels")(0, 0, width_, height_, kRgba,
                                                                            kBytes, pixels.data());
  for (int y = 0; y < height_; ++y) {  // OpenGL's first row is the lowest
    const auto* from = pixels.data() + static_cast<std::size_t>(height_ - 1 - y) * row;
    std::copy(from, from + row,
              turned.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(y) * row));
  }
  for (std::size_t i = 3; i < turned.size(); i += 4) turned[i] = 255;
  return stbi_write_png(file.c_str(), width_, height_, 4, turned.data(), width_ * 4) != 0
             ? std::string()
             : file + " cannot be written";
}

}  // namespace wide::gui
