// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/setting.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/document/operator_document.h"
#include "core/tensor/element.h"

namespace dmlop {
namespace {

// --- drafts --------------------------------------------------------------------------------------

// An activation with plain fields: LEAKY_RELU with an Alpha of 1 would be none.
OperatorDesc PlainActivation(const OperatorInfo& info) {
  OperatorDesc activation(info);
  for (size_t i = 0; i < info.fields.size(); ++i) {
    const Field& field = *info.fields[i];
    FieldValue& value = activation.values()[i];
    value = FieldValue();
    if (field.is_tensor() || field.optional) continue;
    if (field.kind == FieldKind::kFloat) value = 2.0f;
    if (field.kind == FieldKind::kEnum) value = uint32_t{0};
    if (field.kind == FieldKind::kUints) value = std::vector<uint32_t>{0};
    if (field.kind == FieldKind::kUint) value = uint32_t{0};
  }
  return activation;
}

// The simplest activation is one without fields.
const OperatorInfo& SimplestActivation(ActivationHost host) {
  const auto all = FusableIn(host);
  return **std::ranges::min_element(all, {},
                                    [](const OperatorInfo* info) { return info->fields.size(); });
}

class DraftMaker {
 public:
  DraftMaker(const CaseDraft& begun, const Setting& setting) : begun_(begun), setting_(setting) {}

  std::vector<CaseDraft> With(const SettingValue& value) {
    const auto* number = std::get_if<int64_t>(&value);
    const auto* word = std::get_if<std::string>(&value);
    CaseDraft draft = begun_;
    switch (setting_.kind) {
      case SettingKind::kPresence:
        *word == kPresent ? AddTensorOrField() : Remove(draft);
        break;
      case SettingKind::kCount:
        SetCount(draft, static_cast<size_t>(*number));
        break;
      case SettingKind::kNumberOfAxes:
        SetAxisCount(static_cast<size_t>(*number));
        break;
      case SettingKind::kRank:
        SetRank(*number);
        break;
      case SettingKind::kSize:
        draft.Set(setting_.path, *number);
        drafts_.push_back(draft);
        break;
      case SettingKind::kType:
        SetType(draft, *word);
        break;
      case SettingKind::kLayout:
        draft.layouts[setting_.path] = static_cast<LayoutKind>(
            std::ranges::find(kLayoutKinds, *word) - std::begin(kLayoutKinds));
        drafts_.push_back(draft);
        break;
      case SettingKind::kValues:
        break;
      default:
        SetPlain(draft, value);
    }
    return std::move(drafts_);
  }

 private:
  void SetPlain(CaseDraft& draft, const SettingValue& value) {
    if (setting_.field->kind == FieldKind::kActivation ||
        setting_.field->kind == FieldKind::kActivations) {
      if (setting_.of.ends_with(kTypeMember))
        return SetActivation(draft, std::get<std::string>(value));
    }
    if (const auto* number = std::get_if<int64_t>(&value)) {
      draft.Set(setting_.path, *number);
    } else if (!SetValueAt(draft.op, setting_.path, value)) {
      return;
    }
    draft.kept.emplace(setting_.path, 0);
    drafts_.push_back(draft);
    if (setting_.kind == SettingKind::kEnum) AddTransposed();
  }

  // An enumerator may say that a tensor is transposed: then its other sizes stay.
  void AddTransposed() {
    const CaseDraft plain = drafts_.back();
    for (const TensorSlot& slot : TensorSlots(plain.op, TensorRole::kInput)) {
      const size_t rank = slot.desc->rank();
      if (rank < 2 || (*slot.desc->sizes)[rank - 1] == (*slot.desc->sizes)[rank - 2]) continue;
      CaseDraft draft = plain;
      for (const MutableTensorSlot& other : TensorSlots(draft.op)) {
        if (other.path == slot.path)
          std::swap((*other.desc->sizes)[rank - 1], (*other.desc->sizes)[rank - 2]);
      }
      auto& dims = draft.origins[slot.path].dims;
      if (dims.size() == rank) std::swap(dims[rank - 1], dims[rank - 2]);
      drafts_.push_back(std::move(draft));
    }
  }

