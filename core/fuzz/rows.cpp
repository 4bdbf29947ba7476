// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/rows.h"

#include <map>

namespace dmlop {
namespace {

std::map<std::string_view, const SizesRow*> RowsByName() {
  std::map<std::string_view, const SizesRow*> rows;
  for (const auto some : {AttentionSizes(), IndexingSizes(), MovementSizes(), NormalizationSizes(),
                          ProductSizes(), RecurrentSizes(), RegionSizes(), WindowSizes()}) {
    for (const SizesRow& row : some) rows[row.name] = &row;
  }
  return rows;
}

}  // namespace

const SizesRow* SizesRowOf(const OperatorInfo& info) {
  static const std::map<std::string_view, const SizesRow*> rows = RowsByName();
  const auto found = rows.find(info.name);
  return found == rows.end() ? nullptr : found->second;
}

}  // namespace dmlop
