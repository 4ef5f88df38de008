#pragma once
// Pictures as SVG documents: no script, no font and no picture from elsewhere. Places in pixels.

#include <string>
#include <string_view>

namespace wide::gui {

class Drawing {
 public:
  Drawing(double width, double height, std::string_view background = "#ffffff");

  /// `style`: attributes, made by us, never from a file.
  void rectangle(double x, double y, double width, double height, std::string_view style,
                 std::string_view title = {});
  void line(double x1, double y1, double x2, double y2, std::string_view style);
  void circle(double x, double y, double radius, std::string_view style, std::string_view title = {});
  /// `anchor`: "start", "middle" or "end". The text may be a stranger's: it is escaped.
  void text(double x, double y, std::string_view words, std::string_view anchor = "start",
            std::string_view style = {});

  std::string document() const { return svg_ + "</svg>\n"; }

 private:
  std::string svg_;
};

}  // namespace wide::gui
