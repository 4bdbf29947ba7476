// SPDX-License-Identifier: Apache-2.0
#include "core/ops/recurrent/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/base/integers.h"
#include "core/base/text.h"
#include "core/ops/fused.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop::recurrent {
namespace {

bool IsBidirectional(const OperatorDesc& op) {
  constexpr uint32_t kBidirectional = 2;
  return op[kDirection] == kBidirectional;
}

// --- rules ---------------------------------------------------------------------------------------

void CheckOwners(const OperatorDesc& op, Inference& infer) {
  for (const TensorSlot& slot : TensorSlots(op, TensorRole::kInput)) {
    infer.Require(!slot.desc->owned_by_dml, "REC-3", {slot.field->name, std::nullopt, "Flags"},
                  "OWNED_BY_DML is not allowed");
  }
}

void CheckActivations(const NetworkKind& kind, const OperatorDesc& op, Inference& infer) {
  const size_t count = op[kActivationDescs].size();
  const size_t expected = kind.activations * Directions(op);
  infer.Require(count == expected, "REC-4", dmlop::At(kActivationDescs), "{}; expected {}",
                Counted(count, "entry"), expected);
}

// --- views ---------------------------------------------------------------------------------------

// Selects one index of each of a view's first dimensions and removes these.
template <typename View>
View At(View view, const Dims& index) {
  if (view.data == nullptr) return view;
  for (size_t d = 0; d < index.size(); ++d) view = view.Slice(d, index[d], 1);
  const auto rest = [&](const Dims& dims) { return Dims(dims.begin() + index.size(), dims.end()); };
  view.layout = {rest(view.layout.sizes), rest(view.layout.strides)};
  return view;
}

// Returns {S, B, H} of {S, D, B, H} for one direction.
template <typename View>
View WithoutDirection(View view, int64_t direction) {
  const Layout all = view.layout;
  view = view.Slice(1, direction, 1);
  view.layout = {{all.sizes[0], all.sizes[2], all.sizes[3]},
                 {all.strides[0], all.strides[2], all.strides[3]}};
  return view;
}

std::vector<int64_t> LengthsOf(const ConstTensorView& lengths, int64_t items, int64_t steps) {
  std::vector<int64_t> numbers(static_cast<size_t>(items), steps);
  if (lengths.data == nullptr) return numbers;
  for (int64_t i = 0; i < items; ++i) {
    const int64_t length = lengths.elements<uint32_t>()[i * lengths.layout.strides[3]];
    numbers[static_cast<size_t>(i)] = std::min(length, steps);
  }
  return numbers;
}

CellParameters ParametersOf(const NetworkKind& kind, const OperatorDesc& op,
                            const FieldViews& tensors, int64_t direction) {
  CellParameters parameters{At(tensors.input(kWeightTensor), {0, direction}),
                            At(tensors.input(kRecurrenceTensor), {0, direction}),
                            At(tensors.input(kBiasTensor), {0, 0, direction}),
                            At(tensors.input(kPeepholeTensor), {0, 0, direction}),
                            {}};
  const std::vector<OperatorDesc>& all = op[kActivationDescs];
  for (uint32_t i = 0; i < kind.activations; ++i) {
    parameters.activations.push_back(
        InPlaceFunction(all[static_cast<size_t>(direction) * kind.activations + i]));
  }
  return parameters;
}

SequenceViews ViewsOf(const OperatorDesc& op, const FieldViews& tensors, int64_t direction) {
  SequenceViews views;
  views.input = At(tensors.input(kInputTensor), {0});
  const Dims& sizes = views.input.layout.sizes;
  views.lengths = LengthsOf(tensors.input(kSequenceLengthsTensor), sizes[1], sizes[0]);
  views.backward = IsBackward(op, direction);
  views.hidden = At(tensors.input(kHiddenInitTensor), {0, direction});
  views.memory = At(tensors.input(kCellMemInitTensor), {0, direction});
  views.last_hidden = At(tensors.output(kOutputSingleTensor), {0, direction});
  views.last_memory = At(tensors.output(kOutputCellSingleTensor), {0, direction});
  views.sequence = tensors.output(kOutputSequenceTensor);
  if (views.sequence.data != nullptr) {
    views.sequence = WithoutDirection(views.sequence, direction);
  }
  return views;
}

template <typename T>
void RunDirection(CellMaker<T> maker, const OperatorDesc& op, const CellParameters& parameters,
                  const SequenceViews& views) {
  const std::unique_ptr<Cell<T>> cell = maker(op, parameters);
  RunSequence<T>(views, parameters.recurrence.layout.sizes[1], *cell);
}
void RunDirection(const CellMakers& makers, const OperatorDesc& op,
                  const CellParameters& parameters, const SequenceViews& views) {
  if (views.input.type == DataType::kFloat32) {
    RunDirection(makers.of_float, op, parameters, views);
  } else {
    RunDirection(makers.of_half, op, parameters, views);
  }
}

// Reads a packed view.
std::vector<double> NumbersOf(const TensorView& states) {
  std::vector<double> numbers;
  VisitDataType(Floats(), states.type, [&]<typename T>() {
    const std::span<const T> elements(states.elements<T>(),
                                      static_cast<size_t>(Product(states.layout.sizes)));
    for (const T element : elements) numbers.push_back(AsDouble(element));
  });
  return numbers;
}

// Writes what NumbersOf has read.
Buffer AsElements(DataType type, const std::vector<double>& numbers) {
  Buffer buffer(numbers.size() * ByteWidth(type));
  VisitDataType(Floats(), type, [&]<typename T>() {
    std::ranges::transform(numbers, reinterpret_cast<T*>(buffer.data()), FromDouble<T>);
  });
  return buffer;
}

// --- sources -------------------------------------------------------------------------------------

// The range of steps of the input that a part of an output may depend on.
struct Steps {
  int64_t begin, size;
};
Steps StepsFor(const OperatorDesc& op, const Region& output) {
  const int64_t steps = op.sizes(kInputTensor)[1];
  const std::vector<TensorSlot> outputs = TensorSlots(op, TensorRole::kOutput);
  const bool is_sequence = outputs[output.tensor].field == &kOutputSequenceTensor;
  const bool is_one_way = output.sizes[1] == 1;
  if (!is_sequence || !is_one_way) return {0, steps};
  if (IsBackward(op, output.begin[1])) return {output.begin[0], steps - output.begin[0]};
  return {0, output.begin[0] + output.sizes[0]};
}

}  // namespace

