// SPDX-License-Identifier: Apache-2.0
// DML_RANDOM_GENERATOR_OPERATOR_DESC: pseudo-random numbers computed from a state.
#include "core/engine/random/philox.h"
#include "core/ops/indexing/index_links.h"

namespace dmlop::random_generator {
namespace {

using namespace indexing;

constexpr std::string_view kTypeNames[] = {"PHILOX_4X32_10"};
constexpr auto kInputState = field::Input("InputStateTensor");
constexpr auto kOutputState = field::Optional(field::Output("OutputStateTensor"));
constexpr auto kType =
    field::Enum("Type", {.prefix = "DML_RANDOM_GENERATOR_TYPE_", .names = kTypeNames});
constexpr auto kFields = Fields(kInputState, kOutputTensor, kOutputState, kType);

void Infer(const OperatorDesc& op, Inference& infer) {
  const TensorAt state = infer.tensor(kInputState);
  Sizes expected(state.desc.rank(), 1);
  expected.back() = std::tuple_size_v<PhiloxState>;
  infer.RequireSizes("RNG-1", state, expected);
  if (op.Has(kOutputState)) infer.Output("RNG-1", kOutputState, state.sizes());
}

// The words of a state lie along its last dimension.
template <typename View>
auto& WordOf(const View& state, size_t word) {
  const int64_t stride = state.layout.strides[state.layout.rank() - 1];
  return state.template elements<uint32_t>()[static_cast<int64_t>(word) * stride];
}

void Generate(const OperatorDesc&, InputViews inputs, OutputViews outputs) {
  PhiloxState state;
  for (size_t w = 0; w < state.size(); ++w) state[w] = WordOf(inputs[0], w);
  FillRandomNumbers(state, outputs[0]);
  if (outputs.size() < 2) return;
  const uint64_t count = static_cast<uint64_t>(outputs[0].layout.element_count());
  const PhiloxState next = Advanced(state, (count + 3) / 4);
  for (size_t w = 0; w < next.size(); ++w) WordOf(outputs[1], w) = next[w];
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("RANDOM_GENERATOR", {kFields, "RNG-1", Infer},
                Computed{.run = Generate,
                         .sources = SourcesFrom<AllOfInput>,
                         .unsplittable_dims = AllDimensions}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::random_generator
