// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random_desc.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/ops/support_check.h"
#include "tests/support/desc.h"
#include "tests/support/linked_sizes.h"
#include "tests/support/random_tensor.h"

namespace dmlop {
namespace {

constexpr int64_t kMaxElements = 2000;

bool IsLeftOut(const FieldValue& value) {
  return std::holds_alternative<std::monostate>(value);
}

bool IsTensor(const Field& field) {
  return field.kind == FieldKind::kTensor || field.kind == FieldKind::kTensors;
}

class DescDrawer {
 public:
  DescDrawer(const Entropy& from, OperatorDesc begun) : from_(from), op_(std::move(begun)) {}

  OperatorDesc Draw() {
    DrawEnums(op_);  // the table may depend on them
    const SupportRow& row = SupportFor(op_)->rows.back();
    DrawTypes(row);
    for (const MutableTensorSlot& slot : TensorSlots(op_)) {
      if (!slot.desc->data_type) slot.desc->data_type = TypeOf(*slot.field);
    }
    row_ = &row;
    sizes_ = SizesOf(RandomSizes(from_, Rank(RankGroup::kMain), kMaxElements));
    DrawLinkedSizes(from_, sizes_, op_);
    DrawFields(op_);
    Complete(op_);
    for (const MutableTensorSlot& slot : TensorSlots(op_)) DrawStrides(slot.role(), *slot.desc);
    return std::move(op_);
  }

 private:
  void DrawEnums(OperatorDesc& op) {
    for (size_t i = 0; i < op.fields().size(); ++i) {
      const Field& field = *op.fields()[i];
      if (field.kind != FieldKind::kEnum || !IsLeftOut(op.values()[i])) continue;
      op.values()[i] = static_cast<uint32_t>(from_.Index(field.names.names.size()));
    }
  }

  // A type variable without types has those of the first one.
  void DrawTypes(const SupportRow& row) {
    for (size_t i = 0; i < kTypeVariables; ++i) {
      const DataTypeSet set = row.TypesOf(static_cast<TypeVariable>(i));
      types_[i] = set.empty() ? types_[0] : from_.OneOf(TypesOf(set));
    }
  }

  DataType TypeOf(const Field& field) const { return types_[static_cast<size_t>(field.type)]; }

  size_t Rank(RankGroup group) const {
    const SupportRow::Ranks ranks = row_->RanksOf(group);
    return static_cast<size_t>(from_.Between(ranks.min, ranks.max));
  }

  bool HasInputs() const { return !TensorSlots(op_, TensorRole::kInput).empty(); }

  void DrawFields(OperatorDesc& op) {
    for (size_t i = 0; i < op.fields().size(); ++i) {
      const Field& field = *op.fields()[i];
      FieldValue& value = op.values()[i];
      if (field.kind == FieldKind::kCount) BeginArrays(*op.fields()[i + 1]);
      if (IsTensor(field)) {
        DrawTensors(field, value);
      } else if (IsLeftOut(value) && !(field.optional && from_.OneIn(2))) {
        value = Value(field);
      }
    }
  }

  // Draws the number of entries of the arrays that follow.
  void BeginArrays(const Field& first) {
    const uint64_t most = std::min<uint64_t>(first.limits.max_count, sizes_.size());
    count_ = static_cast<size_t>(
        from_.Between(first.limits.min_count, std::max<uint64_t>(most, first.limits.min_count)));
  }

  // --- tensors -----------------------------------------------------------------------------------

  void DrawTensors(const Field& field, FieldValue& value) {
    if (IsLeftOut(value)) {
      if (field.optional && (DrawsOptionalTensors(op_) || from_.OneIn(2))) return;
      if (field.kind == FieldKind::kTensor) {
        value = TensorDesc();
      } else {
        value.emplace<std::vector<TensorDesc>>(static_cast<size_t>(from_.Int(1, 4)));
      }
    }
    if (auto* tensor = std::get_if<TensorDesc>(&value)) return DrawTensor(field, *tensor);
    for (TensorDesc& tensor : std::get<std::vector<TensorDesc>>(value)) DrawTensor(field, tensor);
  }

  // Inputs have the first one's sizes if their ranks allow; outputs' sizes follow from them.
  void DrawTensor(const Field& field, TensorDesc& tensor) {
    if (!tensor.data_type) tensor.data_type = TypeOf(field);
    if (tensor.sizes || (field.role == TensorRole::kOutput && HasInputs())) return;
    const SupportRow::Ranks ranks = row_->RanksOf(field.ranks);
    const bool is_like_first = ranks.min <= sizes_.size() && sizes_.size() <= ranks.max;
    tensor.sizes =
        is_like_first ? sizes_ : SizesOf(RandomSizes(from_, Rank(field.ranks), kMaxElements));
  }

  void DrawStrides(TensorRole role, TensorDesc& tensor) {
    if (!tensor.complete() || tensor.strides) return;
    const Dims sizes(tensor.sizes->begin(), tensor.sizes->end());
    const Layout layout = role == TensorRole::kInput ? RandomInputLayout(from_, sizes)
                                                     : RandomOutputLayout(from_, sizes);
    if (layout.strides != PackedStrides(sizes)) tensor.strides = SizesOf(layout.strides);
    tensor.total_tensor_size_in_bytes = 0;
  }

  // --- other fields ------------------------------------------------------------------------------

