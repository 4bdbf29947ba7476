// DML_ROI_ALIGN_GRAD_OPERATOR_DESC: the gradient of ROI_ALIGN1 with respect to its images and to
// the corners of its regions.
#include "core/engine/region/align_regions_gradient.h"

#include "core/ops/region/shared.h"

namespace dmlop::region_gradient {
namespace {

using namespace region;

constexpr auto kImage = field::Optional(kInputTensor);
constexpr auto kGradient = field::Input("InputGradientTensor").Means(meaning::kInputGradientTensor);
constexpr auto kImageGradient =
    field::Optional(field::Output("OutputGradientTensor")).Means(meaning::kOutputGradientTensor);
constexpr auto kRegionGradient =
    field::Optional(field::Output("OutputROIGradientTensor", TypeVariable::kT, RankGroup::kSide))
        .Means("The gradient of ROITensor.");
constexpr const Field* kFields[] = {
    &kImage,          &kGradient,       &kRegions,           &kBatches,
    &kImageGradient,  &kRegionGradient, &kReductionFunction, &kInterpolationMode,
    &kSpatialScaleX,  &kSpatialScaleY,  &kInputPixelOffset,  &kOutputPixelOffset,
    &kMinimumSamples, &kMaximumSamples, &kAlignToCorners};
constexpr SupportRow kRows[] = {Row(Level(4, 1), {DataType::kUint32})};
constexpr SupportTable kSupport[] = {{kRows}};
constexpr Rule kRules[] = {
    {"RAG-1",
     "there is an output; InputTensor is there for MAX and for OutputROIGradientTensor, which has "
     "ROITensor's sizes; OutputGradientTensor has InputTensor's; ROITensor is {R, 4} and "
     "BatchIndicesTensor {R}, behind 1s; InputGradientTensor is {R, C, ..}; all but the indices "
     "agree in DataType"},
    kSamples,
};

bool HasImage(const OperatorDesc& op) {
  return op.find(kImage) != nullptr;
}

// {N, C, H, W}.
const Sizes& ImageSizes(const OperatorDesc& op) {
  return op.sizes(HasImage(op) ? kImage : kImageGradient);
}

void Infer(const OperatorDesc& op, Inference& infer) {
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
  if (!count || !has_sizes || op[kGradient].rank() != 4 || ImageSizes(op).size() != 4) return;
  const Sizes& outputs = op.sizes(kGradient);
  infer.RequireSizes("RAG-1", infer.tensor(kGradient),
                     {*count, ImageSizes(op)[1], outputs[2], outputs[3]});
  CheckSamples(op, outputs, infer);
}

void Run(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  const Sizes& sizes = ImageSizes(op);
  const size_t first = HasImage(op) ? 1 : 0;
  RegionTensors tensors{{}, inputs[first + 1], inputs[first + 2]};
  if (HasImage(op)) {
    tensors.image = inputs[0];
  } else {
    tensors.image.layout.sizes = Dims(sizes.begin(), sizes.end());
  }
  const RegionRule rule = RuleOf(op, op.sizes(kGradient));
  const AlignmentGradient alignment{rule, IsMax(op), tensors, inputs[first]};
  if (op.Has(kImageGradient)) GradientOfImage(alignment, outputs.front());
  if (op.Has(kRegionGradient)) GradientOfCorners(alignment, outputs.back());
}

// Images are read and written where the values of the regions say.
std::vector<SourceMap> Sources(const OperatorDesc& op) {
  const std::vector<TensorSlot> inputs = TensorSlots(op, TensorRole::kInput);
  const std::vector<TensorSlot> outputs = TensorSlots(op, TensorRole::kOutput);
  std::vector<SourceMap> maps;
  for (size_t input = 0; input < inputs.size(); ++input) {
    const std::string_view path = inputs[input].path;
    const Sizes sizes = *inputs[input].desc->sizes;
    // Regions lie along this dimension, or along none.
    const bool has_regions = path != kImage.name;
    const size_t along = path == kRegions.name   ? sizes.size() - 2
                         : path == kBatches.name ? sizes.size() - 1
                                                 : 0;
    const bool has_channels = path == kImage.name || path == kGradient.name;
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

void Warn(const OperatorDesc& op, InputViews inputs, Diagnostics& diagnostics) {
  WarnOfBatches(inputs[HasImage(op) ? 3 : 2], ImageSizes(op)[0], diagnostics);
}

constexpr OperatorInfo kOperators[] = {
    {.name = "ROI_ALIGN_GRAD",
     .summary = "gradient of ROI_ALIGN1",
     .fields = kFields,
     .support = kSupport,
     .type_rule = "RAG-1",
     .rules = kRules,
     .infer = Infer,
     .family = Custom{.run = Run, .sources = Sources, .whole = AllDimensions, .warn = Warn},
     .values_choose = true},
};

}  // namespace

std::span<const OperatorInfo> Operators() {
  return kOperators;
}

}  // namespace dmlop::region_gradient
