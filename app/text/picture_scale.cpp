// SPDX-License-Identifier: Apache-2.0
#include "app/text/picture_scale.h"

#include <algorithm>

#include "app/text/picture_canvas.h"

namespace dmlop {
namespace {

constexpr int64_t kBarWidth = 400;
constexpr int64_t kBarHeight = 16;
constexpr int64_t kBarBand = kBarHeight + kGap + kTextHeight + kMargin;
constexpr int64_t kMeaningBand = kTextHeight + kMargin;

int64_t WidthOf(const PictureScale& scale) {
  int64_t meanings = kMargin;
  for (const auto& meaning : scale.meanings) {
    meanings += kTextHeight + kGap + PixelsOf(meaning.text) + kMargin;
  }
  const int64_t bar = kMargin + kBarWidth + kGap + PixelsOf(scale.unit) + kMargin;
  return std::max(meanings, scale.bar.empty() ? 0 : bar);
}

int64_t HeightOf(const PictureScale& scale) {
  return kMargin + (scale.bar.empty() ? 0 : kBarBand) + (scale.meanings.empty() ? 0 : kMeaningBand);
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
    const int64_t width = PixelsOf(number.text);
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
    x += PixelsOf(meaning.text) + kMargin;
  }
}

}  // namespace dmlop
