// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/case_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/fuzz/field_value.h"
#include "core/fuzz/setting.h"
#include "core/tensor/data_type.h"

namespace dmlop {
namespace {

constexpr int kMostFixesInTurn = 8;
constexpr std::string_view kSizesMember = "/Sizes";

bool IsWordCharacter(char c) {
  return ('0' <= c && c <= '9') || ('a' <= LowerCase(c) && LowerCase(c) <= 'z') || c == '_';
}

std::vector<std::string_view> WordsIn(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t begin = 0, end = 0; begin < text.size(); begin = ++end) {
    while (end < text.size() && IsWordCharacter(text[end])) ++end;
    if (end > begin) words.push_back(text.substr(begin, end - begin));
  }
  return words;
}

// The numbers of a message, "12" but not that of "FLOAT32" or "6_4".
std::vector<int64_t> NumbersIn(std::string_view text) {
  std::vector<int64_t> numbers;
  for (const std::string_view word : WordsIn(text)) {
    const auto number = ParseNumber<int64_t>(word);
    if (number) numbers.push_back(*number);
  }
  return numbers;
}

// The sizes of a message, as in "{1, 3}".
std::vector<std::vector<int64_t>> SizesIn(std::string_view text) {
  std::vector<std::vector<int64_t>> lists;
  for (size_t open = text.find('{'); open != text.npos; open = text.find('{', open + 1)) {
    lists.push_back(NumbersIn(text.substr(open, text.find('}', open) - open)));
  }
  return lists;
}

bool Names(std::string_view message, std::string_view word) {
  return std::ranges::count(WordsIn(message), word) > 0;
}

TensorDesc* FindTensor(OperatorDesc& op, std::string_view path) {
  for (const MutableTensorSlot& slot : TensorSlots(op)) {
    if (slot.path == path) return slot.desc;
  }
  return nullptr;
}

class DescRepair {
 public:
  DescRepair(const std::map<std::string, int64_t>& kept, FeatureLevel level, RepairEffort effort)
      : kept_(kept), level_(level), effort_(effort) {}

  std::optional<OperatorDesc> Run(const OperatorDesc& op) {
    return Search(Checked(op), kMostFixesInTurn);
  }

 private:
  struct State {
    OperatorDesc op;
    OperatorDesc completed;
    Diagnostics faults;
  };

  State Checked(const OperatorDesc& op) {
    State state{op, op, {}};
    Check(state.completed, level_, state.faults);
    ++checks_;
    return state;
  }

  static size_t FaultsOf(const State& state) {
    return static_cast<size_t>(
        std::ranges::count(state.faults.list(), Severity::kError, &Diagnostic::severity));
  }

  // Tries each fix of the first fault, those that leave the fewest faults first.
  std::optional<OperatorDesc> Search(const State& state, int fixes_left) {
    if (!state.faults.has_errors()) return state.completed;
    if (fixes_left == 0) return std::nullopt;
    std::vector<State> fixed;
    FixFirstFault(state, fixed);
    std::ranges::stable_sort(fixed, {}, FaultsOf);
    for (const State& next : fixed) {
      if (auto found = Search(next, fixes_left - 1)) return found;
    }
    return std::nullopt;
  }

  void FixFirstFault(const State& state, std::vector<State>& fixed) {
    const auto fault =
        std::ranges::find(state.faults.list(), Severity::kError, &Diagnostic::severity);
    state_ = &state;
    fixed_ = &fixed;
    if (effort_ == RepairEffort::kThorough) FollowKept();
    if (fault->pointer.ends_with(kSizesMember)) {
      FixSizes(fault->pointer.substr(0, fault->pointer.size() - kSizesMember.size()),
               fault->message);
    } else if (fault->pointer.ends_with("/DataType")) {
      FixType(fault->pointer.substr(0, fault->pointer.rfind('/')), fault->message);
    } else {
      FixNumber(fault->pointer, fault->message);
    }
    TakeNamedEnumerators(fault->message);
    if (effort_ == RepairEffort::kQuick) FollowKept();
  }

  void FollowKept() {
    for (const auto& [path, before] : kept_) {
      if (const auto now = NumberAt(state_->op, path)) Follow(before, *now);
    }
  }

  template <typename Change>
  void Try(Change&& change) {
    if (checks_ >= static_cast<int>(effort_)) return;
    OperatorDesc op = state_->op;
    if (change(op)) fixed_->push_back(Checked(op));
  }

  // Returns whether the number is another one now.
  bool Set(OperatorDesc& op, const std::string& path, int64_t number) const {
    if (kept_.contains(path) || NumberAt(op, path) == number) return false;
    return SetValueAt(op, path, SettingValue(number));
  }

  // --- fixes -------------------------------------------------------------------------------------

  void FixSizes(const std::string& tensor, std::string_view message) {
    OperatorDesc op = state_->op;
    const TensorDesc* desc = FindTensor(op, tensor);
    if (desc == nullptr || !desc->sizes) return;
    for (const std::vector<int64_t>& sizes : SizesIn(message)) {
      sizes.size() == desc->rank() ? TakeSizes(tensor, sizes) : TakeRank(tensor, sizes.size());
    }
    if (message.find("dimension") == message.npos) return;
    for (const int64_t rank : NumbersIn(message)) TakeRank(tensor, static_cast<size_t>(rank));
  }

