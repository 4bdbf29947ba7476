// SPDX-License-Identifier: Apache-2.0
// Maps drawn with characters, and the text below maps and pictures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "app/options/options.h"
#include "app/text/picture_frame.h"
#include "core/compare/map_plane.h"

namespace dmlop {

// The capabilities of the screen.
struct MapStyle {
  size_t width;  // in columns
  bool unicode;
  bool color;
};

// The style of standard output.
MapStyle StyleOf(ColorMode mode);

// The most cells of a map of values drawn with characters, and the room for maps of differences.
MapLimits MapLimitsOf(const Dims& sizes, const MapStyle& style);
MapSpace MapSpaceOf(const Dims& sizes, const MapStyle& style);

// Throws an Error of kind kTensorFile if there is nothing to draw; `name` is the tensor's.
void RequireElements(const std::string& name, const ConstTensorView& tensor);

// A title, the map with the indices of its rows and columns, and a legend. Shades of differences
// follow the share of elements that do not pass, or the largest error.
std::string MapText(const DifferenceMap& map, const Dims& sizes, const MapStyle& style,
                    bool by_error);
std::string MapText(const ValueMap& map, const Dims& sizes, const MapStyle& style);

// Describes the picture at `path` and the meaning of its colors.
std::string PictureText(const std::string& path, const Picture& picture, const DifferenceMap& map,
                        const Dims& sizes, const MapStyle& style);
std::string PictureText(const std::string& path, const Picture& picture, const ValueMap& map,
                        const Dims& sizes, const MapStyle& style);

// --- levels of errors ----------------------------------------------------------------------------

// Each level has errors of up to twice as much as the one before: in ULP and units the first is 0
// and the second up to 1; otherwise the last has the largest error.
class ErrorScale {
 public:
  static constexpr uint8_t kPasses = 0;
  static constexpr uint8_t kMismatch = 67;

  explicit ErrorScale(const DifferenceMap& map);

  ErrorMeasure measure() const { return measure_; }

  // The levels that are told apart, some even if all errors are alike. Those below the first are
  // drawn like it.
  uint8_t first() const { return first_; }
  uint8_t last() const { return last_; }

  uint8_t LevelOf(const DifferenceCell& cell) const;

  // Returns 0 for the first level, 1 for the last one.
  double Position(uint8_t level) const;

  // The largest error of a level: "8", "2^30", "1.5e-07".
  std::string TextOf(uint8_t level) const;

 private:
  bool is_counted() const {
    return measure_ == ErrorMeasure::kUlp || measure_ == ErrorMeasure::kUnits;
  }
  uint8_t LevelOf(double error) const;

  ErrorMeasure measure_;
  double largest_ = 0;
  uint8_t first_, last_;
};

// "ULP", "units", "absolute", "relative".
std::string_view NameOf(ErrorMeasure measure);

// "[0, 3]", or nothing for the only plane of a tensor.
std::string PanelTitle(const DifferencePanel& panel);

}  // namespace dmlop