  FieldValue Value(const Field& field) {
    switch (field.kind) {
      case FieldKind::kUint:
        return field.name == kAxis.name ? static_cast<uint32_t>(from_.Index(sizes_.size()))
                                        : Number(field.limits);
      case FieldKind::kUints:
        return Uints(field.limits);
      case FieldKind::kInt:
        return Int();
      case FieldKind::kInts:
        return Repeated<int32_t>(field.limits, [&] { return Int(); });
      case FieldKind::kFloat:
        return RandomFactor(from_);
      case FieldKind::kFloats:
        return Repeated<float>(field.limits, [&] { return RandomFactor(from_); });
      case FieldKind::kBool:
        return from_.OneIn(2);
      case FieldKind::kDataType:
        return TypeOf(field);
      case FieldKind::kScaleBias: {
        const float scale = RandomFactor(from_);
        return ScaleBias{scale, RandomFactor(from_)};
      }
      case FieldKind::kSize2d: {
        const uint32_t width = Number(field.limits);
        return Size2d{width, Number(field.limits)};
      }
      case FieldKind::kScalar:
        return Value(TypeOf(field));
      case FieldKind::kActivation:
        return Activations(field.host, 1);
      case FieldKind::kActivations:
        return Activations(field.host, static_cast<size_t>(from_.Int(1, 3)));
      default:  // counts follow from their arrays; other fields have been drawn
        return {};
    }
  }

  uint32_t Number(const Limits& limits) {
    constexpr uint32_t kFew = 7;
    const uint32_t few = limits.max - limits.min < kFew ? limits.max : limits.min + kFew;
    return static_cast<uint32_t>(from_.Between(limits.min, from_.OneIn(30) ? limits.max : few));
  }

  std::vector<uint32_t> Uints(const Limits& limits) {
    if (!limits.distinct) return Repeated<uint32_t>(limits, [&] { return Number(limits); });
    std::vector<uint32_t> axes = SizesOf(RandomOrder());
    axes.resize(std::min(count_, axes.size()));
    return axes;
  }

  Dims RandomOrder() {
    Dims order = Dims::Filled(sizes_.size(), 0);
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[from_.Index(i)]);
    return order;
  }

  int32_t Int() {
    return static_cast<int32_t>(from_.OneIn(30) ? from_.Int(INT32_MIN, INT32_MAX)
                                                : from_.Int(-3, 3));
  }

  template <typename T, typename Draw>
  std::vector<T> Repeated(const Limits& limits, Draw&& draw) {
    std::vector<T> values;
    const size_t count = limits.per_dimension ? sizes_.size() : count_;
    while (values.size() < count) values.push_back(draw());
    return values;
  }

  Scalar Value(DataType type) {
    TestTensor one(type, PackedLayout({1}));
    Engine engine = from_.Fork();
    FillRandomly(engine, one);
    Scalar scalar{type, {}};
    std::copy_n(one.view().data, ByteWidth(type), scalar.bytes.begin());
    return scalar;
  }

  // Draws activations that may be fused, without their tensors.
  FieldValue Activations(ActivationHost host, size_t count) {
    // SOFTMAX only takes matrices.
    const bool has_batches =
        std::any_of(sizes_.begin(), sizes_.end() - std::min<ptrdiff_t>(2, std::ssize(sizes_)),
                    [](uint32_t size) { return size != 1; });
    std::vector<const OperatorInfo*> fusable;
    for (const OperatorInfo* info : Operators()) {
      if (has_batches && info->name == "ACTIVATION_SOFTMAX") continue;
      if (info->fusable.In(host)) fusable.push_back(info);
    }
    if (fusable.empty()) return {};
    std::vector<OperatorDesc> activations;
    while (activations.size() < count) {
      OperatorDesc& activation = activations.emplace_back(*from_.OneOf(fusable));
      DrawEnums(activation);
      for (size_t i = 0; i < activation.fields().size(); ++i) {
        const Field& field = *activation.fields()[i];
        FieldValue& value = activation.values()[i];
        if (IsTensor(field)) value = FieldValue();
        if (field.kind == FieldKind::kCount) BeginArrays(*activation.fields()[i + 1]);
        if (!IsTensor(field) && IsLeftOut(value) && !field.optional) value = Value(field);
      }
    }
    return activations;
  }

  const Entropy& from_;
  OperatorDesc op_;
  const SupportRow* row_ = nullptr;
  std::array<DataType, kTypeVariables> types_{};
  std::vector<uint32_t> sizes_;  // sizes of the first tensor
  size_t count_ = 0;
};

}  // namespace

std::vector<DataType> TypesOf(DataTypeSet set) {
  std::vector<DataType> types;
  for (size_t i = 0; i < DataTypeNames().size(); ++i) {
    const DataType type = static_cast<DataType>(i);
    if (set.Contains(type) && ByteWidth(type) > 0) types.push_back(type);
  }
  return types;
}

OperatorDesc DrawDesc(const Entropy& from, OperatorDesc begun) {
  return DescDrawer(from, std::move(begun)).Draw();
}

float RandomFactor(const Entropy& from) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float plain[] = {1.0f, 0.0f, -0.0f, -1.0f, 0.5f, 3.0f, 6.0f, -0.75f};
  const float special[] = {kInfinity, -kInfinity, std::nanf(""),
                           std::numeric_limits<float>::denorm_min(),
                           std::numeric_limits<float>::max()};
  if (from.OneIn(3)) return from.OneOf(plain);
  if (from.OneIn(8)) return from.OneOf(special);
  TestTensor one(DataType::kFloat32, PackedLayout({1}));
  Engine engine = from.Fork();
  FillRandomly(engine, one);
  float factor;
  std::memcpy(&factor, one.view().data, sizeof factor);
  return factor;
}

}  // namespace dmlop
