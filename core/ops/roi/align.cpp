// SPDX-License-Identifier: Apache-2.0
// Operators on regions of images.
#include "core/engine/index/place_rule.h"
#include "core/engine/roi/region_samples.h"
#include "core/ops/inference.h"
#include "core/ops/roi/sampling.h"

namespace dmlop::roi {
namespace {

// --- ROI_ALIGN -----------------------------------------------------------------------------------

// DML_ROI_ALIGN_OPERATOR_DESC and DML_ROI_ALIGN1_OPERATOR_DESC: sample regions of images on a grid
// of points.

constexpr auto kOutsideValue = field::Float("OutOfBoundsInputValue");
constexpr auto kAlignFields =
    Fields(kInputTensor, kRegions, kBatches, kOutputTensor, kReductionFunction, kInterpolationMode,
           kSpatialScaleX, kSpatialScaleY, kOutsideValue, kMinimumSamples, kMaximumSamples);
constexpr auto kAlign1Fields =
    Fields(kInputTensor, kRegions, kBatches, kOutputTensor, kReductionFunction, kInterpolationMode,
           kSpatialScaleX, kSpatialScaleY, kInputPixelOffset, kOutputPixelOffset, kOutsideValue,
           kMinimumSamples, kMaximumSamples, kAlignToCorners);

void InferAlign(const OperatorDesc& op, Inference& infer) {
  const auto count = CheckRegions("RAL-1", op, infer);
  if (!op[kOutputTensor].sizes) return;
  const Sizes& output = op.sizes(kOutputTensor);
  if (!count || output.size() != 4 || op[kInputTensor].rank() != 4) return;
  infer.Output("RAL-1", kOutputTensor,
               Sizes{*count, op.sizes(kInputTensor)[1], output[2], output[3]});
  CheckSamples(op, output, infer);
}

void RunAlign(const OperatorDesc& op, InputViews inputs, const Dims& begin, OutputViews outputs) {
  AlignRegions(RuleOf(op, op.sizes(kOutputTensor)), {IsMax(op), op[kOutsideValue]},
               {inputs[0], inputs[1], inputs[2]}, begin, outputs[0]);
}

// The regions are values, so they may select pixels of any image.
std::vector<SourceMap> AlignSources(const OperatorDesc& op) {
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

FormulaNode AlignMeaning(const OperatorDesc& op, const Region& element, Formula& formula) {
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

void WarnOfAlign(const OperatorDesc& op, InputViews inputs, Diagnostics& diagnostics) {
  WarnOfBatches(inputs[2], op.sizes(kInputTensor)[0], diagnostics);
}

// --- ROI_POOLING ---------------------------------------------------------------------------------

// DML_ROI_POOLING_OPERATOR_DESC: the greatest elements in the bins of regions.

constexpr auto kPooledRegions = field::Input("ROITensor");
constexpr auto kSpatialScale = field::Float("SpatialScale");
constexpr auto kPooledSize = field::TwoSizes("PooledSize", {.min = 1, .rule = "CTR-5"});
constexpr auto kPoolingFields =
    Fields(kInputTensor, kPooledRegions, kOutputTensor, kSpatialScale, kPooledSize);

void InferPooling(const OperatorDesc& op, Inference& infer) {
  if (op[kInputTensor].rank() != 4 || op[kPooledRegions].rank() != 4)
    return;  // no level allows that
  const uint32_t count = op.sizes(kPooledRegions)[2];
  infer.RequireSizes("RPL-1", infer.tensor(kPooledRegions), {1, 1, count, 5});
  const Size2d& pooled = op[kPooledSize];
  infer.Output("RPL-1", kOutputTensor,
               Sizes{count, op.sizes(kInputTensor)[1], pooled.height, pooled.width});
}

void RunPooling(const OperatorDesc& op, InputViews inputs, const Dims& begin, OutputViews outputs) {
  const Size2d& pooled = op[kPooledSize];
  PoolRegions(op[kSpatialScale], {pooled.height, pooled.width}, inputs[0], inputs[1], begin,
              outputs[0]);
}

// The regions are values, so they may select elements of any image.
std::vector<SourceMap> PoolingSources(const OperatorDesc& op) {
  return {[&op](const Region& output) {
            return ChannelsOf(0, op.sizes(kInputTensor), output.begin[1], output.sizes[1]);
          },
          [&op](const Region& output) {
            return RegionsOf(1, op.sizes(kPooledRegions), 2, output.begin[0], output.sizes[0]);
          }};
}

FormulaNode PoolingMeaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  const Size2d& pooled = op[kPooledSize];
  const ConstTensorView& input = formula.inputs()[0];
  const RegionBin bin = BinOf(op[kSpatialScale], {pooled.height, pooled.width}, input.layout.sizes,
                              formula.inputs()[1], element.begin);
  const auto tell = [&](std::string_view name, int64_t number) { Tell(name, number, formula); };
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

void WarnOfPooling(const OperatorDesc& op, InputViews inputs, Diagnostics& diagnostics) {
  const ConstTensorView& regions = inputs[1];
  WarnOfStray(FindStrayBatches(regions, op.sizes(kInputTensor)[0]), kPooledRegions.name,
              BatchesOf(regions).layout, "clamped", diagnostics);
}

// --- ROI_ALIGN_GRAD ------------------------------------------------------------------------------

// DML_ROI_ALIGN_GRAD_OPERATOR_DESC: the gradient of ROI_ALIGN1 with respect to the images and the
// corners of the regions.

constexpr auto kImage = field::Optional(kInputTensor);
constexpr auto kImageGradient = field::Optional(field::Output("OutputGradientTensor"));
constexpr auto kRegionGradient =
    field::Optional(field::Output("OutputROIGradientTensor", TypeVariable::kT, RankGroup::kSide));
constexpr auto kGradientFields = Fields(
    kImage, kInputGradient, kRegions, kBatches, kImageGradient, kRegionGradient, kReductionFunction,
    kInterpolationMode, kSpatialScaleX, kSpatialScaleY, kInputPixelOffset, kOutputPixelOffset,
    kMinimumSamples, kMaximumSamples, kAlignToCorners);

bool HasImage(const OperatorDesc& op) {
  return op.find(kImage) != nullptr;
}

// The sizes {N, C, H, W} of the images.
const Sizes& ImageSizes(const OperatorDesc& op) {
  return op.sizes(HasImage(op) ? kImage : kImageGradient);
}

void InferGradient(const OperatorDesc& op, Inference& infer) {
  const bool of_image = op.Has(kImageGradient);
  const bool of_regions = op.Has(kRegionGradient);
  infer.Require(of_image || of_regions, "RAG-1", At(kImageGradient),
                "neither this nor OutputROIGradientTensor is there");
  infer.Require(HasImage(op) || !of_regions, "RAG-1", At(kImage),
                "OutputROIGradientTensor needs it");
  infer.Require(HasImage(op) || !IsMax(op), "RAG-1", At(kImage), "ReductionFunction MAX needs it");
  if (of_image && HasImage(op)) infer.Output("RAG-1", kImageGradient, op.sizes(kImage));
  if (of_regions) infer.Output("RAG-1", kRegionGradient, op.sizes(kRegions));
  const auto count = CheckRegions("RAG-1", op, infer);
  const bool has_sizes = HasImage(op) || (of_image && op[kImageGradient].sizes);
  if (!count || !has_sizes || op[kInputGradient].rank() != 4 || ImageSizes(op).size() != 4) return;
  const Sizes& outputs = op.sizes(kInputGradient);
  infer.RequireSizes("RAG-1", infer.tensor(kInputGradient),
                     {*count, ImageSizes(op)[1], outputs[2], outputs[3]});
  CheckSamples(op, outputs, infer);
}

RegionTensors TensorsOf(const OperatorDesc& op, const FieldViews& views) {
  RegionTensors tensors{views.input(kImage), views.input(kRegions), views.input(kBatches)};
  if (HasImage(op)) return tensors;
  const Sizes& sizes = ImageSizes(op);
  tensors.image.layout.sizes = Dims(sizes.begin(), sizes.end());
  return tensors;
}

void RunGradient(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  const FieldViews views(op, inputs, outputs);
  const RegionTensors tensors = TensorsOf(op, views);
  const RegionRule rule = RuleOf(op, op.sizes(kInputGradient));
  const ConstTensorView gradient = views.input(kInputGradient);
  const AlignmentGradient alignment{rule, IsMax(op), tensors, gradient};
  if (op.Has(kImageGradient)) GradientOfImage(alignment, views.output(kImageGradient));
  if (op.Has(kRegionGradient)) GradientOfCorners(alignment, views.output(kRegionGradient));
}

// The regions are values, so they may select pixels of any image to be read and written.
std::vector<SourceMap> GradientSources(const OperatorDesc& op) {
  const std::vector<TensorSlot> inputs = TensorSlots(op, TensorRole::kInput);
  const std::vector<TensorSlot> outputs = TensorSlots(op, TensorRole::kOutput);
  std::vector<SourceMap> maps;
  for (size_t input = 0; input < inputs.size(); ++input) {
    const std::string_view path = inputs[input].path;
    const Sizes sizes = *inputs[input].desc->sizes;
    // Regions, if the tensor has any, lie along dimension `along`.
    const bool has_regions = path != kImage.name;
    const size_t along = path == kRegions.name   ? sizes.size() - 2
                         : path == kBatches.name ? sizes.size() - 1
                                                 : 0;
    const bool has_channels = path == kImage.name || path == kInputGradient.name;
    maps.push_back([=](const Region& output) {
      const bool of_image = outputs[output.tensor].path == kImageGradient.name;
      const Dims& begin = output.begin;
      if (of_image && has_channels) {
        return ChannelsOf(input, sizes, begin[1], output.sizes[1]);
      }
      if (!of_image && has_regions) {
        const size_t row = begin.size() - 2;
        return RegionsOf(input, sizes, along, begin[row], output.sizes[row]);
      }
      return Region{input, Dims::Filled(sizes.size(), 0), Dims(sizes.begin(), sizes.end())};
    });
  }
  return maps;
}

// Builds the formula of one element of an output.
class GradientFormula {
 public:
  GradientFormula(const OperatorDesc& op, Formula& formula)
      : op_(op),
        formula_(formula),
        tensors_(TensorsOf(op, {op, formula.inputs(), {}})),
        rule_(RuleOf(op, op.sizes(kInputGradient))),
        part_{0, rule_.height, 0, rule_.width} {}

  // Adds up the shares of the gradients of all outputs whose samples include the pixel.
  FormulaNode OfPixel(const Dims& pixel) {
    for (int64_t region = 0; region < tensors_.count() && !formula_.is_too_long(); ++region) {
      if (BatchOf(tensors_.batches, region, sizes()[0]) != pixel[0]) continue;
      if (!MayReach(rule_, sizes(), tensors_.regions, region, pixel)) continue;
      const RegionSamples samples = SamplesAt(region);
      ForOutputs(samples, [&](size_t row, size_t column) {
        const bool has_samples = WeightOf(samples.rows.outputs[row].span, pixel[2]) != 0 &&
                                 WeightOf(samples.columns.outputs[column].span, pixel[3]) != 0;
        if (!has_samples) return;
        const PlacedRuns runs = RunsOf(samples, pixel[1], row, column);
        const double y = WeightOf(SpanOf(runs.y), pixel[2]);
        const double x = WeightOf(SpanOf(runs.x), pixel[3]);
        if (y == 0 || x == 0) return;
        const FormulaNode gradient = GradientAt(samples, {region, pixel[1]}, row, column);
        terms_.push_back(formula_.Product(
            {gradient, formula_.Given(y, "weight of row"), formula_.Given(x, "weight of column")}));
      });
    }
    return formula_.Named("sum of shares", formula_.Sum(terms_));
  }

  // Adds up how the samples change with corner 0 to 3 of a region.
  FormulaNode OfCorner(int64_t region, int64_t corner) {
    const RegionSamples samples = SamplesAt(region);
    TellRegion(op_, samples, region, formula_);
    for (int64_t channel = 0; channel < sizes()[1]; ++channel) {
      ForOutputs(samples, [&](size_t row, size_t column) {
        const PlacedRuns runs = RunsOf(samples, channel, row, column);
        const FormulaNode gradient = GradientAt(samples, {region, channel}, row, column);
        for (const SampleRun& y : runs.y) {
          for (const SampleRun& x : runs.x) {
            AddSlope({0, samples.batch, channel}, {y, x}, corner, gradient);
          }
        }
      });
    }
    return formula_.Named("sum of slopes", formula_.Sum(terms_));
  }

 private:
  // The samples that receive an output's gradient: all of them, or only the greatest.
  struct PlacedRuns {
    std::vector<SampleRun> y, x;
  };
  struct RegionChannel {
    int64_t region, channel;
  };

  const Dims& sizes() const { return tensors_.image.layout.sizes; }

  RegionSamples SamplesAt(int64_t region) const {
    return SamplesOf(rule_, sizes(), tensors_.regions, tensors_.batches, region, part_);
  }

  template <typename Visit>
  void ForOutputs(const RegionSamples& samples, Visit&& visit) const {
    for (size_t row = 0; row < samples.rows.outputs.size(); ++row) {
      for (size_t column = 0; column < samples.columns.outputs.size(); ++column) {
        if (!formula_.is_too_long()) visit(row, column);
      }
    }
  }

  PlacedRuns RunsOf(const RegionSamples& samples, int64_t channel, size_t row,
                    size_t column) const {
    if (!IsMax(op_)) {
      return {samples.rows.outputs[row].runs, samples.columns.outputs[column].runs};
    }
    const auto winner = WinnerOf(tensors_, channel, samples, row, column);
    return winner ? PlacedRuns{{winner->y}, {winner->x}} : PlacedRuns{};
  }

  static double WeightOf(const PixelSpan& span, int64_t pixel) {
    const int64_t k = pixel - span.first;
    const bool is_inside = 0 <= k && k < std::ssize(span.weights);
    return is_inside ? span.weights[static_cast<size_t>(k)] : 0;
  }

  // Returns the gradient of a single sample.
  FormulaNode GradientAt(const RegionSamples& samples, const RegionChannel& place, size_t row,
                         size_t column) {
    const size_t input = *NumberInRole(op_, kInputGradient);
    const FormulaNode gradient = formula_.Element(
        {input,
         {place.region, place.channel, static_cast<int64_t>(row), static_cast<int64_t>(column)},
         {1, 1, 1, 1}});
    const Dyadic count = Dyadic(samples.rows.samples) * Dyadic(samples.columns.samples);
    if (IsMax(op_) || (count - Dyadic(1)).Sign() == 0) return gradient;
    return formula_.Quotient(gradient, formula_.Number(count));
  }

  // Adds the difference of the pixels between which the corner moves a sample, if not on a pixel.
  void AddSlope(const ImagePlane& plane, const WinningSample& sample, int64_t corner,
                FormulaNode gradient) {
    const bool is_x = corner % 2 == 0;
    const SampleRun& along = is_x ? sample.x : sample.y;
    if (along.fraction == 0) return;
    const auto [a, b, c, d] = PixelsAround(plane, sample.y, sample.x, formula_);
    const Fraction across = is_x ? FractionOf(sample.y, "y", formula_)  //
                                 : FractionOf(sample.x, "x", formula_);
    const FormulaNode slope =
        is_x ? Between(formula_.Difference(b, a), formula_.Difference(d, c), across, formula_)
             : Between(formula_.Difference(c, a), formula_.Difference(d, b), across, formula_);
    const double scale = static_cast<double>(op_[is_x ? kSpatialScaleX : kSpatialScaleY]);
    FormulaNode part = formula_.Given((along.first_place + along.last_place) / 2, "t");
    if (corner < 2) part = formula_.Difference(formula_.Number(1.0), part);
    const FormulaNode product = formula_.Product({gradient, slope, formula_.Number(scale), part});
    terms_.push_back(formula_.Scaled(sample.y.count * sample.x.count, product));
  }

  const OperatorDesc& op_;
  Formula& formula_;
  RegionTensors tensors_;
  RegionRule rule_;
  OutputPart part_;
  std::vector<FormulaNode> terms_;
};

FormulaNode GradientMeaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  const TensorSlot output = TensorSlots(op, TensorRole::kOutput)[element.tensor];
  GradientFormula meaning(op, formula);
  if (output.path == kImageGradient.name) return meaning.OfPixel(element.begin);
  return meaning.OfCorner(element.begin[element.begin.size() - 2], element.begin.back());
}

void WarnOfGradient(const OperatorDesc& op, InputViews inputs, Diagnostics& diagnostics) {
  WarnOfBatches(FieldViews(op, inputs, {}).input(kBatches), ImageSizes(op)[0], diagnostics);
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow(
        "ROI_ALIGN", {kAlignFields, "RAL-1", InferAlign},
        Computed{
            .run = RunAlign, .sources = AlignSources, .warn = WarnOfAlign, .formula = AlignMeaning},
        {.reads_by_index = true}),
    OperatorRow(
        "ROI_ALIGN1", {kAlign1Fields, "RAL-1", InferAlign},
        Computed{
            .run = RunAlign, .sources = AlignSources, .warn = WarnOfAlign, .formula = AlignMeaning},
        {.reads_by_index = true}),
    OperatorRow("ROI_POOLING", {kPoolingFields, "RPL-1", InferPooling},
                Computed{.run = RunPooling,
                         .sources = PoolingSources,
                         .warn = WarnOfPooling,
                         .formula = PoolingMeaning},
                {.reads_by_index = true}),
    OperatorRow("ROI_ALIGN_GRAD", {kGradientFields, "RAG-1", InferGradient},
                Computed{.run = RunGradient,
                         .sources = GradientSources,
                         .unsplittable_dims = AllDimensions,
                         .warn = WarnOfGradient,
                         .formula = GradientMeaning},
                {.reads_by_index = true}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::roi
