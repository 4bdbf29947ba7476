// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/onnx_node.h"

#include <fmt/ranges.h>

#include <cassert>

#include "core/base/text.h"
#include "core/onnx/onnx_builder.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

using Kind = OnnxAttribute::Kind;

[[noreturn]] void RefuseNumber(const Field& field, int64_t number) {
  throw Refusal("ONX-3", "{} would be {}, which does not fit into 32 bits", field.name, number);
}

template <typename T>
T Narrow(const Field& field, int64_t number) {
  if (!std::in_range<T>(number)) RefuseNumber(field, number);
  return static_cast<T>(number);
}

template <typename T>
std::vector<T> NarrowAll(const Field& field, const std::vector<int64_t>& numbers) {
  std::vector<T> narrow;
  for (const int64_t number : numbers) narrow.push_back(Narrow<T>(field, number));
  return narrow;
}

double AsNumber(const OnnxSetting::Value& value) {
  const auto* integer = std::get_if<int64_t>(&value);
  return integer != nullptr ? static_cast<double>(*integer) : std::get<double>(value);
}

uint32_t MemberCalled(const Field& field, std::string_view name) {
  const auto found = std::ranges::find(field.names.names, name);
  assert(found != field.names.names.end());
  return static_cast<uint32_t>(found - field.names.names.begin());
}

std::vector<TensorDesc> DescsOf(const std::vector<OnnxOperand>& operands) {
  std::vector<TensorDesc> descs;
  for (const OnnxOperand& operand : operands) descs.push_back(operand.desc);
  return descs;
}

FieldValue FieldValueOf(const Field& field, const OnnxSetting::Value& value) {
  switch (field.kind) {
    case FieldKind::kTensor:
      return std::get<OnnxOperand>(value).desc;
    case FieldKind::kTensors:
      return DescsOf(std::get<std::vector<OnnxOperand>>(value));
    case FieldKind::kCount:
    case FieldKind::kUint:
      return Narrow<uint32_t>(field, std::get<int64_t>(value));
    case FieldKind::kInt:
      return Narrow<int32_t>(field, std::get<int64_t>(value));
    case FieldKind::kFloat:
      return static_cast<float>(AsNumber(value));
    case FieldKind::kBool: {
      const auto* flag = std::get_if<bool>(&value);
      return flag != nullptr ? *flag : std::get<int64_t>(value) != 0;
    }
    case FieldKind::kEnum:
      return MemberCalled(field, std::get<std::string_view>(value));
    case FieldKind::kDataType:
      return std::get<DataType>(value);
    case FieldKind::kUints:
      return NarrowAll<uint32_t>(field, std::get<std::vector<int64_t>>(value));
    case FieldKind::kInts:
      return NarrowAll<int32_t>(field, std::get<std::vector<int64_t>>(value));
    case FieldKind::kFloats:
      return std::get<std::vector<float>>(value);
    case FieldKind::kScaleBias:
      return std::get<ScaleBias>(value);
    case FieldKind::kSize2d:
      return std::get<Size2d>(value);
    case FieldKind::kScalar:
      return std::get<Scalar>(value);
    case FieldKind::kActivation:
    case FieldKind::kActivations:
      return std::get<std::vector<OperatorDesc>>(value);
  }
  return std::monostate();
}

size_t FieldCalled(const OperatorInfo& info, std::string_view name) {
  const auto found =
      std::ranges::find(info.fields, name, [](const Field* one) { return one->name; });
  assert(found != info.fields.end());
  return static_cast<size_t>(found - info.fields.begin());
}

void Set(OperatorDesc& op, const OnnxSetting& setting) {
  const size_t number = FieldCalled(op.info(), setting.field);
  op.values()[number] = FieldValueOf(*op.fields()[number], setting.value);
}

// The tensors of an operator's slots, in order.
std::vector<const OnnxOperand*> OperandsOf(const OperatorDesc& op, const OnnxSettings& settings) {
  std::vector<const OnnxOperand*> operands;
  for (const Field* field : op.fields()) {
    const auto given = std::ranges::find(settings, field->name, &OnnxSetting::field);
    if (given == settings.end()) continue;
    if (const auto* one = std::get_if<OnnxOperand>(&given->value)) operands.push_back(one);
    const auto* several = std::get_if<std::vector<OnnxOperand>>(&given->value);
    if (several == nullptr) continue;
    for (const OnnxOperand& operand : *several) operands.push_back(&operand);
  }
  return operands;
}

