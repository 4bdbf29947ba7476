// The table of operators.
#include <vector>

#include "core/ops/rows.h"

namespace dmlop {
namespace {

using RowsFunction = std::span<const OperatorInfo> (*)();
constexpr RowsFunction kRows[] = {
    ActivationOperators,
    AdamOperators,
    AffineOperators,
    ArgOperators,
    AttentionOperators,
    BatchGradientOperators,
    BatchNormalizationOperators,
    BinaryOperators,
    ClipOperators,
    ConvolutionOperators,
    CumulativeOperators,
    DepthSpaceOperators,
    DiagonalOperators,
    DynamicQuantizeOperators,
    FillOperators,
    FoldOperators,
    GatherNdOperators,
    GatherOperators,
    GemmOperators,
    GruOperators,
    IntegerConvolutionOperators,
    IntegerProductOperators,
    JoinSplitOperators,
    LocalResponseOperators,
    LogicalOperators,
    LpNormalizationOperators,
    LstmOperators,
    MeanVarianceOperators,
    PaddingOperators,
    PoolAverageGradOperators,
    PoolAverageOperators,
    PoolLpOperators,
    PoolMaxGradOperators,
    PoolMaxOperators,
    PoolQuantizedOperators,
    QuantizeBlocksOperators,
    QuantizeOperators,
    RandomGeneratorOperators,
    ReduceOperators,
    RegionAlignmentOperators,
    RegionGradientOperators,
    RegionPoolingOperators,
    ResampleOperators,
    RnnOperators,
    ScatterOperators,
    SelectCastOperators,
    SelectOperators,
    SequenceOperators,
    SliceOperators,
    SmoothActivationOperators,
    SoftmaxOperators,
    TileOperators,
    TranscendentalOperators,
    UnaryOperators,
    UnfoldOperators,
};

struct Table {
  std::vector<const OperatorInfo*> operators;
  std::vector<std::string_view> names;

  Table() {
    for (const RowsFunction rows : kRows) {
      for (const OperatorInfo& row : rows()) {
        operators.push_back(&row);
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

std::span<const std::string_view> OperatorNames() {
  return TheTable().names;
}

}  // namespace dmlop