uint32_t Directions(const OperatorDesc& op) {
  return IsBidirectional(op) ? 2 : 1;
}

void InferNetwork(const NetworkKind& kind, const OperatorDesc& op, Inference& infer) {
  CheckOwners(op, infer);
  CheckActivations(kind, op, infer);
  infer.Require(!TensorSlots(op, TensorRole::kOutput).empty(), "REC-8",
                dmlop::At(kOutputSingleTensor), "'{}' is missing, as all outputs are",
                kOutputSingleTensor.name);
  InferShapes(*op.info().shapes, op, infer);
}

void RunNetwork(const NetworkKind& kind, const CellMakers& makers, const OperatorDesc& op,
                InputViews inputs, OutputViews outputs) {
  const FieldViews tensors(op, inputs, outputs);
  for (int64_t direction = 0; direction < Directions(op); ++direction) {
    const CellParameters parameters = ParametersOf(kind, op, tensors, direction);
    RunDirection(makers, op, parameters, ViewsOf(op, tensors, direction));
  }
}

bool IsBackward(const OperatorDesc& op, int64_t direction) {
  constexpr uint32_t kBackward = 1;
  return op[kDirection] == kBackward || direction == 1;
}

int64_t LengthOf(const OperatorDesc& op, InputViews inputs, int64_t item) {
  const Sizes& sizes = op.sizes(kInputTensor);
  const FieldViews tensors(op, inputs, {});
  return LengthsOf(tensors.input(kSequenceLengthsTensor), sizes[2],
                   sizes[1])[static_cast<size_t>(item)];
}

