#include "core/ops/identity.h"

#include "core/ops/checks.h"
#include "core/ops/tiled_loop.h"

namespace dmlop {
namespace {

constexpr SupportRow kRows[] = {
    {Level(1, 0), 4, 5, types::kFloats, {}},
    {Level(2, 1), 4, 5, types::kUpTo32, {}},
    {Level(3, 0), 1, 8, types::kUpTo32, {}},
    {Level(4, 1), 1, 8, types::kAll, {}},
};
constexpr SupportTable kTables[] = {{"", kRows}};

}  // namespace

std::span<const SupportTable> SupportTables(const IdentityDesc&) {
  return kTables;
}

const SupportTable* SupportFor(const IdentityDesc&) {
  return &kTables[0];
}

void Complete(IdentityDesc& desc) {
  FillIn(desc.output_tensor, desc.input_tensor.data_type, desc.input_tensor.sizes);
}

void Validate(const IdentityDesc& desc, Diagnostics& diagnostics) {
  const NamedTensor input{"InputTensor", desc.input_tensor};
  const NamedTensor output{"OutputTensor", desc.output_tensor};
  CheckSameDataType("ID-1", output, input, diagnostics);
  if (input.desc.sizes && output.desc.sizes) {
    CheckSizes("ID-1", output, *input.desc.sizes, diagnostics);
  }

  if (desc.scale_bias && input.desc.data_type && BitWidth(*input.desc.data_type) == 64) {
    diagnostics.Error("ID-6", "ScaleBias",
                      "ScaleBias is not supported for " + std::string(Name(*input.desc.data_type)));
  }
}

void Run(const IdentityDesc& desc, std::span<const ConstTensorView> inputs,
         std::span<const TensorView> outputs) {
  if (!desc.scale_bias) return CopyView(inputs[0], outputs[0]);
  const ScaleBiasFunction scale_bias = ScaleBiasFor(outputs[0].type);
  ComputeView(inputs[0], outputs[0],
              [&](int64_t count, std::byte* to, const std::byte* from, bool streams) {
                scale_bias(*desc.scale_bias, count, to, from, streams);
              });
}

}  // namespace dmlop
