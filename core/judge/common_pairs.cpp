// SPDX-License-Identifier: Apache-2.0
// Pairs of changes that a device makes at once.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "core/document/document_json.h"
#include "core/judge/descriptor_change.h"

namespace dmlop {
namespace {

class PairList {
 public:
  explicit PairList(const OperatorDesc& op) : op_(op) {}

  std::vector<std::vector<DescriptorChange>> All() {
    MovePadding();
    LeaveOutDilations();
    LeaveOutWithType();
    LeaveOutTogether();
    Zeros<std::vector<float>>("InputPixelOffsets", "OutputPixelOffsets");
    Zeros<float>("InputPixelOffset", "OutputPixelOffset");
    return std::move(pairs_);
  }

 private:
  using Numbers = std::vector<uint32_t>;

  template <typename T>
  const T* Find(std::string_view name) const {
    for (size_t i = 0; i < op_.fields().size(); ++i) {
      if (op_.fields()[i]->name == name) return std::get_if<T>(&op_.values()[i]);
    }
    return nullptr;
  }

  void Add(std::vector<DescriptorChange> changes) {
    std::string all;
    for (const DescriptorChange& change : changes) all += change.id();
    if (seen_.insert(all).second) pairs_.push_back(std::move(changes));
  }

  // Moves padding from one end to the other: by one along each axis, or along all; and all of it.
  // Along one of several axes, the ends are exchanged, too.
  void MovePadding() {
    const auto* start = Find<Numbers>("StartPadding");
    const auto* end = Find<Numbers>("EndPadding");
    if (start == nullptr || end == nullptr || start->size() != end->size()) return;
    for (size_t i = 0; i < start->size(); ++i) {
      Move(*start, *end, i, i + 1, 1);
      Move(*start, *end, i, i + 1, -1);
      const int exchange = static_cast<int>((*end)[i]) - static_cast<int>((*start)[i]);
      if (start->size() > 1) Move(*start, *end, i, i + 1, exchange);
    }
    for (const int step : {1, -1, kAll, -kAll}) Move(*start, *end, 0, start->size(), step);
  }

  // A tensor whose type is a field of its own, such as a mask.
  void LeaveOutWithType() {
    for (const TensorSlot& slot : TensorSlots(op_, TensorRole::kInput)) {
      constexpr std::string_view kTensor = "Tensor";
      if (!slot.path.ends_with(kTensor)) continue;
      const std::string type = slot.path.substr(0, slot.path.size() - kTensor.size()) + "Type";
      if (Find<uint32_t>(type) == nullptr) continue;
      Add({{"/desc/" + type, "\"NONE\"", ""}, {"/desc/" + slot.path, "null", ""}});
    }
  }

  // Tensors of which neither may be there without the other, such as keys and values of the past.
  void LeaveOutTogether() {
    std::vector<size_t> tensors;
    for (size_t i = 0; i < op_.fields().size(); ++i) {
      const Field& field = *op_.fields()[i];
      const bool may_be_left_out = field.optional && field.role == TensorRole::kInput &&
                                   std::holds_alternative<TensorDesc>(op_.values()[i]);
      if (may_be_left_out && !IsValidWithout({i})) tensors.push_back(i);
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
      for (size_t k = i + 1; k < tensors.size(); ++k) {
        if (!IsValidWithout({tensors[i], tensors[k]})) continue;
        Add({{fmt::format("/desc/{}", op_.fields()[tensors[i]]->name), "null", ""},
             {fmt::format("/desc/{}", op_.fields()[tensors[k]]->name), "null", ""}});
      }
    }
  }

  bool IsValidWithout(std::initializer_list<size_t> fields) const {
    OperatorDesc without = op_;
    for (const size_t field : fields) without.values()[field] = std::monostate();
    Diagnostics faults;
    Check(without, kHighestFeatureLevel, faults);
    return !faults.has_errors();
  }

  static constexpr int kAll = 1 << 30;

  // Moves up to `step` along the axes in [first, past) from the end to the start.
  void Move(const Numbers& start, const Numbers& end, size_t first, size_t past, int step) {
    Numbers starts = start, ends = end;
    for (size_t i = first; i < past; ++i) {
      const auto most = static_cast<int>(step > 0 ? end[i] : start[i]);
      const auto moved = static_cast<uint32_t>(std::clamp(step, -most, most));
      starts[i] += moved;
      ends[i] -= moved;
    }
    if (starts != start) Add({Set("StartPadding", start, starts), Set("EndPadding", end, ends)});
  }

