// SPDX-License-Identifier: Apache-2.0
// The table of operators.
#include <array>
#include <vector>

#include "core/ops/words.h"

// The namespaces of the sources that define rows, and the kind of their operators.
#define DMLOP_ROWS(ROWS)                    \
  ROWS(activation, kElementWise)            \
  ROWS(adam, kElementWise)                  \
  ROWS(affine, kElementWise)                \
  ROWS(arg, kReduction)                     \
  ROWS(attention, kProducts)                \
  ROWS(batch_gradient, kNormalization)      \
  ROWS(batch_normalization, kNormalization) \
  ROWS(binary, kElementWise)                \
  ROWS(clip, kElementWise)                  \
  ROWS(convolution, kProducts)              \
  ROWS(cumulative, kIndexing)               \
  ROWS(depth_space, kMovement)              \
  ROWS(diagonal, kMovement)                 \
  ROWS(dynamic_quantize, kNormalization)    \
  ROWS(fill, kMovement)                     \
  ROWS(fold, kMovement)                     \
  ROWS(gather_nd, kIndexing)                \
  ROWS(gather, kIndexing)                   \
  ROWS(gemm, kProducts)                     \
  ROWS(gru, kRecurrent)                     \
  ROWS(integer_convolution, kProducts)      \
  ROWS(integer_product, kProducts)          \
  ROWS(join_split, kMovement)               \
  ROWS(local_response, kWindows)            \
  ROWS(logical, kElementWise)               \
  ROWS(lp_normalization, kNormalization)    \
  ROWS(lstm, kRecurrent)                    \
  ROWS(mean_variance, kNormalization)       \
  ROWS(padding, kMovement)                  \
  ROWS(pool_average_grad, kWindows)         \
  ROWS(pool_sum, kWindows)                  \
  ROWS(pool_max_grad, kWindows)             \
  ROWS(pool_max, kWindows)                  \
  ROWS(pool_quantized, kWindows)            \
  ROWS(quantize_blocks, kElementWise)       \
  ROWS(quantize, kElementWise)              \
  ROWS(random_generator, kIndexing)         \
  ROWS(reduce, kReduction)                  \
  ROWS(region_alignment, kWindows)          \
  ROWS(region_gradient, kWindows)           \
  ROWS(region_pooling, kWindows)            \
  ROWS(resample, kMovement)                 \
  ROWS(rnn, kRecurrent)                     \
  ROWS(scatter, kIndexing)                  \
  ROWS(select_cast, kElementWise)           \
  ROWS(select, kIndexing)                   \
  ROWS(sequence, kIndexing)                 \
  ROWS(slice, kMovement)                    \
  ROWS(smooth_activation, kElementWise)     \
  ROWS(softmax, kNormalization)             \
  ROWS(tile, kMovement)                     \
  ROWS(transcendental, kElementWise)        \
  ROWS(unary, kElementWise)                 \
  ROWS(unfold, kMovement)

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
        names.push_back(row.name);
      }
    }
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
