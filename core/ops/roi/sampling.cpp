// SPDX-License-Identifier: Apache-2.0
#include "core/ops/roi/sampling.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/engine/index/place_rule.h"

namespace dmlop::roi {
namespace {

constexpr uint64_t kMostSamples = uint64_t{1} << 31;

float Number(const OperatorDesc& op, const FieldOf<float>& field, float otherwise) {
  const float* number = op.find_if_known(field);
  return number == nullptr ? otherwise : *number;
}

}  // namespace

bool IsMax(const OperatorDesc& op) {
  return op[kReductionFunction] == static_cast<uint32_t>(ReduceFunction::kMax);
}

std::optional<uint32_t> CheckRegions(std::string_view code, const OperatorDesc& op,
                                     Inference& infer) {
  const TensorAt regions = infer.tensor(kRegions);
  const TensorAt batches = infer.tensor(kBatches);
  if (regions.sizes().size() < 2) return std::nullopt;  // no level allows that
  const uint32_t count = regions.sizes()[regions.sizes().size() - 2];
  const bool are_regions =
      infer.RequireSizes(code, regions, BehindOnes(regions.sizes().size(), {count, 4}));
  const bool are_batches =
      infer.RequireSizes(code, batches, BehindOnes(op.sizes(kBatches).size(), {count}));
  return are_regions && are_batches ? std::optional(count) : std::nullopt;
}

void CheckSamples(const OperatorDesc& op, const Sizes& outputs, Inference& infer) {
  const uint32_t function = op[kReductionFunction];
  infer.Require(IsMax(op) || function == static_cast<uint32_t>(ReduceFunction::kAverage), "RAL-2",
                At(kReductionFunction), "{} is not allowed; expected AVERAGE or MAX",
                kReduceFunctionNames[function]);
  const uint32_t least = op[kMinimumSamples];
  infer.Require(least <= op[kMaximumSamples], "RAL-2", At(kMaximumSamples),
                "{} is less than MinimumSamplesPerOutput, which is {}", op[kMaximumSamples], least);
  for (size_t d = 2; d < outputs.size(); ++d) {
    const uint64_t samples = uint64_t{least} * outputs[d];
    infer.Require(samples <= kMostSamples, "RAL-2", At(kMinimumSamples),
                  "{} samples for each of the {} {} of the output are more than 2^31", least,
                  outputs[d], d == 2 ? "rows" : "columns");
  }
}

RegionRule RuleOf(const OperatorDesc& op, const Sizes& outputs) {
  const bool* to_corners = op.find_if_known(kAlignToCorners);
  SampleRule x{op[kInterpolationMode] == 1,
               op[kSpatialScaleX],
               Number(op, kInputPixelOffset, 0.5f),
               Number(op, kOutputPixelOffset, -0.5f),
               op[kMinimumSamples],
               op[kMaximumSamples],
               to_corners != nullptr && *to_corners};
  SampleRule y = x;
  y.scale = op[kSpatialScaleY];
  return {y, x, outputs[2], outputs[3]};
}

Region ChannelsOf(size_t tensor, const Sizes& sizes, int64_t begin, int64_t count) {
  return RegionsOf(tensor, sizes, 1, begin, count);
}

Region RegionsOf(size_t tensor, const Sizes& sizes, size_t dimension, int64_t begin,
                 int64_t count) {
  Region part{tensor, Dims::Filled(sizes.size(), 0), Dims(sizes.begin(), sizes.end())};
  part.begin[dimension] = begin;
  part.sizes[dimension] = count;
  return part;
}

// --- formulas ------------------------------------------------------------------------------------

void Tell(std::string_view name, int64_t number, Formula& formula) {
  formula.Named(name, formula.Number(Dyadic(number)));
}

FormulaNode TellRegion(const OperatorDesc& op, const RegionSamples& samples, int64_t region,
                       Formula& formula) {
  constexpr std::string_view kCorners[] = {"left", "top", "right", "bottom"};
  for (int64_t k = 0; k < 4; ++k) {
    const Dims sizes = Dims::Filled(op.sizes(kRegions).size(), 1);
    Region corner{*NumberInRole(op, kRegions), Dims::Filled(sizes.size(), 0), sizes};
    corner.begin[sizes.size() - 2] = region;
    corner.begin.back() = k;
    const float scale = op[k % 2 == 0 ? kSpatialScaleX : kSpatialScaleY];
    formula.Named(kCorners[k], formula.Product({formula.Element(corner),
                                                formula.Number(static_cast<double>(scale))}));
  }
  Tell("batch item", samples.batch, formula);
  const auto count = [&](std::string_view name, uint64_t number) {
    return formula.Named(name, formula.Number(Dyadic(number)));
  };
  return formula.Named("samples",
                       formula.Product({count("samples along y", samples.rows.samples),
                                        count("samples along x", samples.columns.samples)}));
}

std::array<FormulaNode, 4> PixelsAround(const ImagePlane& plane, const SampleRun& y,
                                        const SampleRun& x, Formula& formula) {
  const auto at = [&](int64_t row, int64_t column) {
    return formula.Element({plane.input, {plane.item, plane.channel, row, column}, {1, 1, 1, 1}});
  };
  return {at(y.low, x.low), at(y.low, x.high), at(y.high, x.low), at(y.high, x.high)};
}

Fraction FractionOf(const SampleRun& run, std::string_view axis, Formula& formula) {
  if (run.fraction == 0) return std::nullopt;
  const auto pixel = static_cast<double>(run.low);
  const FormulaNode coordinate = formula.Given(pixel + run.fraction, std::string(axis));
  return formula.Difference(coordinate, formula.Number(pixel));
}

std::vector<Fraction> TellFractions(const AxisSamples& along, int64_t output, std::string_view axis,
                                    Formula& formula) {
  constexpr size_t kFew = 8;
  const OutputSamples& own = along.outputs[0];
  uint64_t number = static_cast<uint64_t>(output) * along.samples + own.inside.before;
  std::vector<Fraction> fractions;
  for (const SampleRun& run : own.runs) {
    const Fraction fraction = FractionOf(run, axis, formula);
    if (fraction && own.runs.size() <= kFew) {
      const std::string name = fmt::format("{}{}", axis, number);
      formula.Named(name, formula.operands(*fraction)[0]);
      formula.Named("f" + name, *fraction);
    }
    fractions.push_back(fraction);
    number += static_cast<uint64_t>(run.count);
  }
  return fractions;
}

FormulaNode Between(FormulaNode a, FormulaNode b, Fraction fraction, Formula& formula) {
  if (!fraction) return a;
  const FormulaNode rest = formula.Difference(formula.Number(1.0), *fraction);
  return formula.Sum({formula.Product({rest, a}), formula.Product({*fraction, b})});
}

void WarnOfBatches(const ConstTensorView& batches, int64_t images, Diagnostics& diagnostics) {
  WarnOfStray(FindStrayIndices(batches, {&images, 1}), kBatches.name, batches.layout, "clamped",
              diagnostics);
}

}  // namespace dmlop::roi
