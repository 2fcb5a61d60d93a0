// Writes SVG 1.1: shapes in the order in which they are drawn, styled with classes of one style sheet.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lamina {

struct Point {
    double x, y;
};

// "12.5", "-0.33": at most two decimals, no trailing zeros.
[[nodiscard]] std::string decimal(double value);

class Svg {
  public:
    // Coordinates are pixels; y points down. `title` is for screen readers.
    Svg(double width, double height, std::string_view title, std::string_view style_sheet);

    // `attributes` is SVG source, such as `class="grid" stroke="#333"`. Everything else is escaped.
    void rect(Point corner, double width, double height, std::string_view attributes);
    void line(Point from, Point to, std::string_view attributes);
    void polyline(std::span<const Point> points, std::string_view attributes);
    void path(std::string_view data, std::string_view attributes);
    void text(Point at, std::string_view words, std::string_view attributes);

    [[nodiscard]] std::string str() const { return body_ + "</svg>\n"; }

  private:
    std::string body_;
};

} // namespace lamina
