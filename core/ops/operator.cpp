#include "core/ops/operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/ops/field_visitor.h"

namespace dmlop {
namespace {

template <size_t... kIndices>
constexpr auto NamesOf(std::index_sequence<kIndices...>) {
  return std::array{std::variant_alternative_t<kIndices, OperatorDesc>::kName...};
}
constexpr auto kNames = NamesOf(std::make_index_sequence<std::variant_size_v<OperatorDesc>>());

template <size_t... kIndices>
OperatorDesc MakeByIndex(size_t index, std::index_sequence<kIndices...>) {
  OperatorDesc desc;
  ((index == kIndices ? static_cast<void>(desc.emplace<kIndices>()) : void()), ...);
  return desc;
}

struct TensorFieldLister : FieldVisitor {
  std::vector<TensorField> fields;

  template <typename T>
  void Tensor(std::string_view name, TensorRole role, T&) {
    fields.push_back({name, role, false});
  }
  template <typename T>
  void Tensors(std::string_view name, TensorRole role, T&) {
    fields.push_back({name, role, true});
  }
};

template <typename Slot>
struct SlotCollector : FieldVisitor {
  std::vector<Slot> slots;

  SlotCollector() { slots.reserve(4); }  // few operators have more

  template <typename T>
  void Tensor(std::string_view name, TensorRole role, T& desc) {
    slots.push_back({std::string(name), role, &desc});
  }
  template <typename T>
  void Tensors(std::string_view name, TensorRole role, T& descs) {
    if (!descs) return;
    for (size_t i = 0; i < descs->size(); ++i) {
      slots.push_back({fmt::format("{}/{}", name, i), role, &(*descs)[i]});
    }
  }
};

struct CountFiller : FieldVisitor {
  template <typename A>
  void Count(std::string_view, std::optional<uint32_t>& count, A& array) {
    if (!count && array) count = static_cast<uint32_t>(array->size());
  }
};

// Reports fields that are still left out, and counts that are not those of their arrays.
struct FieldChecker : FieldVisitor {
  Diagnostics& diagnostics;
  std::optional<uint32_t> last_count;

  explicit FieldChecker(Diagnostics& list) : diagnostics(list) {}

  template <typename T>
  void RequireField(std::string_view name, const std::optional<T>& field) {
    if (!field) diagnostics.Error("JSON-2", name, fmt::format("'{}' is missing", name));
  }

  template <typename E>
  void Enum(std::string_view name, std::string_view, std::span<const std::string_view>, E& field) {
    RequireField(name, field);
  }
  template <typename A>
  void Tensors(std::string_view name, TensorRole, A& array) {
    if (array || last_count.value_or(0) <= kMaxImpliedTensors) return RequireField(name, array);
    diagnostics.Error("JSON-2", name,
                      fmt::format("'{}' is missing; a count alone may stand for up to {} tensors, "
                                  "not for {}",
                                  name, kMaxImpliedTensors, *last_count));
  }
  template <typename N>
  void Number(std::string_view name, N& number) {
    RequireField(name, number);
  }
  template <typename A>
  void Numbers(std::string_view name, A& array) {
    RequireField(name, array);
  }
  template <typename C, typename A>
  void Count(std::string_view name, C& count, A& array) {
    last_count = count;
    if (!count || !array || *count == array->size()) return;
    diagnostics.Error(
        "DOC-3", name,
        fmt::format("{} does not match the array, which has {}", *count, array->size()));
  }
};

void CheckTensorIsComplete(const TensorSlot& slot, Diagnostics& diagnostics) {
  const bool input = slot.role == TensorRole::kInput;
  const auto report = [&](std::string_view field) {
    diagnostics.Error("JSON-2", fmt::format("{}/{}", slot.path, field),
                      fmt::format("'{}' is missing{}", field,
                                  input ? ", and no .npy file is bound that would tell it"
                                        : ", and the other fields do not imply it"));
  };
  if (!slot.desc->data_type) report("DataType");
  if (!slot.desc->sizes) report("Sizes");
}

template <typename Desc>
std::optional<EmptyAxisRule> EmptyAxisRuleOf(const Desc& desc, TensorRole role) {
  if constexpr (requires { Desc::kEmptyAxisCode; }) {
    constexpr TensorRole kParts =
        std::is_same_v<Desc, JoinDesc> ? TensorRole::kInput : TensorRole::kOutput;
    if (desc.axis && role == kParts) return EmptyAxisRule{*desc.axis, Desc::kEmptyAxisCode};
  }
  return std::nullopt;
}

// --- feature levels ------------------------------------------------------------------------------

// The first row that takes what `takes` asks for, at any level.
template <typename Takes>
const SupportRow* FirstRow(const SupportTable& table, Takes&& takes) {
  for (const SupportRow& row : table.rows) {
    if (takes(row)) return &row;
  }
  return nullptr;
}

// True when `desc` is an output whose type another rule ties to the input's.
bool TypeFollowsInput(const SupportRow& row, TensorRole role) {
  return role == TensorRole::kOutput && row.output.empty();
}

bool TakesType(const SupportRow& row, const TensorSlot& slot) {
  if (TypeFollowsInput(row, slot.role)) return true;
  return (slot.role == TensorRole::kInput ? row.input : row.output).Contains(*slot.desc->data_type);
}

bool TakesRank(const SupportRow& row, const TensorSlot& slot) {
  return row.min_rank <= slot.desc->rank() && slot.desc->rank() <= row.max_rank;
}

class SupportChecker {
 public:
  SupportChecker(const OperatorDesc& desc, const SupportTable& table, FeatureLevel level,
                 Diagnostics& diagnostics)
      : table_(table), level_(level), diagnostics_(diagnostics), operator_(Name(desc)) {
    if (const auto* reduce = std::get_if<ReduceDesc>(&desc)) {
      operator_ = fmt::format("{} {}", operator_, Name(*reduce->function));
    }
  }