ItemStates StatesAfter(const NetworkKind& kind, const CellMakers& makers, const OperatorDesc& op,
                       InputViews inputs, const ItemSteps& steps, const ItemStates* before) {
  const std::vector<TensorView> nothing(TensorSlots(op, TensorRole::kOutput).size());
  const FieldViews tensors(op, inputs, nothing);
  SequenceViews views = ViewsOf(op, tensors, steps.direction);
  views.input = views.input.Slice(0, steps.begin, steps.count).Slice(1, steps.item, 1);
  views.lengths = {steps.count};
  for (ConstTensorView* state : {&views.hidden, &views.memory}) {
    if (state->data != nullptr) *state = state->Slice(0, steps.item, 1);
  }
  const int64_t units = op.sizes(kRecurrenceTensor)[3];
  const DataType type = views.input.type;
  Buffer hidden(static_cast<size_t>(units) * ByteWidth(type));
  Buffer memory(hidden.size());
  const Buffer hidden_before = before == nullptr ? Buffer() : AsElements(type, before->hidden);
  const Buffer memory_before = before == nullptr ? Buffer() : AsElements(type, before->memory);
  if (before != nullptr) {
    views.hidden = {hidden_before.data(), type, PackedLayout({1, units})};
    views.memory = {memory_before.data(), type, PackedLayout({1, units})};
  }
  views.last_hidden = {hidden.data(), type, PackedLayout({1, units})};
  views.last_memory = {memory.data(), type, PackedLayout({1, units})};
  RunDirection(makers, op, ParametersOf(kind, op, tensors, steps.direction), views);
  return {NumbersOf(views.last_hidden), NumbersOf(views.last_memory)};
}

std::vector<SourceMap> NetworkSources(const OperatorDesc& op) {
  std::vector<SourceMap> maps = SourcesOf(*op.info().shapes, op);
  maps[0] = [&op, own = maps[0]](const Region& output) {
    std::optional<Region> region = own(output);
    const Steps steps = StepsFor(op, output);
    region->begin[1] = steps.begin;
    region->sizes[1] = steps.size;
    return region;
  };
  return maps;
}

void WarnOfLengths(const OperatorDesc& op, InputViews inputs, Diagnostics& diagnostics) {
  const ConstTensorView lengths = FieldViews(op, inputs, {}).input(kSequenceLengthsTensor);
  if (lengths.data == nullptr) return;
  const uint32_t steps = op.sizes(kInputTensor)[1];
  int64_t count = 0;
  int64_t first = 0;
  for (int64_t i = lengths.layout.sizes[3]; i-- > 0;) {
    if (lengths.elements<uint32_t>()[i * lengths.layout.strides[3]] <= steps) continue;
    ++count;
    first = i;
  }
  if (count == 0) return;
  diagnostics.Warning(
      "REC-9", std::string(kSequenceLengthsTensor.name),
      fmt::format("{} of {} {} more than the {} and {} as those; the first is {} "
                  "at [0, 0, 0, {}]",
                  count, Counted(lengths.layout.sizes[3], "length"), ForCount(count, "is", "are"),
                  Counted(steps, "step"), ForCount(count, "counts", "count"),
                  lengths.elements<uint32_t>()[first * lengths.layout.strides[3]], first));
}

int64_t NetworkOperations(const OperatorDesc& op) {
  const Sizes& input = op.sizes(kInputTensor);
  const Sizes& recurrence = op.sizes(kRecurrenceTensor);
  return SaturatedProduct(
      {input[1], input[2], recurrence[1], recurrence[2], int64_t{input[3]} + recurrence[3]});
}

}  // namespace dmlop::recurrent
