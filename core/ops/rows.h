// The rows of the table of operators, as each source of ops/FAMILY/ has them.
#pragma once

#include <span>

#include "core/ops/operator.h"

namespace dmlop {

std::span<const OperatorInfo> ActivationOperators();
std::span<const OperatorInfo> AdamOperators();
std::span<const OperatorInfo> AffineOperators();
std::span<const OperatorInfo> ArgOperators();
std::span<const OperatorInfo> AttentionOperators();
std::span<const OperatorInfo> BatchGradientOperators();
std::span<const OperatorInfo> BatchNormalizationOperators();
std::span<const OperatorInfo> BinaryOperators();
std::span<const OperatorInfo> ClipOperators();
std::span<const OperatorInfo> ConvolutionOperators();
std::span<const OperatorInfo> CumulativeOperators();
std::span<const OperatorInfo> DepthSpaceOperators();
std::span<const OperatorInfo> DiagonalOperators();
std::span<const OperatorInfo> DynamicQuantizeOperators();
std::span<const OperatorInfo> FillOperators();
std::span<const OperatorInfo> FoldOperators();
std::span<const OperatorInfo> GatherNdOperators();
std::span<const OperatorInfo> GatherOperators();
std::span<const OperatorInfo> GemmOperators();
std::span<const OperatorInfo> GruOperators();
std::span<const OperatorInfo> IntegerConvolutionOperators();
std::span<const OperatorInfo> IntegerProductOperators();
std::span<const OperatorInfo> JoinSplitOperators();
std::span<const OperatorInfo> LocalResponseOperators();
std::span<const OperatorInfo> LogicalOperators();
std::span<const OperatorInfo> LpNormalizationOperators();
std::span<const OperatorInfo> LstmOperators();
std::span<const OperatorInfo> MeanVarianceOperators();
std::span<const OperatorInfo> PaddingOperators();
std::span<const OperatorInfo> PoolAverageGradOperators();
std::span<const OperatorInfo> PoolAverageOperators();
std::span<const OperatorInfo> PoolLpOperators();
std::span<const OperatorInfo> PoolMaxGradOperators();
std::span<const OperatorInfo> PoolMaxOperators();
std::span<const OperatorInfo> PoolQuantizedOperators();
std::span<const OperatorInfo> QuantizeBlocksOperators();
std::span<const OperatorInfo> QuantizeOperators();
std::span<const OperatorInfo> RandomGeneratorOperators();
std::span<const OperatorInfo> ReduceOperators();
std::span<const OperatorInfo> RegionAlignmentOperators();
std::span<const OperatorInfo> RegionGradientOperators();
std::span<const OperatorInfo> RegionPoolingOperators();
std::span<const OperatorInfo> ResampleOperators();
std::span<const OperatorInfo> RnnOperators();
std::span<const OperatorInfo> ScatterOperators();
std::span<const OperatorInfo> SelectCastOperators();
std::span<const OperatorInfo> SelectOperators();
std::span<const OperatorInfo> SequenceOperators();
std::span<const OperatorInfo> SliceOperators();
std::span<const OperatorInfo> SmoothActivationOperators();
std::span<const OperatorInfo> SoftmaxOperators();
std::span<const OperatorInfo> TileOperators();
std::span<const OperatorInfo> TranscendentalOperators();
std::span<const OperatorInfo> UnaryOperators();
std::span<const OperatorInfo> UnfoldOperators();

}  // namespace dmlop
