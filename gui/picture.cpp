#include "gui/picture.h"

#include <GLFW/glfw3.h>
#include <imstb_image_write.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "formats/fault.h"
#include "formats/file.h"

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

void Offscreen::write(const std::filesystem::path& file) const {
  write_picture(file, 0, 0, width_, height_);
}

void write_picture(const std::filesystem::path& file, int x, int y, int width, int height) {
  const auto row = static_cast<std::size_t>(width) * 4;
  std::vector<unsigned char> pixels(row * static_cast<std::size_t>(height)), turned(pixels.size());
  call<void(unsigned, int)>("glPixelStorei")(kPackAlignment, 1);
  call<void(int, int, int, int, unsigned, unsigned, void*)>("glReadPixels")(x, y, width, height, kRgba,
                                                                            kBytes, pixels.data());
  for (std::size_t i = 3; i < pixels.size(); i += 4) pixels[i] = 255;
  auto to = turned.begin();
  for (auto from = pixels.end(); from != pixels.begin();) {  // OpenGL's first row is the lowest
    from -= static_cast<std::ptrdiff_t>(row);
    to = std::copy_n(from, row, to);
  }
  std::vector<std::byte> png;
  const auto append = [](void* to_all, void* bytes, int count) {
    auto& all = *static_cast<std::vector<std::byte>*>(to_all);
    const auto* begin = static_cast<const std::byte*>(bytes);
    all.insert(all.end(), begin, begin + count);
  };
  if (stbi_write_png_to_func(append, &png, width, height, 4, turned.data(), width * 4) == 0)
    throw Error("write", file.string() + ": the picture is too large");
  const std::span<const std::byte> bytes = png;
  formats::naming_file("write", formats::display_name(file),
                       [&] { formats::replace_file(file, std::span(&bytes, 1)); });
}

}  // namespace wide::gui
