// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/feature_level.h"

#include <fmt/format.h>

#include <array>

#include "core/base/text.h"

namespace dmlop {
namespace {

constexpr std::array kLevels = {Level(1, 0), Level(2, 0), Level(2, 1), Level(3, 0), Level(3, 1),
                                Level(4, 0), Level(4, 1), Level(5, 0), Level(5, 1), Level(5, 2),
                                Level(6, 0), Level(6, 1), Level(6, 2), Level(6, 3), Level(6, 4)};

}  // namespace

std::span<const FeatureLevel> FeatureLevels() {
  return kLevels;
}

std::string ToString(FeatureLevel level) {
  return fmt::format("{}_{}", level.value >> 12, (level.value >> 8) & 0xF);
}

std::optional<FeatureLevel> ParseFeatureLevel(std::string_view text) {
  constexpr std::string_view kPrefix = "DML_FEATURE_LEVEL_";
  if (EqualIgnoringCase(text.substr(0, kPrefix.size()), kPrefix)) {
    text.remove_prefix(kPrefix.size());
  }
  for (const FeatureLevel level : kLevels) {
    const std::string name = ToString(level);
    if (text.size() == name.size() && text[0] == name[0] && text[2] == name[2] &&
        (text[1] == '_' || text[1] == '.')) {
      return level;
    }
  }
  return std::nullopt;
}

}  // namespace dmlop