  void SetActivation(CaseDraft& draft, const std::string& name) {
    auto& all = std::get<std::vector<OperatorDesc>>(ValueOf(draft.op, setting_.field->name));
    const size_t slash = setting_.path.find('/');
    all[slash == std::string::npos ? 0 : std::stoul(setting_.path.substr(slash + 1))] =
        PlainActivation(*FindOperator(name));
    drafts_.push_back(draft);
  }

  void Remove(CaseDraft& draft) {
    ValueOf(draft.op, setting_.field->name) = FieldValue();
    std::erase_if(draft.origins, [&](const auto& origin) {
      return origin.first == setting_.path || origin.first.starts_with(setting_.path + "/");
    });
    drafts_.push_back(draft);
  }

  void AddTensorOrField() {
    const Field& field = *setting_.field;
    CaseDraft draft = begun_;
    FieldValue& value = ValueOf(draft.op, field.name);
    if (field.kind == FieldKind::kTensor) return AddTensor(field);
    if (field.kind == FieldKind::kScaleBias) value = ScaleBias{2, 1};
    if (field.kind == FieldKind::kActivation) {
      value = std::vector<OperatorDesc>{PlainActivation(SimplestActivation(field.host))};
    }
    if (!std::holds_alternative<std::monostate>(value)) drafts_.push_back(draft);
  }

  // Tries the sizes of the first tensor, then 1 for each dimension, then a single size.
  void AddTensor(const Field& field) {
    TensorDesc tensor;
    tensor.data_type = StatedType(begun_.op, field.type);
    const std::vector<DataType> types = TypesFor(begun_.op, field);
    if (!tensor.data_type && !types.empty()) tensor.data_type = types.front();
    const auto add = [&](std::optional<std::vector<uint32_t>> sizes) {
      tensor.sizes = std::move(sizes);
      drafts_.push_back(begun_);
      ValueOf(drafts_.back().op, field.name) = tensor;
    };
    if (field.role == TensorRole::kOutput) return add(std::nullopt);
    const auto slots = TensorSlots(begun_.op);
    add(*slots.front().desc->sizes);
    add(std::vector<uint32_t>(slots.front().desc->rank(), 1));
    for (size_t rank = 1; rank <= 4; ++rank) add(std::vector<uint32_t>(rank, 1));
  }

  // Takes the last tensors out, or else the first ones; repeats the last one.
  void SetCount(CaseDraft draft, size_t count) {
    const Field& field = *setting_.field;
    const size_t before = std::get<std::vector<TensorDesc>>(ValueOf(draft.op, field.name)).size();
    CaseDraft other = draft;
    for (size_t i = count; i < before; ++i) {
      draft.EraseEntry(field, count);
      other.EraseEntry(field, 0);
    }
    for (size_t i = before; i < count; ++i) Repeat(draft, field, i);
    draft.kept.emplace(setting_.path, 0);
    other.kept.emplace(setting_.path, 0);
    drafts_.push_back(draft);
    if (count < before) drafts_.push_back(other);
  }

  static void Repeat(CaseDraft& draft, const Field& field, size_t entry) {
    auto& tensors = std::get<std::vector<TensorDesc>>(ValueOf(draft.op, field.name));
    const TensorDesc last = tensors.back();
    tensors.push_back(last);
    draft.origins[fmt::format("{}/{}", field.name, entry)] =
        draft.origins[fmt::format("{}/{}", field.name, entry - 1)];
  }

  // Takes axes out, or names further ones; the last ones, or else the first ones.
  void SetAxisCount(size_t count) {
    for (const bool at_end : {true, false}) {
      drafts_.push_back(begun_);
      auto& axes =
          std::get<std::vector<uint32_t>>(ValueOf(drafts_.back().op, setting_.field->name));
      if (axes.size() > count) {
        const auto out = static_cast<std::ptrdiff_t>(at_end ? 0 : axes.size() - count);
        axes.erase(axes.begin(), axes.begin() + out);
        axes.resize(count);
      }
      const auto rank = static_cast<uint32_t>(RankOf(begun_.op));
      for (uint32_t i = 0; i < rank && axes.size() < count; ++i) {
        const uint32_t axis = at_end ? rank - 1 - i : i;
        if (std::ranges::find(axes, axis) == axes.end()) axes.push_back(axis);
      }
      std::ranges::sort(axes);
    }
  }

