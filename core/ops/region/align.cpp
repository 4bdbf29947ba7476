// SPDX-License-Identifier: Apache-2.0
// Operators on regions of images.
#include "core/engine/index/place_rule.h"
#include "core/engine/region/region_samples.h"
#include "core/ops/inference.h"
#include "core/ops/region/shared.h"

// DML_ROI_ALIGN_OPERATOR_DESC and DML_ROI_ALIGN1_OPERATOR_DESC: sample regions of images on a grid
// of points.
namespace dmlop::region_alignment {
namespace {

using namespace region;

constexpr auto kOutsideValue = field::Float("OutOfBoundsInputValue");
constexpr const Field* kFields[] = {&kInputTensor,    &kRegions,           &kBatches,
                                    &kOutputTensor,   &kReductionFunction, &kInterpolationMode,
                                    &kSpatialScaleX,  &kSpatialScaleY,     &kOutsideValue,
                                    &kMinimumSamples, &kMaximumSamples};
constexpr const Field* kFields1[] = {&kInputTensor,       &kRegions,           &kBatches,
                                     &kOutputTensor,      &kReductionFunction, &kInterpolationMode,
                                     &kSpatialScaleX,     &kSpatialScaleY,     &kInputPixelOffset,
                                     &kOutputPixelOffset, &kOutsideValue,      &kMinimumSamples,
                                     &kMaximumSamples,    &kAlignToCorners};

void Infer(const OperatorDesc& op, Inference& infer) {
  const auto count = CheckRegions("RAL-1", op, infer);
  if (!op[kOutputTensor].sizes) return;
  const Sizes& output = op.sizes(kOutputTensor);
  if (!count || output.size() != 4 || op[kInputTensor].rank() != 4) return;
  infer.Output("RAL-1", kOutputTensor,
               Sizes{*count, op.sizes(kInputTensor)[1], output[2], output[3]});
  CheckSamples(op, output, infer);
}

void Run(const OperatorDesc& op, InputViews inputs, const Dims& begin, OutputViews outputs) {
  AlignRegions(RuleOf(op, op.sizes(kOutputTensor)), {IsMax(op), op[kOutsideValue]},
               {inputs[0], inputs[1], inputs[2]}, begin, outputs[0]);
}

// The regions are values, so they may select pixels of any image.
std::vector<SourceMap> Sources(const OperatorDesc& op) {
  const auto rows_of = [&op](size_t input, const FieldOf<TensorDesc>& tensor, size_t from_end) {
    return [&op, &tensor, input, from_end](const Region& output) {
      const Sizes& sizes = op.sizes(tensor);
      return RegionsOf(input, sizes, sizes.size() - from_end, output.begin[0], output.sizes[0]);
    };
  };
  return {[&op](const Region& output) {
            return ChannelsOf(0, op.sizes(kInputTensor), output.begin[1], output.sizes[1]);
          },
          rows_of(1, kRegions, 2), rows_of(2, kBatches, 1)};
}

// Returns the samples of an output in the bounds; samples at the same place are one product.
std::vector<FormulaNode> SamplesInside(const RegionSamples& found, const Dims& output,
                                       bool is_counted, Formula& formula) {
  const std::vector<Fraction> fractions_y = TellFractions(found.rows, output[2], "y", formula);
  const std::vector<Fraction> fractions_x = TellFractions(found.columns, output[3], "x", formula);
  const std::vector<SampleRun>& rows = found.rows.outputs[0].runs;
  const std::vector<SampleRun>& columns = found.columns.outputs[0].runs;
  std::vector<FormulaNode> samples;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < columns.size() && !formula.is_too_long(); ++j) {
      const auto [a, b, c, d] =
          PixelsAround({0, found.batch, output[1]}, rows[i], columns[j], formula);
      const FormulaNode sample =
          Between(Between(a, b, fractions_x[j], formula), Between(c, d, fractions_x[j], formula),
                  fractions_y[i], formula);
      samples.push_back(formula.Scaled(is_counted ? rows[i].count * columns[j].count : 1, sample));
    }
  }
  return samples;
}

FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  const Dims& at = element.begin;
  const InputViews inputs = formula.inputs();
  const RegionSamples found = SamplesOf(RuleOf(op, op.sizes(kOutputTensor)), inputs[0].layout.sizes,
                                        inputs[1], inputs[2], at[0], {at[2], 1, at[3], 1});
  const FormulaNode count = TellRegion(op, found, at[0], formula);
  std::vector<FormulaNode> samples = SamplesInside(found, at, !IsMax(op), formula);
  const Dyadic outside =
      Dyadic(found.rows.samples) * Dyadic(found.columns.samples) -
      Dyadic(found.rows.outputs[0].inside.count) * Dyadic(found.columns.outputs[0].inside.count);
  if (outside.Sign() != 0) {
    const FormulaNode times = formula.Named("samples out of bounds", formula.Number(outside));
    const FormulaNode value =
        formula.Given(static_cast<double>(op[kOutsideValue]), std::string(kOutsideValue.name));
    samples.push_back(IsMax(op) ? value : formula.Product({times, value}));
  }
  if (IsMax(op)) {
    return formula.Named("maximum", formula.Apply(FormulaOperation::kMaximum, samples));
  }
  return formula.Quotient(formula.Named("sum of samples", formula.Sum(samples)), count);
}

void Warn(const OperatorDesc& op, InputViews inputs, Diagnostics& diagnostics) {
  WarnOfBatches(inputs[2], op.sizes(kInputTensor)[0], diagnostics);
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("ROI_ALIGN", {kFields, "RAL-1", Infer},
                Computed{.run = Run, .sources = Sources, .warn = Warn, .formula = Meaning},
                {.values_choose = true}),
    OperatorRow("ROI_ALIGN1", {kFields1, "RAL-1", Infer},
                Computed{.run = Run, .sources = Sources, .warn = Warn, .formula = Meaning},
                {.values_choose = true}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::region_alignment

// DML_ROI_POOLING_OPERATOR_DESC: the greatest elements in the bins of regions.
namespace dmlop::region_pooling {
namespace {

constexpr auto kRegions = field::Input("ROITensor");
constexpr auto kSpatialScale = field::Float("SpatialScale");
constexpr auto kPooledSize = field::TwoSizes("PooledSize", {.min = 1, .rule = "CTR-5"});
constexpr const Field* kFields[] = {&kInputTensor, &kRegions, &kOutputTensor, &kSpatialScale,
                                    &kPooledSize};

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
    OperatorRow("ROI_POOLING", {kFields, "RPL-1", Infer},
                Computed{.run = Run, .sources = Sources, .warn = Warn, .formula = Meaning},
                {.values_choose = true}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::region_pooling
