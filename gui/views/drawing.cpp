#include "gui/views/drawing.h"

#include <array>
#include <charconv>
#include <cmath>

#include "results/escape.h"

namespace wide::gui {
namespace {

std::string number(double value) {
  if (!std::isfinite(value)) return "0";
  std::array<char, 64> text{};
  const auto rounded = std::round(value * 100) / 100;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), rounded).ptr};
}

void attribute(std::string& svg, std::string_view name, double value) {
  svg.append(" ").append(name).append("=\"").append(number(value)).append("\"");
}

}  // namespace

Drawing::Drawing(double width, double height, std::string_view background) {
  svg_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ";
  svg_.append(number(width)).append(" ").append(number(height)).append("\"");
  attribute(svg_, "width", width);
  attribute(svg_, "height", height);
  svg_.append(" font-family=\"sans-serif\" font-size=\"12\">\n");
  std::string style = "fill=\"";
  rectangle(0, 0, width, height, style.append(background).append("\""));
}

void Drawing::rectangle(double x, double y, double width, double height, std::string_view style,
                        std::string_view title) {
  svg_.append("<rect");
  attribute(svg_, "x", x), attribute(svg_, "y", y);
  attribute(svg_, "width", width), attribute(svg_, "height", height);
  svg_.append(" ").append(style);
  if (title.empty()) {
    svg_.append("/>\n");
  } else {
    svg_.append("><title>").append(results::escaped_markup(title)).append("</title></rect>\n");
  }
}

void Drawing::line(double x1, double y1, double x2, double y2, std::string_view style) {
  svg_.append("<line");
  attribute(svg_, "x1", x1), attribute(svg_, "y1", y1), attribute(svg_, "x2", x2), attribute(svg_, "y2", y2);
  svg_.append(" ").append(style).append("/>\n");
}

void Drawing::circle(double x, double y, double radius, std::string_view style, std::string_view title) {
  svg_.append("<circle");
  attribute(svg_, "cx", x), attribute(svg_, "cy", y), attribute(svg_, "r", radius);
  svg_.append(" ")
      .append(style)
      .append("><title>")
      .append(results::escaped_markup(title))
      .append("</title></circle>\n");
}

void Drawing::text(double x, double y, std::string_view words, std::string_view anchor,
                   std::string_view style) {
  svg_.append("<text");
  attribute(svg_, "x", x), attribute(svg_, "y", y);
  svg_.append(" text-anchor=\"").append(anchor).append("\" ").append(style).append(">");
  svg_.append(results::escaped_markup(words)).append("</text>\n");
}

}  // namespace wide::gui
