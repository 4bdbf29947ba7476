// SPDX-License-Identifier: Apache-2.0
// Maps drawn with characters, and the text below maps and pictures.
#pragma once

#include <string>

#include "app/options/options.h"
#include "app/text/picture.h"
#include "core/compare/difference_map.h"
#include "core/compare/value_map.h"

namespace dmlop {

// The capabilities of the screen.
struct MapStyle {
  size_t width;  // in columns
  bool unicode;
  bool color;
};

// The style of standard output.
MapStyle StyleOf(ColorMode mode);

// The maximum number of cells for a map of values drawn with characters, and the room for maps of
// differences.
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

}  // namespace dmlop
