// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/random_desc.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "core/document/operator_document.h"
#include "core/fuzz/elements.h"

namespace dmlop {
namespace {

constexpr int64_t kUsualElements = 400;
constexpr float kPlainFactors[] = {1.0f, 0.0f, -0.0f, -1.0f, 0.5f, 3.0f, 6.0f, -0.75f};

bool IsLeftOut(const FieldValue& value) {
  return std::holds_alternative<std::monostate>(value);
}

Sizes SizesOf(const Dims& sizes) {
  return {sizes.begin(), sizes.end()};
}

// The numbers of so many dimensions.
std::vector<uint32_t> RandomOrder(const Entropy& from, size_t count) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[from.Index(i)]);
  return order;
}

// The types that the variable T may have.
std::vector<DataType> TypesWithin(const SupportRow& row, const DescLimits& limits) {
  std::vector<DataType> types = TypesOf(row.types[0]);
  if (limits.types.empty()) return types;
  std::erase_if(types, [&](DataType type) { return !limits.types.Contains(type); });
  return types;
}

std::vector<size_t> RanksWithin(const SupportRow& row, const DescLimits& limits) {
  std::vector<size_t> ranks;
  for (size_t rank = row.min_rank; rank <= row.max_rank; ++rank) {
    if (limits.ranks.empty() || std::ranges::find(limits.ranks, rank) != limits.ranks.end()) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

class DescDrawer {
 public:
  DescDrawer(const DescEntropy& from, OperatorDesc begun)
      : from_(from), op_(std::move(begun)), linked_(SizesRowOf(op_.info())) {}

  OperatorDesc Draw() {
    DrawEnums(op_);  // the table may depend on them
    row_ = RowWithin(op_, from_.limits());
    if (row_ == nullptr) return std::move(op_);
    DrawTypes();
    for (const MutableTensorSlot& slot : TensorSlots(op_)) {
      if (!slot.desc->data_type) slot.desc->data_type = TypeOf(*slot.field);
    }
    const int64_t most = from_.limits().max_elements;
    room_ = from_.OneIn(8) ? most : std::min(most, kUsualElements);
    DrawSizes();
    if (linked_ != nullptr) linked_->draw(from_, sizes_, op_);
    DrawFields(op_);
    op_.AddImpliedOutputs();
    return std::move(op_);
  }

 private:
  // Rows find the sizes of required tensors that follow from a signature, also in place of sizes
  // that are kept: these are set when all has been drawn.
  void DrawSizes() {
    sizes_ = SizesOf(RandomSizes(from_, MainRank(), room_));
    if (op_.info().shapes == nullptr) return;
    shapes_ = DrawShapes(from_, *row_, sizes_.size(), room_, op_);
    sizes_ = shapes_.at(op_.info().shapes->tensors[0].tensor);
    for (const MutableTensorSlot& slot : TensorSlots(op_)) {
      slot.desc->sizes.reset();
      DrawTensor(*slot.field, *slot.desc);
    }
  }

  void DrawEnums(OperatorDesc& op) {
    for (size_t i = 0; i < op.fields().size(); ++i) {
      const Field& field = *op.fields()[i];
      if (field.kind != FieldKind::kEnum || !IsLeftOut(op.values()[i])) continue;
      op.values()[i] = static_cast<uint32_t>(from_.Index(field.names.names.size()));
    }
  }

  // A type variable without types has those of the first one; one of which a tensor states the type
  // has that.
  void DrawTypes() {
    for (size_t i = 0; i < kTypeVariables; ++i) {
      const auto variable = static_cast<TypeVariable>(i);
      std::vector<DataType> types = TypesOf(row_->TypesOf(variable));
      if (i == 0) types = TypesWithin(*row_, from_.limits());
      const auto stated = std::ranges::find(types, StatedType(op_, variable));
      if (stated != types.end()) types = {*stated};
      types_[i] = types.empty() ? types_[0] : from_.OneOf(types);
    }
  }

  DataType TypeOf(const Field& field) const { return types_[static_cast<size_t>(field.type)]; }

  size_t Rank(RankGroup group) const {
    const SupportRow::Ranks ranks = row_->RanksOf(group);
    return static_cast<size_t>(from_.Between(ranks.min, ranks.max));
  }

  size_t MainRank() {
    const std::vector<size_t> ranks = RanksWithin(*row_, from_.limits());
    return from_.OneOf(ranks);
  }

  bool HasInputs() const { return !TensorSlots(op_, TensorRole::kInput).empty(); }

  void DrawFields(OperatorDesc& op) {
    for (size_t i = 0; i < op.fields().size(); ++i) {
      const Field& field = *op.fields()[i];
      FieldValue& value = op.values()[i];
      if (field.kind == FieldKind::kCount) BeginArrays(*op.fields()[i + 1]);
      if (field.is_tensor()) {
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
      const bool is_drawn = linked_ != nullptr && linked_->draws_tensors;
      if (field.optional && (is_drawn || from_.OneIn(2))) return;
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
    tensor.sizes = shapes_.contains(&field) ? shapes_.at(&field)
                   : is_like_first          ? sizes_
                                            : SizesOf(RandomSizes(from_, Rank(field.ranks), room_));
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
        return field.name == "Epsilon" && !from_.limits().open ? Epsilon() : from_.Factor();
      case FieldKind::kFloats:
        return Repeated<float>(field.limits, [&] { return from_.Factor(); });
      case FieldKind::kBool:
        return from_.OneIn(2);
      case FieldKind::kDataType:
        return TypeOf(field);
      case FieldKind::kScaleBias: {
        const float scale = from_.Factor();
        return ScaleBias{scale, from_.Factor()};
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

  uint32_t Number(const FieldLimits& limits) {
    constexpr uint32_t kFew = 7;
    const uint32_t few = limits.max - limits.min < kFew ? limits.max : limits.min + kFew;
    return static_cast<uint32_t>(from_.Between(limits.min, from_.OneIn(30) ? limits.max : few));
  }

  std::vector<uint32_t> Uints(const FieldLimits& limits) {
    if (!limits.distinct) return Repeated<uint32_t>(limits, [&] { return Number(limits); });
    std::vector<uint32_t> axes = RandomOrder(from_, sizes_.size());
    axes.resize(std::min(count_, axes.size()));
    return axes;
  }

  int32_t Int() {
    return static_cast<int32_t>(from_.OneIn(30) ? from_.Int(INT32_MIN, INT32_MAX)
                                                : from_.Int(-3, 3));
  }

  // Positive, so that no variance of 0 makes NaN.
  float Epsilon() {
    const float plain[] = {1e-5f, 1e-3f, 0.1f, 1.0f, 1e-12f};
    return from_.OneOf(plain);
  }

  template <typename T, typename Draw>
  std::vector<T> Repeated(const FieldLimits& limits, Draw&& draw) {
    std::vector<T> values;
    const size_t count = limits.per_dimension ? sizes_.size() : count_;
    while (values.size() < count) values.push_back(draw());
    return values;
  }

  Scalar Value(DataType type) {
    Scalar scalar{type, {}};
    RandomEngine engine = from_.Fork();
    const TensorView view{scalar.bytes.data(), type, PackedLayout({1})};
    if (from_.limits().open) {
      FillRandomly(engine, view);
    } else {
      FillByClass(engine, from_.OneIn(4) ? InputClass::kEnds : InputClass::kOrdinary, {}, view);
    }
    return scalar;
  }

  // Draws activations that may be fused, without their tensors.
  FieldValue Activations(ActivationHost host, size_t count) {
    // SOFTMAX only takes matrices.
    const bool has_batches =
        std::any_of(sizes_.begin(), sizes_.end() - std::min<ptrdiff_t>(2, std::ssize(sizes_)),
                    [](uint32_t size) { return size != 1; });
    std::vector<const OperatorInfo*> fusable = FusableIn(host);
    std::erase_if(fusable, [&](const OperatorInfo* info) {
      return has_batches && info->name == "ACTIVATION_SOFTMAX";
    });
    if (fusable.empty()) return {};
    std::vector<OperatorDesc> activations;
    while (activations.size() < count) {
      OperatorDesc& activation = activations.emplace_back(*from_.OneOf(fusable));
      DrawEnums(activation);
      for (size_t i = 0; i < activation.fields().size(); ++i) {
        const Field& field = *activation.fields()[i];
        FieldValue& value = activation.values()[i];
        if (field.is_tensor()) value = FieldValue();
        if (field.kind == FieldKind::kCount) BeginArrays(*activation.fields()[i + 1]);
        if (!field.is_tensor() && IsLeftOut(value) && !field.optional) value = Value(field);
      }
    }
    return activations;
  }

  const DescEntropy& from_;
  OperatorDesc op_;
  const SizesRow* linked_;
  const SupportRow* row_ = nullptr;
  std::map<const Field*, Sizes> shapes_;
  std::array<DataType, kTypeVariables> types_{};
  int64_t room_ = 0;             // for the elements of a tensor
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

OperatorDesc DrawBareDesc(const Entropy& from, OperatorDesc begun, const DescLimits& limits) {
  return DescDrawer(DescEntropy(from, limits), std::move(begun)).Draw();
}

void DrawLayouts(const Entropy& from, LayoutForms forms, OperatorDesc& op) {
  for (const MutableTensorSlot& slot : TensorSlots(op)) {
    TensorDesc& tensor = *slot.desc;
    if (!tensor.complete() || tensor.strides) continue;
    const Dims sizes(tensor.sizes->begin(), tensor.sizes->end());
    const Layout layout = slot.role() == TensorRole::kInput
                              ? RandomInputLayout(from, sizes, forms)
                              : RandomOutputLayout(from, sizes, forms);
    if (layout.strides != PackedStrides(sizes)) tensor.strides = SizesOf(layout.strides);
    tensor.total_tensor_size_in_bytes = 0;
  }
}

OperatorDesc DrawDesc(const Entropy& from, OperatorDesc begun) {
  OperatorDesc op = DrawBareDesc(from, std::move(begun), {});
  if (RowWithin(op, {}) == nullptr) return op;
  Complete(op);
  DrawLayouts(from, LayoutForms::kAll, op);
  return op;
}

const SupportRow* RowWithin(const OperatorDesc& op, const DescLimits& limits) {
  const SupportTable* table = SupportFor(op);
  const SupportRow* row = table == nullptr ? nullptr : RowAt(*table, limits.level);
  const bool fits = row != nullptr && !RanksWithin(*row, limits).empty() &&
                    (limits.types.empty() || !TypesWithin(*row, limits).empty());
  return fits ? row : nullptr;
}

// --- numbers -------------------------------------------------------------------------------------

Sizes DescEntropy::Numbers(size_t count, uint64_t low, uint64_t high) const {
  Sizes numbers(count);
  for (uint32_t& number : numbers) number = Number(low, high);
  return numbers;
}

Sizes DescEntropy::Few(size_t count, uint64_t usual, uint64_t most) const {
  Sizes numbers(count);
  for (uint32_t& number : numbers) number = Few(usual, most);
  return numbers;
}

uint32_t DescEntropy::Size(uint64_t most) const {
  return static_cast<uint32_t>(RandomSize(*this, static_cast<int64_t>(most)));
}

float DescEntropy::Factor() const {
  if (limits_.open) return RandomFactor(*this);
  constexpr float kMax = std::numeric_limits<float>::max();
  const float ends[] = {kMax, -kMax, std::numeric_limits<float>::min(),
                        std::numeric_limits<float>::denorm_min()};
  if (OneIn(16)) return OneOf(ends);
  if (OneIn(2)) return OneOf(kPlainFactors);
  return static_cast<float>(Int(-4000, 4000)) / 1000;
}

float RandomFactor(const Entropy& from) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float special[] = {kInfinity, -kInfinity, std::nanf(""),
                           std::numeric_limits<float>::denorm_min(),
                           std::numeric_limits<float>::max()};
  if (from.OneIn(3)) return from.OneOf(kPlainFactors);
  if (from.OneIn(8)) return from.OneOf(special);
  float factor;
  RandomEngine engine = from.Fork();
  FillRandomly(engine,
               {reinterpret_cast<std::byte*>(&factor), DataType::kFloat32, PackedLayout({1})});
  return factor;
}

// --- layouts -------------------------------------------------------------------------------------

namespace {

// Dimensions nested in any order, the innermost with stride `step`, each after a gap of at most
// `max_gap` elements.
Layout Nested(const Entropy& from, const Dims& sizes, int64_t step, int64_t max_gap) {
  Layout layout{sizes, Dims::Filled(sizes.size(), 0)};
  int64_t stride = step;
  for (const size_t d : RandomOrder(from, sizes.size())) {
    layout.strides[d] = stride;
    stride = stride * sizes[d] + from.Int(0, max_gap);
  }
  return layout;
}

// Rows, planes and so on that begin after gaps.
Layout Padded(const Entropy& from, const Dims& sizes) {
  Layout layout = PackedLayout(sizes);
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    layout.strides[d] = stride;
    stride = stride * sizes[d] + (from.OneIn(2) ? from.Int(1, 3) : 0);
  }
  return layout;
}

// Arbitrary strides.
Layout Scattered(const Entropy& from, const Dims& sizes, int64_t max_stride) {
  Layout layout{sizes, {}};
  while (layout.strides.size() < sizes.size()) {
    layout.strides.push_back(from.Int(0, max_stride));
  }
  return layout;
}

// Rows that begin between the elements of others, such as {2, 3} with strides {3, 2}. Only for
// small sizes, because the extent grows with the square.
Layout Interleaved(const Entropy& from, const Dims& sizes) {
  const int64_t count = Product(sizes);
  if (count > 300) return Nested(from, sizes, 1, 1);
  for (int attempt = 0; attempt < 20; ++attempt) {
    const Layout layout = Scattered(from, sizes, count);
    if (!HasOverlap(layout)) return layout;
  }
  return PackedLayout(sizes);
}

Layout Broadcast(const Entropy& from, const Dims& sizes) {
  Layout layout = Nested(from, sizes, 1, 1);
  for (int64_t& stride : layout.strides) {
    if (from.OneIn(2)) stride = 0;
  }
  return layout;
}

// Strides of dimensions of size 1 have no meaning.
void ScrambleIdleStrides(const Entropy& from, Layout& layout) {
  for (size_t d = 0; d < layout.rank(); ++d) {
    if (layout.sizes[d] == 1 && from.OneIn(4)) layout.strides[d] = from.Int(0, 9);
  }
}

}  // namespace

int64_t RandomSize(const Entropy& from, int64_t most) {
  if (most < 16 || from.OneIn(4))
    return from.Int(1, std::min<int64_t>(most, from.OneIn(2) ? 3 : 9));
  switch (from.Index(8)) {
    case 0:
    case 1:
      return 1;
    case 2: {
      int64_t power = 16;
      while (power * 2 <= most && from.OneIn(2)) power *= 2;
      return std::min(most, power + from.Int(-1, 1));
    }
    case 3:
      return 16 * from.Int(1, std::min<int64_t>(most / 16, 10));
    case 4:
      return from.Int(10, std::min<int64_t>(most, from.OneIn(4) ? most : 150));
    default:
      return from.Int(1, 9);
  }
}

Dims RandomSizes(const Entropy& from, size_t rank, int64_t max_elements) {
  Dims sizes = Dims::Filled(rank, 1);
  int64_t room = max_elements;
  for (const size_t d : RandomOrder(from, rank)) {
    sizes[d] = RandomSize(from, room);
    room /= sizes[d];
  }
  return sizes;
}

Layout RandomOutputLayout(const Entropy& from, const Dims& sizes, LayoutForms forms) {
  Layout layout = PackedLayout(sizes);
  if (forms == LayoutForms::kPacked) return layout;
  const bool has_all = forms == LayoutForms::kAll;
  switch (from.Int(0, has_all ? 4 : 3)) {
    case 0:
      break;
    case 1:
      layout = Nested(from, sizes, 1, 0);
      break;
    case 2:
      layout = Padded(from, sizes);
      break;
    case 3:
      if (has_all) layout = Nested(from, sizes, from.Int(2, 3), 2);
      break;
    default:
      layout = Interleaved(from, sizes);
  }
  if (has_all) ScrambleIdleStrides(from, layout);
  return layout;
}

Layout RandomInputLayout(const Entropy& from, const Dims& sizes, LayoutForms forms) {
  if (forms == LayoutForms::kPacked) return PackedLayout(sizes);
  const int64_t kind = from.Int(0, 6);
  if (kind == 0) return Broadcast(from, sizes);
  if (kind == 1 && forms == LayoutForms::kAll) return Scattered(from, sizes, 4);
  return RandomOutputLayout(from, sizes, forms);
}

// --- operators with sizes of their own -----------------------------------------------------------

const SizesRow* SizesRowOf(const OperatorInfo& info) {
  for (const auto rows : {MovementSizes(), WindowSizes()}) {
    const auto found = std::ranges::find_if(
        rows, [&](const SizesRow& row) { return IsOneOf(info.name, row.operators); });
    if (found != rows.end()) return &*found;
  }
  return nullptr;
}

}  // namespace dmlop
