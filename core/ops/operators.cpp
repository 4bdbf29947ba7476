// The table of operators.
#include <array>
#include <vector>

#include "core/ops/groups.h"
#include "core/ops/rows.h"

namespace dmlop {
namespace {

using RowsFunction = std::span<const OperatorInfo> (*)();

enum Group : size_t {
  kElementWise,
  kIndexing,
  kMovement,
  kNormalization,
  kProducts,
  kRecurrent,
  kReduction,
  kWindows,
  kGroupCount
};

struct GroupedRows {
  RowsFunction rows;
  Group group;
};
constexpr GroupedRows kRows[] = {
    {ActivationOperators, kElementWise},
    {AdamOperators, kElementWise},
    {AffineOperators, kElementWise},
    {ArgOperators, kReduction},
    {AttentionOperators, kProducts},
    {BatchGradientOperators, kNormalization},
    {BatchNormalizationOperators, kNormalization},
    {BinaryOperators, kElementWise},
    {ClipOperators, kElementWise},
    {ConvolutionOperators, kProducts},
    {CumulativeOperators, kIndexing},
    {DepthSpaceOperators, kMovement},
    {DiagonalOperators, kMovement},
    {DynamicQuantizeOperators, kNormalization},
    {FillOperators, kMovement},
    {FoldOperators, kMovement},
    {GatherNdOperators, kIndexing},
    {GatherOperators, kIndexing},
    {GemmOperators, kProducts},
    {GruOperators, kRecurrent},
    {IntegerConvolutionOperators, kProducts},
    {IntegerProductOperators, kProducts},
    {JoinSplitOperators, kMovement},
    {LocalResponseOperators, kWindows},
    {LogicalOperators, kElementWise},
    {LpNormalizationOperators, kNormalization},
    {LstmOperators, kRecurrent},
    {MeanVarianceOperators, kNormalization},
    {PaddingOperators, kMovement},
    {PoolAverageGradOperators, kWindows},
    {PoolAverageOperators, kWindows},
    {PoolLpOperators, kWindows},
    {PoolMaxGradOperators, kWindows},
    {PoolMaxOperators, kWindows},
    {PoolQuantizedOperators, kWindows},
    {QuantizeBlocksOperators, kElementWise},
    {QuantizeOperators, kElementWise},
    {RandomGeneratorOperators, kIndexing},
    {ReduceOperators, kReduction},
    {RegionAlignmentOperators, kWindows},
    {RegionGradientOperators, kWindows},
    {RegionPoolingOperators, kWindows},
    {ResampleOperators, kMovement},
    {RnnOperators, kRecurrent},
    {ScatterOperators, kIndexing},
    {SelectCastOperators, kElementWise},
    {SelectOperators, kIndexing},
    {SequenceOperators, kIndexing},
    {SliceOperators, kMovement},
    {SmoothActivationOperators, kElementWise},
    {SoftmaxOperators, kNormalization},
    {TileOperators, kMovement},
    {TranscendentalOperators, kElementWise},
    {UnaryOperators, kElementWise},
    {UnfoldOperators, kMovement},
};

struct Table {
  std::vector<const OperatorInfo*> operators;
  std::vector<std::string_view> names;
  std::array<OperatorGroup, kGroupCount> groups = {{
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
    for (const auto& [rows, group] : kRows) {
      for (const OperatorInfo& row : rows()) {
        operators.push_back(&row);
        groups[group].operators.push_back(&row);
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
