// SPDX-License-Identifier: Apache-2.0
// DML_FEATURE_LEVEL: the version of DirectML by which a descriptor is judged.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dmlop {

struct FeatureLevel {
  uint16_t value;  // (major << 12) | (minor << 8), as in DirectML.h

  friend constexpr auto operator<=>(FeatureLevel, FeatureLevel) = default;
};

constexpr FeatureLevel Level(int major, int minor) {
  return {static_cast<uint16_t>((major << 12) | (minor << 8))};
}

// Every level that exists, oldest first.
std::span<const FeatureLevel> FeatureLevels();
inline constexpr FeatureLevel kHighestFeatureLevel = Level(6, 4);

std::string ToString(FeatureLevel level);  // "5_0"

// Parses "5_0", "5.0" or "DML_FEATURE_LEVEL_5_0"; empty for anything that is not a level.
std::optional<FeatureLevel> ParseFeatureLevel(std::string_view text);

}  // namespace dmlop
