// SPDX-License-Identifier: Apache-2.0
#include "core/api/operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/document/operator_document.h"
#include "core/ops/pieces.h"
#include "core/tensor/nibbles.h"

namespace dmlop {
namespace {

std::string FaultLines(const Diagnostics& diagnostics, std::string_view text) {
  std::string lines;
  PositionFinder positions(text);
  for (const Diagnostic& diagnostic : diagnostics.list()) {
    if (diagnostic.severity != Severity::kError) continue;
    if (!lines.empty()) lines += '\n';
    if (diagnostic.offset) {
      const TextPosition position = positions.Find(*diagnostic.offset);
      lines += fmt::format("{}:{}: ", position.line, position.column);
    }
    lines += LineOf(diagnostic);
  }
  return lines;
}

OperatorDesc ReadOperator(std::string_view text) {
  Diagnostics diagnostics;
  std::optional<JsonDocument> json = JsonDocument::Parse(std::string(text), diagnostics);
  if (json) {
    OperatorDocument document(*std::move(json), "", diagnostics);
    if (document.has_operator()) document.Check(kHighestFeatureLevel, diagnostics);
    if (!diagnostics.has_errors()) return document.op();
  }
  throw InvalidDescriptor(FaultLines(diagnostics, text));
}

TensorInfo InfoOf(const TensorSlot& slot) {
  const Layout layout = LayoutOf(*slot.desc);
  TensorInfo info{DisplayName(slot.path),
                  std::string(Name(*slot.desc->data_type)),
                  *slot.desc->sizes,
                  {},
                  ByteWidth(*slot.desc->data_type),
                  static_cast<size_t>(SizeInBytes(*slot.desc))};
  for (const int64_t stride : layout.strides) info.strides.push_back(static_cast<uint32_t>(stride));
  return info;
}

// Returns the bytes from the first to the last element.
size_t ElementExtent(const Layout& layout, DataType type) {
  return BufferBytes(type, static_cast<size_t>(Extent(layout)));
}

// `role` names what each of the tensors is.
template <typename View, typename Byte>
std::vector<View> ViewsOf(std::string_view role, std::span<const TensorInfo> tensors,
                          const std::vector<DataType>& types,
                          const std::vector<std::span<Byte>>& buffers) {
  if (buffers.size() != tensors.size()) {
    throw std::invalid_argument(
        fmt::format("{} for {}", Counted(buffers.size(), "buffer"), Counted(tensors.size(), role)));
  }
  std::vector<View> views;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorInfo& tensor = tensors[i];
    const Layout layout = {Dims(tensor.sizes.begin(), tensor.sizes.end()),
                           Dims(tensor.strides.begin(), tensor.strides.end())};
    const size_t extent = ElementExtent(layout, types[i]);
    if (buffers[i].size() < extent) {
      throw std::invalid_argument(fmt::format("{} has {}; it needs {}", tensor.name,
                                              Counted(buffers[i].size(), "byte"), extent));
    }
    if (reinterpret_cast<uintptr_t>(buffers[i].data()) % tensor.element_bytes != 0) {
      throw std::invalid_argument(
          fmt::format("{} is not aligned to {} bytes", tensor.name, tensor.element_bytes));
    }
    views.push_back({buffers[i].data(), types[i], layout});
  }
  return views;
}

// --- buffers that overlap ------------------------------------------------------------------------

// The memory of a tensor's elements.
struct Place {
  const TensorInfo* tensor;
  uintptr_t begin, end;

