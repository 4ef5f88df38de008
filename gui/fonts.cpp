#include "gui/fonts.h"

#include <cstddef>

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): the assembler wants the file's name as text.
#define WIDE_EMBED(symbol, file)                                                                     \
  __asm__(".section .rodata\n.balign 16\n.hidden " #symbol "_begin\n.hidden " #symbol                \
          "_end\n.global " #symbol "_begin\n" #symbol "_begin:\n.incbin \"" WIDEBENCH_FONTS "/" file \
          "\"\n.global " #symbol "_end\n" #symbol "_end:\n.byte 0\n.previous\n");                    \
  extern "C" __attribute__((visibility("hidden"))) const unsigned char symbol##_begin[];             \
  extern "C" __attribute__((visibility("hidden"))) const unsigned char symbol##_end[]

WIDE_EMBED(wide_font_text, "Roboto-Regular.ttf");
WIDE_EMBED(wide_font_bold, "Roboto-Bold.ttf");
WIDE_EMBED(wide_font_mono, "Inconsolata-Medium.ttf");
WIDE_EMBED(wide_font_icons, "Font_Awesome_6_Free-Solid-900.otf");

namespace wide::gui {
namespace {

ImFont* add(const unsigned char* begin, const unsigned char* end, float size, bool merge) {
  ImFontConfig config;
  config.FontDataOwnedByAtlas = false;
  config.MergeMode = merge;
  if (merge) {
    // Icons a little smaller than letters, on the line's middle, all of one width.
    config.GlyphMinAdvanceX = size;
    config.GlyphOffset = {0, 0.06F * size};
    size *= 0.85F;
  }
  // ImGui reads from it only.
  return ImGui::GetIO().Fonts->AddFontFromMemoryTTF(const_cast<unsigned char*>(begin),
                                                    static_cast<int>(end - begin), size, &config);
}

}  // namespace

Fonts load_fonts(float size) {
  Fonts fonts;
  fonts.text = add(wide_font_text_begin, wide_font_text_end, size, false);
  add(wide_font_icons_begin, wide_font_icons_end, size, true);
  fonts.bold = add(wide_font_bold_begin, wide_font_bold_end, size, false);
  add(wide_font_icons_begin, wide_font_icons_end, size, true);
  fonts.mono = add(wide_font_mono_begin, wide_font_mono_end, size, false);
  return fonts;
}

}  // namespace wide::gui