bool IsEmpty(const OnnxOperand& operand) {
  return operand.value->empty();
}

// Leaves out what is empty among several outputs; true if an output is left.
bool DropEmptyOutputs(const OperatorInfo& info, OnnxSettings& settings) {
  bool has_output = false;
  for (OnnxSetting& setting : settings) {
    const Field& field = *info.fields[FieldCalled(info, setting.field)];
    if (!field.is_tensor() || field.role != TensorRole::kOutput) continue;
    if (auto* several = std::get_if<std::vector<OnnxOperand>>(&setting.value)) {
      std::erase_if(*several, IsEmpty);
      has_output |= !several->empty();
    } else {
      has_output |= !IsEmpty(std::get<OnnxOperand>(setting.value));
    }
  }
  return has_output;
}

void RequireFewDimensions(const OnnxOperand& operand) {
  if (operand.desc.rank() <= kMaxRank) return;
  throw Refusal("ONX-1", "'{}' has {} dimensions; tensors of DirectML have 1 to {}",
                operand.value->name, operand.desc.rank(), kMaxRank);
}

// Refuses a tensor that is larger in the descriptor than it is: a row has not looked at its sizes.
void RequireRoom(const OnnxValue& value, const TensorDesc& desc) {
  const int64_t has = SaturatedProduct({CountOf(value.sizes), BitWidth(value.type.type)});
  const int64_t needs = SaturatedProduct({Extent(LayoutOf(desc)), BitWidth(*desc.data_type)});
  if (needs <= has) return;
  throw Refusal("ONX-4", "'{}' of {} has other sizes than are expected of it", value.name,
                ToString(value.sizes));
}

// "GEMM: ATensor/Sizes: 2 dimensions are ..."
std::string FaultText(const OperatorDesc& op, const Diagnostic& fault) {
  if (!fault.pointer.empty()) {
    return fmt::format("{}: {}: {}", op.name(), fault.pointer, fault.message);
  }
  return fault.message.starts_with(op.name()) ? fault.message
                                              : fmt::format("{}: {}", op.name(), fault.message);
}

// Completes the descriptor as well.
std::vector<OnnxRefusal::Fault> Completed(FeatureLevel level, OperatorDesc& op) {
  Diagnostics found;
  Check(op, level, found);
  std::vector<OnnxRefusal::Fault> faults;
  for (const Diagnostic& one : found.list()) {
    if (one.severity == Severity::kError) faults.push_back({one.code, FaultText(op, one)});
  }
  return faults;
}

void RequireValid(OperatorDesc& op) {
  auto faults = Completed(kHighestFeatureLevel, op);
  if (!faults.empty()) throw OnnxRefusal{std::move(faults)};
}

}  // namespace

std::vector<OnnxRefusal::Fault> FaultsAt(FeatureLevel level, const OperatorDesc& op) {
  if (level == kHighestFeatureLevel) return {};
  OperatorDesc judged = op;
  return Completed(level, judged);
}

OperatorDesc OnnxActivation(std::string_view name, const OnnxSettings& settings) {
  const OperatorInfo& info = *FindOperator(name);
  OperatorDesc op(info);
  for (const Field* tensor : TensorFieldsOf(info)) op.Remove(*tensor);
  for (const OnnxSetting& setting : settings) Set(op, setting);
  return op;
}

// --- a node --------------------------------------------------------------------------------------

OnnxCall::OnnxCall(OnnxBuilder& builder, const OnnxNode& node, const OnnxRow& row, int version,
                   std::string label, std::vector<OnnxValue*> inputs)
    : builder_(builder),
      node_(node),
      row_(row),
      version_(version),
      label_(std::move(label)),
      inputs_(std::move(inputs)),
      outputs_(node.outputs.size()) {}

void OnnxCall::Import() {
  RefuseReferences();
  RefuseOldBroadcast();
  row_.import(*this);
  RequireOutputs();
}

// Attributes of a function's nodes have their values by now.
void OnnxCall::RefuseReferences() const {
  for (const OnnxAttribute& one : node_.attributes) {
    if (one.reference.empty()) continue;
    Refuse("ONX-3", "the attribute '{}' refers to one of a function, which the node is not in",
           one.name);
  }
}