  void SetRank(int64_t rank) {
    const auto before = static_cast<int64_t>(RankOf(begun_.op));
    const auto change = static_cast<size_t>(std::abs(rank - before));
    for (int64_t first = 0; first <= std::min(rank, before); ++first) {
      if (change == 0) return;
      drafts_.push_back(begun_);
      const auto at = static_cast<size_t>(first);
      rank < before ? drafts_.back().EraseDims(at, change) : drafts_.back().InsertDims(at, change);
    }
  }

  void SetType(CaseDraft& draft, const std::string& name) {
    const auto type =
        static_cast<DataType>(std::ranges::find(DataTypeNames(), name) - DataTypeNames().begin());
    const TypeVariable variable = setting_.field->type;
    for (const MutableTensorSlot& slot : TensorSlots(draft.op)) {
      if (slot.type == variable) slot.desc->data_type = type;
    }
    for (size_t i = 0; i < draft.op.fields().size(); ++i) {
      const Field& field = *draft.op.fields()[i];
      FieldValue& value = draft.op.values()[i];
      if (field.type != variable) continue;
      if (auto* stated = std::get_if<DataType>(&value)) *stated = type;
      if (auto* scalar = std::get_if<Scalar>(&value)) Retype(type, *scalar);
    }
    drafts_.push_back(draft);
  }

  static void Retype(DataType type, Scalar& scalar) {
    const double number = ValueOf(scalar.type, scalar.bytes.data());
    scalar = {type, ConvertElement(static_cast<float>(number), type)};
  }

  const CaseDraft& begun_;
  const Setting& setting_;
  std::vector<CaseDraft> drafts_;
};

int64_t SizesThatDiffer(const OperatorDesc& from, TensorRole role, const OperatorDesc& op) {
  return std::ranges::count_if(SizePathsOf(from, role), [&](const std::string& path) {
    return NumberAt(from, path) != NumberAt(op, path);
  });
}

// Counts how many sizes and plain values were changed beside what the draft asked for.
int64_t ChangesBeside(const CaseDraft& draft, const OperatorDesc& original,
                      const OperatorDesc& op) {
  int64_t changes = SizesThatDiffer(draft.op, TensorRole::kInput, op);
  if (RankOf(original) == RankOf(op)) changes += SizesThatDiffer(original, TensorRole::kOutput, op);
  for (const PlainValue& plain : PlainValuesOf(draft.op)) {
    changes += ValueAt(op, plain.path) != plain.value;
  }
  return changes;
}

}  // namespace

std::vector<CaseDraft> DraftsWith(const CaseDraft& begun, const Setting& setting,
                                  const SettingValue& value) {
  return DraftMaker(begun, setting).With(value);
}

std::optional<Computation> Varied(const CaseChanger& changer, const Setting& setting,
                                  const SettingValue& value, const ValueClasses& classes) {
  std::optional<Computation> best;
  int64_t fewest = INT64_MAX;
  for (const CaseDraft& draft : DraftsWith(changer.draft(), setting, value)) {
    auto varied = changer.Case(draft, classes);
    if (!varied || ValuesIn(varied->op, setting.of, setting.ties, true) != std::vector{value}) {
      continue;
    }
    const int64_t changes = ChangesBeside(draft, changer.original().op, varied->op);
    if (changes < fewest) {
      fewest = changes;
      best = std::move(varied);
    }
  }
  return best;
}

bool LeavesOthers(const std::vector<Setting>& settings, const Setting& varied,
                  const OperatorDesc& op) {
  return std::ranges::all_of(settings, [&](const Setting& other) {
    const bool may_follow =
        other.of == varied.of || other.kind == SettingKind::kSize ||
        other.kind == SettingKind::kType ||
        ((varied.kind == SettingKind::kRank || varied.kind == SettingKind::kNumberOfAxes) &&
         other.path.find('/') != std::string::npos) ||
        (varied.kind == SettingKind::kType && other.kind == SettingKind::kScalar) ||
        (varied.of.ends_with(kTypeMember) && other.path.starts_with(varied.path + "/"));
    return may_follow || !OtherValueIn(op, other);
  });
}

}  // namespace dmlop