  bool Overlaps(const Place& other) const { return begin < other.end && other.begin < end; }
  // Returns whether elements may be replaced one by one in the other's place.
  bool IsSameAs(const Place& other) const {
    return begin == other.begin && tensor->data_type == other.tensor->data_type &&
           tensor->sizes == other.tensor->sizes && tensor->strides == other.tensor->strides;
  }
};

template <typename View>
std::vector<Place> PlacesOf(std::span<const TensorInfo> tensors, const std::vector<View>& views) {
  std::vector<Place> places;
  for (size_t i = 0; i < views.size(); ++i) {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(views[i].data);
    places.push_back({&tensors[i], begin, begin + ElementExtent(views[i].layout, views[i].type)});
  }
  return places;
}

[[noreturn]] void RefuseOverlap(const Place& output, const Place& other, std::string_view why) {
  throw std::invalid_argument(
      fmt::format("{} overlaps {}{}", output.tensor->name, other.tensor->name, why));
}

void RequireApart(std::vector<Place> outputs) {
  std::ranges::sort(outputs, {}, &Place::begin);
  for (size_t i = 1; i < outputs.size(); ++i) {
    if (outputs[i].Overlaps(outputs[i - 1])) RefuseOverlap(outputs[i], outputs[i - 1], "");
  }
}

// An operator has many inputs or many outputs, but not both.
void RequireApart(const OperatorInfo& op, std::span<const Place> outputs,
                  std::span<const Place> inputs) {
  for (const Place& output : outputs) {
    for (const Place& input : inputs) {
      if (!output.Overlaps(input) || (op.in_place && output.IsSameAs(input))) continue;
      if (!op.in_place) {
        RefuseOverlap(output, input, fmt::format("; {} does not run in place", op.name));
      }
      RefuseOverlap(output, input,
                    "; in place, both begin together and have one DataType, Sizes and Strides");
    }
  }
}

}  // namespace

InvalidDescriptor::InvalidDescriptor(const std::string& faults) : std::invalid_argument(faults) {}
InvalidDescriptor::InvalidDescriptor(const InvalidDescriptor&) noexcept = default;
InvalidDescriptor::~InvalidDescriptor() = default;

struct Operator::State {
  OperatorDesc desc;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<DataType> input_types, output_types;

  explicit State(OperatorDesc operator_desc) : desc(std::move(operator_desc)) {
    for (const TensorSlot& slot : TensorSlots(std::as_const(desc))) {
      const bool is_input = slot.role() == TensorRole::kInput;
      (is_input ? inputs : outputs).push_back(InfoOf(slot));
      (is_input ? input_types : output_types).push_back(*slot.desc->data_type);
    }
  }
};

Operator::Operator(std::string_view descriptor)
    : state_(std::make_unique<const State>(ReadOperator(descriptor))) {}
Operator::Operator(Operator&&) noexcept = default;
Operator& Operator::operator=(Operator&&) noexcept = default;
Operator::~Operator() = default;

std::span<const TensorInfo> Operator::inputs() const {
  return state_->inputs;
}

std::span<const TensorInfo> Operator::outputs() const {
  return state_->outputs;
}

void Operator::Run(const std::vector<std::span<const std::byte>>& inputs,
                   const std::vector<std::span<std::byte>>& outputs) const {
  const auto from = ViewsOf<ConstTensorView>("input", state_->inputs, state_->input_types, inputs);
  const auto to = ViewsOf<TensorView>("output", state_->outputs, state_->output_types, outputs);
  const std::vector<Place> places = PlacesOf(state_->outputs, to);
  RequireApart(state_->desc.info(), places, PlacesOf(state_->inputs, from));
  RequireApart(places);
  RunOnBuffers(state_->desc, from, to);
}

std::vector<std::string> Operator::WarningsOf(
    const std::vector<std::span<const std::byte>>& inputs) const {
  Diagnostics diagnostics;
  WarnOfValues(state_->desc,
               ViewsOf<ConstTensorView>("input", state_->inputs, state_->input_types, inputs),
               diagnostics);
  std::vector<std::string> lines;
  for (const Diagnostic& warning : diagnostics.list()) lines.push_back(LineOf(warning));
  return lines;
}

void SetMaximumThreads(int count) {
  if (count < 1) throw std::invalid_argument(fmt::format("{} threads", count));
  SetThreadCount(count);
}

std::string_view Version() {
  return DMLOP_VERSION;
}

}  // namespace dmlop