// In old models, the axis that an attribute names says which dimensions are repeated. C of Gemm has
// none.
void OnnxCall::RefuseOldBroadcast() const {
  if (name() != "Gemm" && Int("broadcast", 0) != 0) {
    Refuse("ONX-3", "the attribute broadcast is of old models");
  }
}

void OnnxCall::RequireOutputs() const {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!Wants(i) || outputs_[i] != nullptr) continue;
    Refuse("ONX-3", "no DirectML operator computes its output {}, '{}'", i + 1, node_.outputs[i]);
  }
}

OnnxValue& OnnxCall::In(size_t input) const {
  if (!Has(input)) Refuse("ONX-3", "input {} is left out", input + 1);
  if (inputs_[input]->is_refused) throw OnnxUnknownInput{};
  return *inputs_[input];
}

std::optional<KnownElements> OnnxCall::Known(size_t input) const {
  return builder_.Known(In(input));
}

KnownElements OnnxCall::Values(size_t input) const {
  const auto known = Known(input);
  if (!known) {
    Refuse("ONX-5",
           "the sizes of its output depend on the values of '{}', which are not known while the "
           "model is read",
           In(input).name);
  }
  return *known;
}

KnownElements OnnxCall::Value(size_t input) const {
  const KnownElements known = Values(input);
  if (known.count < 1) Refuse("ONX-4", "'{}' has no element", In(input).name);
  return known;
}

std::vector<int64_t> OnnxCall::Integers(size_t input) const {
  const KnownElements known = Values(input);
  std::vector<int64_t> integers;
  for (int64_t i = 0; i < known.count; ++i) integers.push_back(known.Integer(i));
  return integers;
}

std::vector<double> OnnxCall::Numbers(size_t input) const {
  const KnownElements known = Values(input);
  std::vector<double> numbers;
  for (int64_t i = 0; i < known.count; ++i) numbers.push_back(known.Number(i));
  return numbers;
}

const OnnxAttribute* OnnxCall::FindAttribute(std::string_view name, Kind kind) const {
  const OnnxAttribute* found = node_.Find(name);
  if (found != nullptr && found->kind != kind) {
    Refuse("ONX-3", "the attribute {} is of another kind", name);
  }
  return found;
}

int64_t OnnxCall::Int(std::string_view name, int64_t otherwise) const {
  const OnnxAttribute* found = FindAttribute(name, Kind::kInt);
  if (found == nullptr) return otherwise;
  return found->ints.empty() ? 0 : found->ints.back();
}

float OnnxCall::Float(std::string_view name, float otherwise) const {
  const OnnxAttribute* found = FindAttribute(name, Kind::kFloat);
  if (found == nullptr) return otherwise;
  return found->floats.empty() ? 0 : found->floats.back();
}

std::string_view OnnxCall::Text(std::string_view name, std::string_view otherwise) const {
  const OnnxAttribute* found = FindAttribute(name, Kind::kString);
  if (found == nullptr) return otherwise;
  return found->strings.empty() ? std::string_view() : found->strings.back();
}

std::optional<std::vector<int64_t>> OnnxCall::Ints(std::string_view name) const {
  const OnnxAttribute* found = FindAttribute(name, Kind::kInts);
  return found == nullptr ? std::nullopt : std::optional(found->ints);
}

std::optional<std::vector<float>> OnnxCall::Floats(std::string_view name) const {
  const OnnxAttribute* found = FindAttribute(name, Kind::kFloats);
  return found == nullptr ? std::nullopt : std::optional(found->floats);
}

std::optional<std::vector<std::string_view>> OnnxCall::Texts(std::string_view name) const {
  const OnnxAttribute* found = FindAttribute(name, Kind::kStrings);
  return found == nullptr ? std::nullopt : std::optional(found->strings);
}

const TensorProto* OnnxCall::Tensor(std::string_view name) const {
  const OnnxAttribute* found = FindAttribute(name, Kind::kTensor);
  return found == nullptr || !found->tensor ? nullptr : &*found->tensor;
}

size_t OnnxCall::Axis(int64_t axis, size_t rank) const {
  const auto count = static_cast<int64_t>(rank);
  if (axis < -count || axis >= count) {
    Refuse("ONX-3", "axis {} is out of range for {}", axis, Counted(rank, "dimension"));
  }
  return static_cast<size_t>(axis < 0 ? axis + count : axis);
}

