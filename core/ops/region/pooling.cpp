// SPDX-License-Identifier: Apache-2.0
// DML_ROI_POOLING_OPERATOR_DESC: the greatest elements in the bins of regions.
#include "core/engine/index/place_rule.h"
#include "core/engine/region/region_samples.h"
#include "core/ops/inference.h"
#include "core/ops/region/shared.h"

namespace dmlop::region_pooling {
namespace {

constexpr auto kRegions = field::Input("ROITensor");
constexpr auto kSpatialScale = field::Float("SpatialScale");
constexpr auto kPooledSize = field::TwoSizes("PooledSize", {.min = 1, .rule = "CTR-5"});
constexpr const Field* kFields[] = {&kInputTensor, &kRegions, &kOutputTensor, &kSpatialScale,
                                    &kPooledSize};
constexpr SupportRow kRows[] = {{Level(1, 0), 4, 4, {types::kFloats}}};

void Infer(const OperatorDesc& op, Inference& infer) {
  if (op[kInputTensor].rank() != 4 || op[kRegions].rank() != 4) return;  // no level allows that
  const uint32_t count = op.sizes(kRegions)[2];
  infer.RequireSizes("RPL-1", infer.tensor(kRegions), {1, 1, count, 5});
  const Size2d& pooled = op[kPooledSize];
  infer.Output("RPL-1", kOutputTensor,
               Sizes{count, op.sizes(kInputTensor)[1], pooled.height, pooled.width});
}

void Run(const OperatorDesc& op, InputViews inputs, const Dims& begin, OutputViews outputs) {
  const Size2d& pooled = op[kPooledSize];
  PoolRegions(op[kSpatialScale], {pooled.height, pooled.width}, inputs[0], inputs[1], begin,
              outputs[0]);
}

// The regions are values, so they may select elements of any image.
std::vector<SourceMap> Sources(const OperatorDesc& op) {
  return {[&op](const Region& output) {
            return region::ChannelsOf(0, op.sizes(kInputTensor), output.begin[1], output.sizes[1]);
          },
          [&op](const Region& output) {
            return region::RegionsOf(1, op.sizes(kRegions), 2, output.begin[0], output.sizes[0]);
          }};
}

FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  const Size2d& pooled = op[kPooledSize];
  const ConstTensorView& input = formula.inputs()[0];
  const RegionBin bin = BinOf(op[kSpatialScale], {pooled.height, pooled.width}, input.layout.sizes,
                              formula.inputs()[1], element.begin);
  const auto tell = [&](std::string_view name, int64_t number) {
    region::Tell(name, number, formula);
  };
  tell("batch item", bin.item);
  tell("left", bin.left);
  tell("top", bin.top);
  tell("right", bin.right);
  tell("bottom", bin.bottom);
  tell("first row", bin.rows.begin);
  tell("rows", bin.rows.count());
  tell("first column", bin.columns.begin);
  tell("columns", bin.columns.count());
  if (bin.rows.count() == 0 || bin.columns.count() == 0) {
    return formula.Named("maximum of nothing", formula.Number(0.0));
  }
  const Region elements{0,
                        {bin.item, element.begin[1], bin.rows.begin, bin.columns.begin},
                        {1, 1, bin.rows.count(), bin.columns.count()}};
  return formula.Named("maximum",
                       formula.Apply(FormulaOperation::kMaximum, formula.Elements(elements)));
}

void Warn(const OperatorDesc& op, InputViews inputs, Diagnostics& diagnostics) {
  const ConstTensorView& regions = inputs[1];
  WarnOfStray(FindStrayBatches(regions, op.sizes(kInputTensor)[0]), kRegions.name,
              BatchesOf(regions).layout, "clamped", diagnostics);
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("ROI_POOLING", {kFields, kSupportBy<kRows>, "RPL-1", Infer},
                Computed{.run = Run, .sources = Sources, .warn = Warn, .formula = Meaning},
                {.values_choose = true}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::region_pooling