  void Check(const SupportRow& row, const TensorSlot& slot) const {
    if (*slot.desc->data_type != DataType::kUnknown && !TakesType(row, slot)) {
      ReportType(row, slot);
    }
    if (slot.desc->rank() >= 1 && slot.desc->rank() <= kMaxRank && !TakesRank(row, slot)) {
      ReportRank(row, slot);
    }
  }

 private:
  void ReportType(const SupportRow& row, const TensorSlot& slot) const {
    const SupportRow* later =
        FirstRow(table_, [&](const SupportRow& r) { return TakesType(r, slot); });
    // An output type that no level takes breaks a rule of the operator, which has been reported.
    if (later == nullptr && slot.role == TensorRole::kOutput) return;
    const DataTypeSet taken = slot.role == TensorRole::kInput ? row.input : row.output;
    diagnostics_.Error("FL-1", slot.path + "/DataType",
                       fmt::format("{} is not supported by {} at feature level {}; {}",
                                   Name(*slot.desc->data_type), operator_, ToString(level_),
                                   later != nullptr ? "it needs " + ToString(later->since)
                                                    : "expected one of " + ToString(taken)));
  }

  void ReportRank(const SupportRow& row, const TensorSlot& slot) const {
    const SupportRow* later =
        FirstRow(table_, [&](const SupportRow& r) { return TakesRank(r, slot); });
    const std::string taken = row.min_rank == row.max_rank
                                  ? fmt::format("{}", row.min_rank)
                                  : fmt::format("{} to {}", row.min_rank, row.max_rank);
    diagnostics_.Error("FL-1", slot.path + "/Sizes",
                       fmt::format("{} dimensions are not supported by {} at feature level {}; {}",
                                   slot.desc->rank(), operator_, ToString(level_),
                                   later != nullptr ? "they need " + ToString(later->since)
                                                    : "expected " + taken));
  }

