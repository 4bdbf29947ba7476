// SPDX-License-Identifier: Apache-2.0
#include "app/text/picture_frame.h"

#include <fmt/format.h>

#include "core/base/integers.h"

namespace dmlop {
namespace {

constexpr int64_t kBarWidth = 400;
constexpr int64_t kBarHeight = 16;
constexpr int64_t kBarBand = kBarHeight + kGap + kTextHeight + kMargin;
constexpr int64_t kMeaningBand = kTextHeight + kMargin;

int64_t WidthOf(const MapScale& scale) {
  int64_t meanings = kMargin;
  for (const auto& meaning : scale.meanings) {
    meanings += kTextHeight + kGap + PixelsOf(meaning.text) + kMargin;
  }
  const int64_t bar = kMargin + kBarWidth + kGap + PixelsOf(scale.unit) + kMargin;
  return std::max(meanings, scale.bar.empty() ? 0 : bar);
}

int64_t HeightOf(const MapScale& scale) {
  return kMargin + (scale.bar.empty() ? 0 : kBarBand) + (scale.meanings.empty() ? 0 : kMeaningBand);
}

void DrawBar(const MapScale& scale, int64_t y, Canvas& canvas) {
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

void AddScale(const MapScale& scale, Picture& picture) {
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

namespace {

constexpr int64_t kPixels = 1024;     // to which the longer side of small maps is enlarged
constexpr int64_t kLeastPixels = 64;  // of the shorter side of a map
constexpr int64_t kTick = 6;
constexpr int64_t kPanelGap = 24;

struct Tick {
  int64_t coordinate;
  int64_t at;  // in pixels from the panel's edge
};

// Returns the least of 1, 2 and 5 times a power of ten that is at least so much.
int64_t RoundStep(int64_t least) {
  for (int64_t power = 1;; power *= 10) {
    for (const int64_t step : {power, 2 * power, 5 * power}) {
      if (step >= least) return step;
    }
  }
}

// Returns ticks at round coordinates, at least `distance` pixels apart.
std::vector<Tick> TicksOf(const MapAxis& axis, int64_t cell_pixels, int64_t distance) {
  const int64_t step = RoundStep(CeilDiv(distance * axis.size, axis.cells * cell_pixels));
  std::vector<Tick> ticks;
  for (int64_t i = 0; i < axis.size; i += step) {
    ticks.push_back({i, axis.CellOf(i) * cell_pixels + cell_pixels / 2});
  }
  return ticks;
}

std::string IndexLabel(int64_t index) {
  return fmt::format("{}", index);
}

class FramedPicture {
 public:
  FramedPicture(const PictureFrame& frame, Picture& picture)
      : frame_(frame), picture_(picture), canvas_(picture, frame.ink) {
    const MapGrid& grid = frame.grid;
    width_ = grid.columns.cells * picture.cell_width;
    height_ = grid.rows.cells * picture.cell_height;
    left_ = frame.row_name.empty() ? 0 : kMargin + PixelsOf(IndexLabel(grid.rows.size - 1)) + kTick;
    const bool has_titles = !frame.panels[0].title.empty();
    const int64_t title = has_titles ? kTextHeight + kGap : 0;
    top_ = frame.column_name.empty() ? 0 : kMargin + title + kTextHeight + kTick;
    int64_t wide = width_;
    for (const PicturePanel& panel : frame.panels) wide = std::max(wide, PixelsOf(panel.title));
    pitch_x_ = wide + kPanelGap;
    pitch_y_ = top_ + height_ + (has_titles ? kGap : 0);
  }

  void Draw() {
    const int64_t down = CeilDiv(std::ssize(frame_.panels), frame_.across);
    const int64_t right = left_ + frame_.across * pitch_x_ - kPanelGap;
    const int64_t bottom = down * pitch_y_;
    Enlarge(right + NameWidth(frame_.column_name), bottom + (left_ > 0 ? kGap + kTextHeight : 0),
            frame_.paper, picture_);
    for (size_t i = 0; i < frame_.panels.size(); ++i) {
      DrawPanel(frame_.panels[i], static_cast<int64_t>(i) % frame_.across,
                static_cast<int64_t>(i) / frame_.across);
    }
    if (!frame_.column_name.empty()) {
      canvas_.Write(right + kGap, top_ - kTick - kTextHeight, frame_.column_name);
    }
    if (left_ > 0) canvas_.Write(kMargin, bottom + kGap, frame_.row_name);
  }

 private:
  static int64_t NameWidth(const std::string& name) {
    return name.empty() ? 0 : kGap + PixelsOf(name) + kMargin;
  }

  void DrawPanel(const PicturePanel& panel, int64_t column, int64_t row) {
    const int64_t x = left_ + column * pitch_x_;
    const int64_t y = top_ + row * pitch_y_;
    canvas_.Write(x, y - top_ + kMargin, panel.title);
    DrawCells(panel, x, y);
    if (top_ > 0) DrawColumnTicks(x, y);
    if (column == 0 && left_ > 0) DrawRowTicks(y);
  }

  void DrawCells(const PicturePanel& panel, int64_t x, int64_t y) {
    const MapGrid& grid = frame_.grid;
    for (int64_t i = 0; i < std::ssize(panel.cells); ++i) {
      canvas_.Fill(x + i % grid.columns.cells * picture_.cell_width,
                   y + i / grid.columns.cells * picture_.cell_height, picture_.cell_width,
                   picture_.cell_height, panel.cells[static_cast<size_t>(i)]);
    }
  }

  // The label of a tick is centered, but stays within the panel.
  void DrawColumnTicks(int64_t x, int64_t y) {
    const MapAxis& axis = frame_.grid.columns;
    const int64_t distance = PixelsOf(IndexLabel(axis.size - 1)) + 3 * kAdvance;
    for (const Tick& tick : TicksOf(axis, picture_.cell_width, distance)) {
      canvas_.Fill(x + tick.at, y - kTick, kZoom, kTick, frame_.ink);
      const std::string label = IndexLabel(tick.coordinate);
      const int64_t most = std::max<int64_t>(0, width_ - PixelsOf(label));
      const int64_t begin = std::clamp<int64_t>(tick.at - PixelsOf(label) / 2, 0, most);
      canvas_.Write(x + begin, y - kTick - kTextHeight, label);
    }
  }

  void DrawRowTicks(int64_t y) {
    for (const Tick& tick : TicksOf(frame_.grid.rows, picture_.cell_height, 2 * kTextHeight)) {
      canvas_.Fill(left_ - kTick, y + tick.at, kTick, kZoom, frame_.ink);
      const std::string label = IndexLabel(tick.coordinate);
      canvas_.Write(left_ - kTick - PixelsOf(label), y + tick.at - kTextHeight / 2, label);
    }
  }

  const PictureFrame& frame_;
  Picture& picture_;
  Canvas canvas_;
  int64_t width_, height_;     // of a panel
  int64_t left_, top_;         // its distance from the edge, or from the panel above
  int64_t pitch_x_, pitch_y_;  // from one to the next
};

}  // namespace

CellSize CellSizeOf(const MapGrid& grid, int64_t across, int64_t count) {
  const int64_t down = CeilDiv(count, across);
  const int64_t longer = std::max(down * grid.rows.cells, across * grid.columns.cells);
  const int64_t scale = std::max<int64_t>(1, kPixels / longer);
  const auto size = [&](int64_t cells) { return std::max(scale, CeilDiv(kLeastPixels, cells)); };
  return {size(grid.columns.cells), size(grid.rows.cells)};
}

Picture Framed(const PictureFrame& frame, std::vector<std::array<uint8_t, 3>> palette) {
  const CellSize cell = CellSizeOf(frame.grid, frame.across, std::ssize(frame.panels));
  Picture picture{.width = 0,
                  .height = 0,
                  .cell_width = cell.width,
                  .cell_height = cell.height,
                  .palette = std::move(palette),
                  .pixels = {}};
  FramedPicture(frame, picture).Draw();
  return picture;
}

// --- letters -------------------------------------------------------------------------------------

std::array<uint8_t, kGlyphWidth> GlyphOf(char character) {
  struct Letter {
    char character;
    std::array<uint8_t, kGlyphWidth> columns;
  };
  static constexpr Letter kLetters[] = {
      {'0', {0x3E, 0x51, 0x49, 0x45, 0x3E}}, {'1', {0x00, 0x42, 0x7F, 0x40, 0x00}},
      {'2', {0x42, 0x61, 0x51, 0x49, 0x46}}, {'3', {0x21, 0x41, 0x45, 0x4B, 0x31}},
      {'4', {0x18, 0x14, 0x12, 0x7F, 0x10}}, {'5', {0x27, 0x45, 0x45, 0x45, 0x39}},
      {'6', {0x3C, 0x4A, 0x49, 0x49, 0x30}}, {'7', {0x01, 0x71, 0x09, 0x05, 0x03}},
      {'8', {0x36, 0x49, 0x49, 0x49, 0x36}}, {'9', {0x06, 0x49, 0x49, 0x29, 0x1E}},
      {'+', {0x08, 0x08, 0x3E, 0x08, 0x08}}, {'-', {0x08, 0x08, 0x08, 0x08, 0x08}},
      {'.', {0x00, 0x60, 0x60, 0x00, 0x00}}, {'^', {0x04, 0x02, 0x01, 0x02, 0x04}},
      {'L', {0x7F, 0x40, 0x40, 0x40, 0x40}}, {'N', {0x7F, 0x04, 0x08, 0x10, 0x7F}},
      {'P', {0x7F, 0x09, 0x09, 0x09, 0x06}}, {'U', {0x3F, 0x40, 0x40, 0x40, 0x3F}},
      {'a', {0x20, 0x54, 0x54, 0x54, 0x78}}, {'d', {0x38, 0x44, 0x44, 0x48, 0x7F}},
      {'e', {0x38, 0x54, 0x54, 0x54, 0x18}}, {'f', {0x08, 0x7E, 0x09, 0x01, 0x02}},
      {'i', {0x00, 0x44, 0x7D, 0x40, 0x00}}, {'n', {0x7C, 0x08, 0x04, 0x04, 0x78}},
      {'o', {0x38, 0x44, 0x44, 0x44, 0x38}}, {'p', {0x7C, 0x14, 0x14, 0x14, 0x08}},
      {'[', {0x00, 0x7F, 0x41, 0x41, 0x00}}, {']', {0x00, 0x41, 0x41, 0x7F, 0x00}},
      {',', {0x00, 0x50, 0x30, 0x00, 0x00}}, {'b', {0x7F, 0x48, 0x44, 0x44, 0x38}},
      {'c', {0x38, 0x44, 0x44, 0x44, 0x20}}, {'h', {0x7F, 0x08, 0x04, 0x04, 0x78}},
      {'l', {0x00, 0x41, 0x7F, 0x40, 0x00}}, {'t', {0x04, 0x3F, 0x44, 0x40, 0x20}},
      {'u', {0x3C, 0x40, 0x40, 0x20, 0x7C}}, {'v', {0x1C, 0x20, 0x40, 0x20, 0x1C}},
      {'w', {0x3C, 0x40, 0x30, 0x40, 0x3C}}, {'x', {0x44, 0x28, 0x10, 0x28, 0x44}},
      {'r', {0x7C, 0x08, 0x04, 0x04, 0x08}}, {'s', {0x48, 0x54, 0x54, 0x54, 0x20}},
  };
  for (const Letter& letter : kLetters) {
    if (letter.character == character) return letter.columns;
  }
  return {};
}

}  // namespace dmlop