  // Taps that are beside one another in place of dilated ones, along each axis or along all.
  // Windows are smaller then, and so is padding: at its end, where they begin at the same place,
  // or by half at both ends, where they have the same middle.
  void LeaveOutDilations() {
    const auto* dilations = Find<Numbers>("Dilations");
    const auto* start = Find<Numbers>("StartPadding");
    const auto* end = Find<Numbers>("EndPadding");
    const std::optional<Numbers> windows = WindowSizes();
    if (dilations == nullptr || start == nullptr || end == nullptr || !windows) return;
    const size_t axes = dilations->size();
    const auto leave_out = [&](size_t first, size_t past) {
      LeaveOutDilations({*dilations, *start, *end}, *windows, first, past);
    };
    leave_out(0, axes);
    for (size_t i = 0; i < axes; ++i) leave_out(i, i + 1);
  }

  struct Windows {
    Numbers dilations, start, end;
  };

  void LeaveOutDilations(const Windows& before, const Numbers& sizes, size_t first, size_t past) {
    for (const uint32_t parts : {1u, 2u}) {
      Windows after = before;
      bool is_enough = true;
      for (size_t i = first; i < past; ++i) {
        const uint32_t shorter = (sizes[i] - 1) * (std::exchange(after.dilations[i], 1) - 1);
        const uint32_t at_start = shorter - shorter / parts;
        is_enough = is_enough && after.start[i] >= at_start && after.end[i] >= shorter - at_start;
        after.start[i] -= at_start;
        after.end[i] -= shorter - at_start;
      }
      if (!is_enough || after.dilations == before.dilations) continue;
      std::vector<DescriptorChange> changes = {Set("Dilations", before.dilations, after.dilations)};
      if (parts > 1) changes.push_back(Set("StartPadding", before.start, after.start));
      changes.push_back(Set("EndPadding", before.end, after.end));
      Add(std::move(changes));
    }
  }

  // Returns the sizes that a window, or a filter, has along the last axes.
  std::optional<Numbers> WindowSizes() const {
    if (const auto* windows = Find<Numbers>("WindowSize")) return *windows;
    const std::vector<TensorSlot> slots = TensorSlots(op_, TensorRole::kInput);
    const auto filter = std::ranges::find(slots, "FilterTensor", &TensorSlot::path);
    const auto* dilations = Find<Numbers>("Dilations");
    if (filter == slots.end() || dilations == nullptr) return std::nullopt;
    const auto& sizes = *filter->desc->sizes;
    return Numbers(sizes.end() - static_cast<std::ptrdiff_t>(dilations->size()), sizes.end());
  }

  // A single entry of several has a pointer of its own.
  static DescriptorChange Set(std::string_view name, const Numbers& before, const Numbers& after) {
    const auto [was, is] = std::ranges::mismatch(before, after);
    const auto entry = static_cast<size_t>(is - after.begin());
    if (after.size() > 1 && std::equal(was + 1, before.end(), is + 1)) {
      return {fmt::format("/desc/{}/{}", name, entry), fmt::format("{}", *is), ""};
    }
    return {fmt::format("/desc/{}", name), Utf8Text(Json(after)), ""};
  }

  template <typename T>
  void Zeros(std::string_view name, std::string_view other) {
    const T* const one = Find<T>(name);
    if (one == nullptr || Find<T>(other) == nullptr) return;
    Json zero = 0;
    if constexpr (!std::is_arithmetic_v<T>) zero = std::vector<int>(one->size(), 0);
    Add({{fmt::format("/desc/{}", name), Utf8Text(zero), ""},
         {fmt::format("/desc/{}", other), Utf8Text(zero), ""}});
  }

  const OperatorDesc& op_;
  std::vector<std::vector<DescriptorChange>> pairs_;
  std::set<std::string> seen_;
};

}  // namespace

std::vector<std::vector<DescriptorChange>> CommonPairsOf(const OperatorDesc& op) {
  return PairList(op).All();
}

}  // namespace dmlop