  void TakeSizes(const std::string& tensor, const std::vector<int64_t>& sizes) {
    const auto path = [&](size_t d) { return fmt::format("{}{}/{}", tensor, kSizesMember, d); };
    Try([&](OperatorDesc& op) {
      bool changes = false;
      for (size_t d = 0; d < sizes.size(); ++d) changes |= Set(op, path(d), sizes[d]);
      return changes;
    });
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (kept_.contains(path(d))) Follow(sizes[d], *NumberAt(state_->op, path(d)));
    }
  }

  // Dimensions of size 1 are put in front, or the first ones are taken out.
  void TakeRank(const std::string& tensor, size_t rank) {
    Try([&](OperatorDesc& op) {
      std::vector<uint32_t>& sizes = *FindTensor(op, tensor)->sizes;
      if (rank == 0 || rank > kMaxRank || rank == sizes.size()) return false;
      while (sizes.size() > rank) sizes.erase(sizes.begin());
      sizes.insert(sizes.begin(), rank - sizes.size(), 1);
      return true;
    });
  }

  void FixType(const std::string& tensor, std::string_view message) {
    for (size_t i = 1; i < DataTypeNames().size(); ++i) {
      if (!Names(message, DataTypeNames()[i])) continue;
      Try([&](OperatorDesc& op) {
        TensorDesc* desc = FindTensor(op, tensor);
        if (desc == nullptr || desc->data_type == static_cast<DataType>(i)) return false;
        desc->data_type = static_cast<DataType>(i);
        return true;
      });
    }
  }

  // A number that is kept is not changed: the sizes that have the one that is expected follow it.
  void FixNumber(const std::string& path, std::string_view message) {
    const std::vector<int64_t> named = NumbersIn(message);
    if (const auto kept = kept_.find(path); kept != kept_.end()) {
      const int64_t now = NumberAt(state_->op, path).value_or(kept->second);
      for (const int64_t number : named) Follow(number, now);
      for (const int64_t number : named) Follow(number, number + now - kept->second);
      for (const int64_t number : named) Follow(number, number + 1);
      return;
    }
    for (const int64_t number : named) TakeLength(path, static_cast<size_t>(number));
    for (const int64_t number : NearestFirst(named, NumberAt(state_->op, path).value_or(0))) {
      Take(path, number);
    }
  }

  // The numbers that a message names, those one less, 0 and 1.
  static std::vector<int64_t> NearestFirst(std::vector<int64_t> numbers, int64_t to) {
    for (size_t i = numbers.size(); i-- > 0;) numbers.push_back(numbers[i] - 1);
    numbers.insert(numbers.end(), {1, 0});
    std::ranges::stable_sort(numbers, {}, [&](int64_t number) { return std::abs(number - to); });
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
  }

  void Take(const std::string& path, int64_t number) {
    Try([&](OperatorDesc& op) { return Set(op, path, number); });
  }

  // The last entry of an array is repeated, or entries are taken from its end.
  void TakeLength(const std::string& name, size_t length) {
    constexpr size_t kMost = 8;
    if (length == 0 || length > kMost || kept_.contains(name)) return;
    Try([&](OperatorDesc& op) {
      bool changes = false;
      for (size_t i = 0; i < op.fields().size(); ++i) {
        if (op.fields()[i]->name != name) continue;
        std::visit(
            [&]<typename T>(T& array) {
              if constexpr (std::is_same_v<T, std::vector<TensorDesc>> ||
                            std::is_same_v<T, std::vector<OperatorDesc>>) {
                changes = !array.empty() && array.size() != length;
                if (changes) array.resize(length, array.back());
              }
            },
            op.values()[i]);
      }
      return changes;
    });
  }

  void TakeNamedEnumerators(std::string_view message) {
    for (const PlainValue& plain : PlainValuesOf(state_->op)) {
      if (plain.field->kind != FieldKind::kEnum || kept_.contains(plain.path)) continue;
      for (const std::string_view name : plain.field->names.names) {
        if (plain.value == SettingValue(std::string(name)) || !Names(message, name)) continue;
        Try([&](OperatorDesc& op) { return SetValueAt(op, plain.path, std::string(name)); });
      }
    }
  }

  // Sizes that are `before` become `now`, and numbers of fields; then sizes follow in proportion to
  // its square, as channels do to the size of blocks, or to it, which is all that a quick repair
  // tries.
  void Follow(int64_t before, int64_t now) {
    if (before <= 0 || now <= 0 || before == now) return;
    const std::vector<std::string> paths = SizePathsOf(state_->op);
    for (const std::string& path : paths) {
      if (NumberAt(state_->op, path) == before) Take(path, now);
    }
    for (const PlainValue& plain : PlainValuesOf(state_->op)) {
      if (plain.value == SettingValue(before) && !NamesAxes(*plain.field)) Take(plain.path, now);
    }
    std::vector<std::pair<int64_t, int64_t>> proportions = {{before, now}};
    if (effort_ == RepairEffort::kThorough) {
      proportions.insert(proportions.begin(), {before * before, now * now});
    }
    for (const auto& [from, to] : proportions) {
      for (const std::string& path : paths) {
        const int64_t size = *NumberAt(state_->op, path);
        if (size != before && size * to % from == 0) Take(path, size * to / from);
      }
    }
  }

  const std::map<std::string, int64_t>& kept_;
  const FeatureLevel level_;
  const RepairEffort effort_;
  int checks_ = 0;
  const State* state_ = nullptr;
  std::vector<State>* fixed_ = nullptr;
};

}  // namespace

std::optional<OperatorDesc> Repaired(const OperatorDesc& op,
                                     const std::map<std::string, int64_t>& kept, FeatureLevel level,
                                     RepairEffort effort) {
  return DescRepair(kept, level, effort).Run(op);
}

}  // namespace dmlop
