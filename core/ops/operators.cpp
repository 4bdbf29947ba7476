// SPDX-License-Identifier: Apache-2.0
// The table of operators.
#include <algorithm>
#include <array>
#include <vector>

#include "core/ops/words.h"

// The namespaces of the sources that define rows, and the kind of their operators.
#define DMLOP_ROWS(ROWS)                    \
  ROWS(adam, kElementWise)                  \
  ROWS(arithmetic, kElementWise)            \
  ROWS(attention, kProducts)                \
  ROWS(batch_normalization, kNormalization) \
  ROWS(blocks, kMovement)                   \
  ROWS(convolution, kProducts)              \
  ROWS(fill, kMovement)                     \
  ROWS(fold, kMovement)                     \
  ROWS(functions, kElementWise)             \
  ROWS(gather, kIndexing)                   \
  ROWS(gemm, kProducts)                     \
  ROWS(integer_convolution, kProducts)      \
  ROWS(integer_product, kProducts)          \
  ROWS(join_split, kMovement)               \
  ROWS(local_response, kWindows)            \
  ROWS(logical, kElementWise)               \
  ROWS(mean_variance, kNormalization)       \
  ROWS(networks, kRecurrent)                \
  ROWS(padding, kMovement)                  \
  ROWS(pool, kWindows)                      \
  ROWS(pool_average_grad, kWindows)         \
  ROWS(quantize, kElementWise)              \
  ROWS(random_generator, kIndexing)         \
  ROWS(reduction, kReduction)               \
  ROWS(roi, kWindows)                       \
  ROWS(resample, kMovement)                 \
  ROWS(select, kIndexing)                   \
  ROWS(sequences, kIndexing)                \
  ROWS(slice, kMovement)                    \
  ROWS(softmax, kNormalization)

#define DMLOP_DECLARE_ROWS(source, group)                   \
  namespace source {                                        \
  extern const std::span<const OperatorInfo> kOperatorRows; \
  }

namespace dmlop {

DMLOP_ROWS(DMLOP_DECLARE_ROWS)

namespace {

enum class Group : size_t {
  kElementWise,
  kIndexing,
  kMovement,
  kNormalization,
  kProducts,
  kRecurrent,
  kReduction,
  kWindows
};

struct GroupedRows {
  const std::span<const OperatorInfo>& rows;
  Group group;
};
#define DMLOP_GROUPED_ROWS(source, group) {source::kOperatorRows, Group::group},
constexpr GroupedRows kGroupedRows[] = {DMLOP_ROWS(DMLOP_GROUPED_ROWS)};

struct Table {
  std::vector<const OperatorInfo*> operators;
  std::vector<std::string_view> names;
  std::array<OperatorGroup, 8> groups = {{
      {"elements", "functions of elements, activations and quantization"},
      {"indexing", "gathers, scatters, order, running sums and random numbers"},
      {"movement", "joins, splits, slices, padding, windows and resampling"},
      {"norms", "softmax and normalizations"},
      {"products", "matrix products, convolutions and attention"},
      {"recurrent", "recurrent networks"},
      {"reduction", "sums, extremes and norms along axes"},
      {"windows", "pooling, regions of interest and local responses"},
  }};

  Table() {
    for (const auto& [rows, group] : kGroupedRows) {
      for (const OperatorInfo& row : rows) {
        operators.push_back(&row);
        groups[static_cast<size_t>(group)].operators.push_back(&row);
      }
    }
    std::ranges::sort(operators, {}, &OperatorInfo::name);
    for (OperatorGroup& group : groups) {
      std::ranges::sort(group.operators, {}, &OperatorInfo::name);
    }
    for (const OperatorInfo* row : operators) names.push_back(row->name);
    for (const OperatorInfo* row : operators) {
      if (!row->alias.empty()) names.push_back(row->alias);
    }
  }
};

const Table& TheTable() {
  static const Table table;
  return table;
}

}  // namespace

std::span<const OperatorInfo* const> Operators() {
  return TheTable().operators;
}

std::span<const OperatorGroup> OperatorGroups() {
  return TheTable().groups;
}

std::span<const std::string_view> OperatorNames() {
  return TheTable().names;
}

}  // namespace dmlop
