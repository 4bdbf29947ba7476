// SPDX-License-Identifier: Apache-2.0
#include "app/text/picture_scale.h"

#include <algorithm>
#include <string_view>

#include "app/text/glyphs.h"

namespace dmlop {
namespace {

constexpr int64_t kZoom = 2;  // pixels for each of a glyph's
constexpr int64_t kAdvance = kZoom * (kGlyphWidth + 1);
constexpr int64_t kTextHeight = kZoom * kGlyphHeight;
constexpr int64_t kMargin = 16;
constexpr int64_t kGap = 8;
constexpr int64_t kBarWidth = 400;
constexpr int64_t kBarHeight = 16;
constexpr int64_t kBarBand = kBarHeight + kGap + kTextHeight + kMargin;
constexpr int64_t kMeaningBand = kTextHeight + kMargin;

int64_t WidthOf(std::string_view text) {
  return static_cast<int64_t>(text.size()) * kAdvance;
}

class Canvas {
 public:
  Canvas(Picture& picture, uint8_t ink) : picture_(picture), ink_(ink) {}

  void Fill(int64_t x, int64_t y, int64_t width, int64_t height, uint8_t color) {
    for (int64_t row = y; row < y + height; ++row) {
      std::fill_n(picture_.pixels.begin() + row * picture_.width + x, width, color);
    }
  }

  void Write(int64_t x, int64_t y, std::string_view text) {
    for (const char character : text) {
      const auto columns = GlyphOf(character);
      for (int column = 0; column < kGlyphWidth; ++column) {
        for (int row = 0; row < kGlyphHeight; ++row) {
          const bool is_set = ((columns[static_cast<size_t>(column)] >> row) & 1) != 0;
          if (is_set) Fill(x + kZoom * column, y + kZoom * row, kZoom, kZoom, ink_);
        }
      }
      x += kAdvance;
    }
  }

 private:
  Picture& picture_;
  const uint8_t ink_;
};

int64_t WidthOf(const PictureScale& scale) {
  int64_t meanings = kMargin;
  for (const auto& meaning : scale.meanings) {
    meanings += kTextHeight + kGap + WidthOf(meaning.text) + kMargin;
  }
  const int64_t bar = kMargin + kBarWidth + kGap + WidthOf(scale.unit) + kMargin;
  return std::max(meanings, scale.bar.empty() ? 0 : bar);
}

int64_t HeightOf(const PictureScale& scale) {
  return kMargin + (scale.bar.empty() ? 0 : kBarBand) + (scale.meanings.empty() ? 0 : kMeaningBand);
}

void Enlarge(int64_t width, int64_t height, uint8_t paper, Picture& picture) {
  std::vector<uint8_t> pixels(static_cast<size_t>(width * height), paper);
  for (int64_t row = 0; row < picture.height; ++row) {
    std::copy_n(picture.pixels.begin() + row * picture.width, picture.width,
                pixels.begin() + row * width);
  }
  picture.pixels = std::move(pixels);
  picture.width = width;
  picture.height = height;
}

void DrawBar(const PictureScale& scale, int64_t y, Canvas& canvas) {
  const auto edge = [&](size_t color) {
    return kMargin +
           kBarWidth * static_cast<int64_t>(color) / static_cast<int64_t>(scale.bar.size());
  };
  canvas.Fill(kMargin - 1, y - 1, kBarWidth + 2, kBarHeight + 2, scale.ink);
  for (size_t i = 0; i < scale.bar.size(); ++i) {
    canvas.Fill(edge(i), y, edge(i + 1) - edge(i), kBarHeight, scale.bar[i]);
  }
  canvas.Write(kMargin + kBarWidth + kGap, y, scale.unit);
  for (const auto& number : scale.numbers) {
    const int64_t middle = (edge(number.at) + edge(number.at + 1)) / 2;
    canvas.Fill(middle, y + kBarHeight, kZoom, kGap - kZoom, scale.ink);
    const int64_t width = WidthOf(number.text);
    const int64_t x = std::clamp(middle - width / 2, kMargin, kMargin + kBarWidth - width);
    canvas.Write(x, y + kBarHeight + kGap, number.text);
  }
}

}  // namespace

void AddScale(const PictureScale& scale, Picture& picture) {
  int64_t y = picture.height + kMargin;
  Enlarge(std::max(picture.width, WidthOf(scale)), picture.height + HeightOf(scale), scale.paper,
          picture);
  Canvas canvas(picture, scale.ink);
  if (!scale.bar.empty()) {
    DrawBar(scale, y, canvas);
    y += kBarBand;
  }
  int64_t x = kMargin;
  for (const auto& meaning : scale.meanings) {
    canvas.Fill(x, y, kTextHeight, kTextHeight, meaning.color);
    x += kTextHeight + kGap;
    canvas.Write(x, y, meaning.text);
    x += WidthOf(meaning.text) + kMargin;
  }
}

}  // namespace dmlop
