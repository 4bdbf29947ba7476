// Maps drawn with characters, and what stands below maps and pictures.
#pragma once

#include <string>

#include "app/options/options.h"
#include "app/text/picture.h"
#include "core/compare/difference_map.h"
#include "core/compare/value_map.h"

namespace dmlop {

// What the reader's screen can show.
struct MapStyle {
  size_t width;  // in columns
  bool unicode;
  bool color;
};

// That of standard output.
MapStyle StyleOf(ColorMode mode);

// The most cells of a map drawn with characters, for tensors of these sizes.
MapLimits MapLimitsOf(const Dims& sizes, const MapStyle& style);

// Throws an Error of kind kTensorFile where there is nothing to draw; `name` is the tensor's.
void RequireElements(const std::string& name, const ConstTensorView& tensor);

// A title, the map with the indices of its rows and columns, and a legend.
std::string MapText(const DifferenceMap& map, const Dims& sizes, const MapStyle& style);
std::string MapText(const ValueMap& map, const Dims& sizes, const MapStyle& style);

// What the file at `path` shows, and what its colors mean.
std::string PictureText(const std::string& path, const Picture& picture, const DifferenceMap& map,
                        const Dims& sizes, const MapStyle& style);
std::string PictureText(const std::string& path, const Picture& picture, const ValueMap& map,
                        const Dims& sizes, const MapStyle& style);

}  // namespace dmlop