std::vector<size_t> OnnxCall::Axes(const OnnxSizes& axes, size_t rank) const {
  std::vector<size_t> found;
  for (const int64_t axis : axes) {
    found.push_back(Axis(axis, rank));
    if (std::ranges::count(found, found.back()) > 1)
      Refuse("ONX-3", "axis {} is there twice", axis);
  }
  return found;
}

void OnnxCall::RequireInt(std::string_view name, int64_t only) const {
  const int64_t given = Int(name, only);
  if (given != only) Refuse("ONX-3", "no DirectML operator has {} {}", name, given);
}

void OnnxCall::RequireText(std::string_view name, std::string_view only) const {
  const std::string_view given = Text(name, only);
  if (given != only) Refuse("ONX-3", "no DirectML operator has {} '{}'", name, given);
}

ElementBytes OnnxCall::FirstOf(const TensorProto& tensor) const {
  const LoadedTensor elements = TensorOf(tensor, nullptr, "its value", Placement::kAsStored);
  if (elements.view.layout.element_count() < 1) Refuse("ONX-3", "its value is empty");
  ElementBytes bytes{};
  std::copy_n(elements.view.data, ByteWidth(elements.view.type), bytes.begin());
  return bytes;
}

OnnxType OnnxCall::RequireType(int64_t number) const {
  if (number != static_cast<int32_t>(number)) Refuse("ONX-6", "DirectML has no type {}", number);
  return dmlop::RequireType(OnnxTypeOf(static_cast<int32_t>(number)));
}

OnnxOperand OnnxCall::Out(size_t output, const OnnxType& type, const OnnxSizes& sizes) {
  return Out(output, type, sizes, sizes);
}

OnnxOperand OnnxCall::Out(size_t output, const OnnxType& type, const OnnxSizes& sizes,
                          const OnnxSizes& laid_out) {
  if (output >= outputs_.size()) Refuse("ONX-3", "output {} is left out", output + 1);
  outputs_[output] = &builder_.Add(std::string(node_.outputs[output]), type, RequireSizes(sizes));
  return Reshaped(*outputs_[output], laid_out);
}

OnnxOperand OnnxCall::Temporary(const OnnxType& type, const OnnxSizes& sizes) {
  return Packed(
      builder_.Add(fmt::format("{}/{}", label_, ++temporaries_), type, RequireSizes(sizes)));
}

void OnnxCall::OutKnown(size_t output, const OnnxType& type, const OnnxSizes& sizes,
                        std::span<const std::byte> elements) {
  builder_.SetCopied(*Out(output, type, sizes).value, elements);
}

OnnxValue& OnnxCall::Constant(const OnnxType& type, const OnnxSizes& sizes,
                              std::span<const std::byte> elements) {
  OnnxValue& value = *Temporary(type, sizes).value;
  builder_.SetCopied(value, elements);
  return value;
}

void OnnxCall::OutTensor(size_t output, const TensorProto& tensor) {
  const OnnxSizes sizes(tensor.shape.begin(), tensor.shape.end());
  OnnxOperand operand = Out(output, RequireType(tensor.type.number), sizes);
  builder_.SetTensor(*operand.value, tensor);
}

void OnnxCall::Emit(std::string_view name, const OnnxSettings& settings) {
  OnnxSettings given = settings;
  OperatorDesc op(*FindOperator(name));
  if (!DropEmptyOutputs(op.info(), given)) return;
  for (const OnnxSetting& setting : given) Set(op, setting);
  const std::vector<const OnnxOperand*> operands = OperandsOf(op, given);
  for (const OnnxOperand* operand : operands) RequireFewDimensions(*operand);
  RequireValid(op);
  const std::vector<TensorSlot> slots = TensorSlots(std::as_const(op));
  assert(operands.size() == slots.size());
  std::vector<OnnxValue*> values;
  for (size_t i = 0; i < slots.size(); ++i) {
    values.push_back(operands[i]->value);
    RequireRoom(*values.back(), *slots[i].desc);
  }
  for (auto& fault : FaultsAt(builder_.level(), op)) {
    level_faults_.push_back({builder_.node_count(), std::move(fault)});
  }
  builder_.AddNode(label_, std::move(op), values);
}

}  // namespace dmlop