  const SupportTable& table_;
  FeatureLevel level_;
  Diagnostics& diagnostics_;
  std::string operator_;
};

const SupportTable* SupportFor(const OperatorDesc& desc) {
  return std::visit([](const auto& d) { return SupportFor(d); }, desc);
}

void ValidateSupport(const OperatorDesc& desc, FeatureLevel level, Diagnostics& diagnostics) {
  const SupportTable* table = SupportFor(desc);
  if (table == nullptr) return;
  const SupportRow* row = RowAt(*table, level);
  if (row == nullptr) {
    const FeatureLevel introduced = table->rows.front().since;
    diagnostics.Error("UNF-14", "",
                      fmt::format("{} is not available at feature level {}; it needs {}",
                                  Name(desc), ToString(level), ToString(introduced)));
    return;
  }
  const SupportChecker checker(desc, *table, level, diagnostics);
  for (const TensorSlot& slot : TensorSlots(desc)) {
    if (slot.desc->complete()) checker.Check(*row, slot);
  }
}

}  // namespace

std::span<const std::string_view> OperatorNames() {
  return kNames;
}

std::string_view Name(const OperatorDesc& desc) {
  return kNames[desc.index()];
}

std::string_view Summary(const OperatorDesc& desc) {
  return std::visit([](const auto& d) { return std::decay_t<decltype(d)>::kSummary; }, desc);
}

std::span<const Rule> Rules(const OperatorDesc& desc) {
  return std::visit(
      [](const auto& d) { return std::span<const Rule>(std::decay_t<decltype(d)>::kRules); }, desc);
}

std::span<const FieldLimits> Limits(const OperatorDesc& desc) {
  return std::visit(
      [](const auto& d) {
        return std::span<const FieldLimits>(std::decay_t<decltype(d)>::kLimits);
      },
      desc);
}

std::optional<OperatorDesc> MakeOperator(std::string_view name) {
  if (name.starts_with(kOperatorPrefix)) name.remove_prefix(kOperatorPrefix.size());
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return MakeByIndex(i, std::make_index_sequence<kNames.size()>());
  }
  return std::nullopt;
}

std::vector<TensorField> TensorFieldsOf(const OperatorDesc& desc) {
  return VisitAllFields(desc, TensorFieldLister()).fields;
}

std::vector<TensorSlot> TensorSlots(const OperatorDesc& desc) {
  return VisitAllFields(desc, SlotCollector<TensorSlot>()).slots;
}

std::vector<MutableTensorSlot> TensorSlots(OperatorDesc& desc) {
  return VisitAllFields(desc, SlotCollector<MutableTensorSlot>()).slots;
}

void Complete(OperatorDesc& desc) {
  std::visit([](auto& d) { Complete(d); }, desc);
  VisitAllFields(desc, CountFiller());
}

void Validate(const OperatorDesc& desc, FeatureLevel level, Diagnostics& diagnostics) {
  VisitAllFields(desc, FieldChecker(diagnostics));
  const std::vector<TensorSlot> slots = TensorSlots(desc);
  for (const TensorSlot& slot : slots) {
    if (slot.role == TensorRole::kInput) CheckTensorIsComplete(slot, diagnostics);
    if (!slot.desc->complete()) continue;
    const auto rule =
        std::visit([&](const auto& d) { return EmptyAxisRuleOf(d, slot.role); }, desc);
    ValidateTensorDesc(*slot.desc, slot.role, slot.path, rule, diagnostics);
  }
  std::visit([&](const auto& d) { Validate(d, diagnostics); }, desc);
  ValidateSupport(desc, level, diagnostics);
  if (diagnostics.has_errors()) return;  // what an output lacks follows from them
  for (const TensorSlot& slot : slots) {
    if (slot.role == TensorRole::kOutput) CheckTensorIsComplete(slot, diagnostics);
  }
}

FeatureLevel MinimumFeatureLevel(const OperatorDesc& desc) {
  const std::vector<TensorSlot> slots = TensorSlots(desc);
  const SupportRow* row = FirstRow(*SupportFor(desc), [&](const SupportRow& r) {
    for (const TensorSlot& slot : slots) {
      if (!TakesType(r, slot) || !TakesRank(r, slot)) return false;
    }
    return true;
  });
  return row != nullptr ? row->since : kHighestFeatureLevel;
}

std::span<const SupportTable> SupportTables(const OperatorDesc& desc) {
  return std::visit([](const auto& d) { return SupportTables(d); }, desc);
}

void Run(const OperatorDesc& desc, std::span<const ConstTensorView> inputs,
         std::span<const TensorView> outputs) {
  std::visit([&](const auto& d) { Run(d, inputs, outputs); }, desc);
}

}  // namespace dmlop
