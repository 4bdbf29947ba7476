// SPDX-License-Identifier: Apache-2.0
#include "core/arithmetic/varied_values.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "core/engine/copy/copy_views.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr std::string_view kHidden = "HiddenInitTensor", kCell = "CellMemInitTensor";
constexpr std::string_view kNextHidden = "OutputSingleTensor";
constexpr std::string_view kNextCell = "OutputCellSingleTensor";
constexpr std::string_view kSequence = "OutputSequenceTensor";
constexpr std::string_view kLengths = "SequenceLengthsTensor";

std::optional<size_t> NumberOf(const OperatorDesc& op, TensorRole role, std::string_view path) {
  const std::vector<TensorSlot> slots = TensorSlots(op, role);
  const auto slot = std::ranges::find(slots, path, &TensorSlot::path);
  if (slot == slots.end()) return std::nullopt;
  return static_cast<size_t>(slot - slots.begin());
}

TensorView Zeros(DataType type, const Dims& sizes, Computation& owner) {
  const auto buffer =
      std::make_shared<Buffer>(static_cast<size_t>(Product(sizes)) * ByteWidth(type));
  owner.storage.push_back(buffer);
  return {buffer->data(), type, PackedLayout(sizes)};
}

void RoundAll(const TensorView& packed, const FloatRounding& rounding) {
  VisitDataType(Floats(), packed.type, [&]<typename T>() {
    T* const elements = packed.elements<T>();
    for (int64_t i = 0; i < packed.layout.element_count(); ++i) {
      elements[i] = FromDouble<T>(rounding(AsDouble(elements[i])));
    }
  });
}

const std::vector<uint32_t>* SizesOf(const OperatorDesc& op, std::string_view path) {
  for (const TensorSlot& slot : TensorSlots(op, TensorRole::kInput)) {
    if (slot.path == path) return &*slot.desc->sizes;
  }
  return nullptr;
}

bool RunsBackward(const OperatorDesc& op) {
  for (size_t i = 0; i < op.fields().size(); ++i) {
    if (op.fields()[i]->name == std::string_view("Direction")) {
      return std::get<uint32_t>(op.values()[i]) == 1;
    }
  }
  return false;
}

// The number of steps of an item.
int64_t StepsOfItem(const OperatorDesc& op, InputViews inputs, int64_t item) {
  const auto lengths = NumberOf(op, TensorRole::kInput, kLengths);
  const int64_t steps = inputs[0].layout.sizes[1];
  if (!lengths) return steps;
  const ConstTensorView& view = inputs[*lengths];
  return std::min<int64_t>(view.elements<uint32_t>()[item * view.layout.strides[3]], steps);
}

// Runs a network of one direction, one step after another, as one with twice the units: the first
// half of the states are rounded and multiplied by the weights of both halves, and the second half
// are what each unit keeps of its own state, which is not rounded.
class NetworkOfRoundedStates {
 public:
  NetworkOfRoundedStates(const Computation& network, const FloatRounding& rounding)
      : network_(network), rounding_(rounding), step_{network.op, {}} {
    if (!AreOfElements()) return;
    units_ = (*SizesOf(network.op, "RecurrenceTensor"))[3];
    items_ = network.inputs[0].layout.sizes[2];
    MakeStep();
  }

  bool is_possible() const { return is_possible_; }

  std::vector<ElementBytes> ElementsOf(size_t output, std::span<const int64_t> elements) {
    const int64_t steps = network_.inputs[0].layout.sizes[1];
    std::vector<TensorView> hidden(static_cast<size_t>(steps));
    TensorView state = First(kHidden), cell = First(kCell);
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t time = RunsBackward(network_.op) ? steps - 1 - i : i;
      Feed(network_.inputs[0].Slice(1, time, 1), state, cell);
      state = At(time, After(kNextHidden), state);
      if (HasCell()) cell = At(time, After(kNextCell), cell);
      hidden[static_cast<size_t>(time)] = At(time, state, std::nullopt);
    }
    const std::string path = TensorSlots(network_.op, TensorRole::kOutput)[output].path;
    if (path == kSequence) return Taken(hidden, elements);
    return Taken({At(0, path == kNextCell ? cell : state, std::nullopt)}, elements);
  }

 private:
  // The state at a time, with `otherwise`, or 0, for items whose sequence has ended before.
  TensorView At(int64_t time, const TensorView& state, const std::optional<TensorView>& otherwise) {
    TensorView all = state;
    for (int64_t item = 0; item < items_; ++item) {
      if (time < StepsOfItem(network_.op, network_.inputs, item)) continue;
      if (all.data == state.data) all = PackedCopy(AsConst(state), owner_);
      const TensorView zeros = Zeros(state.type, {1, 1, 1, units_}, owner_);
      const TensorView of_item = otherwise ? otherwise->Slice(2, item, 1) : zeros;
      CopyView(AsConst(of_item), all.Slice(2, item, 1));
    }
    return all;
  }

  // Returns whether each unit's activations look at this unit alone.
  bool AreOfElements() const {
    for (const FieldValue& value : network_.op.values()) {
      const auto* activations = std::get_if<std::vector<OperatorDesc>>(&value);
      const auto is_of_elements = [](const OperatorDesc& activation) {
        return std::holds_alternative<ElementWise>(activation.info().family);
      };
      if (activations != nullptr && !std::ranges::all_of(*activations, is_of_elements)) {
        return false;
      }
    }
    return true;
  }

  bool HasCell() const { return NumberOf(step_.op, TensorRole::kOutput, kNextCell).has_value(); }

  void MakeStep() {
    for (const Field* field : network_.op.fields()) {
      const std::string_view name = field->name;
      if (name == kSequence || name == kLengths) step_.op.Remove(*field);
      if (name == kHidden || name == kCell || name == kNextHidden || name == kNextCell) {
        step_.op.AddTensor(*field);
      }
    }
    const DataType type = network_.inputs[0].type;
    for (const MutableTensorSlot& slot : TensorSlots(step_.op)) {
      TensorDesc& desc = *slot.desc;
      desc.data_type = type;
      desc.strides.reset();
      desc.total_tensor_size_in_bytes = 0;
      desc.sizes = SizesInStep(slot.path);
    }
    Diagnostics faults;
    Check(step_.op, kHighestFeatureLevel, faults);
    is_possible_ = !faults.has_errors();
    if (is_possible_) FillInputs();
  }

  std::vector<uint32_t> SizesInStep(std::string_view path) const {
    const auto items = static_cast<uint32_t>(items_), units = static_cast<uint32_t>(units_);
    const std::vector<uint32_t>* const own = SizesOf(network_.op, path);
    if (path == kHidden || path == kCell || own == nullptr) return {1, 1, items, 2 * units};
    std::vector<uint32_t> sizes = *own;
    if (path == "InputTensor") {
      sizes[1] = 1;
    } else if (path == "WeightTensor" || path == "RecurrenceTensor") {
      sizes[2] *= 2;
      if (path == "RecurrenceTensor") sizes[3] *= 2;
    } else {
      sizes[3] *= 2;
    }
    return sizes;
  }

  void FillInputs() {
    for (const TensorSlot& slot : TensorSlots(step_.op, TensorRole::kInput)) {
      const std::vector<uint32_t>& sizes = *slot.desc->sizes;
      const TensorView view = Zeros(*slot.desc->data_type, Dims(sizes.begin(), sizes.end()), step_);
      step_.inputs.push_back(AsConst(view));
      const auto own = NumberOf(network_.op, TensorRole::kInput, slot.path);
      const bool changes = slot.path == kHidden || slot.path == kCell || !own || *own == 0;
      if (changes) continue;
      const bool has_rows = slot.path == "WeightTensor" || slot.path == "RecurrenceTensor";
      FillTwice(network_.inputs[*own], has_rows ? 2 : 3, view);
    }
  }

  // Each block of the units twice along an axis; further columns stay 0.
  void FillTwice(const ConstTensorView& from, size_t axis, const TensorView& to) const {
    for (int64_t block = 0; block < from.layout.sizes[axis] / units_; ++block) {
      for (const int64_t half : {0, 1}) {
        TensorView part = to.Slice(axis, (2 * block + half) * units_, units_);
        if (axis == 2) part = part.Slice(3, 0, from.layout.sizes[3]);
        CopyView(from.Slice(axis, block * units_, units_), part);
      }
    }
  }

  TensorView First(std::string_view path) {
    const TensorView state = Zeros(network_.inputs[0].type, {1, 1, items_, units_}, owner_);
    const auto own = NumberOf(network_.op, TensorRole::kInput, path);
    if (own) CopyView(network_.inputs[*own], state);
    return state;
  }

  void Feed(const ConstTensorView& input, const TensorView& state, const TensorView& cell) {
    Computation owner{step_.op, {}};
    const TensorView rounded = PackedCopy(AsConst(state), owner);
    RoundAll(rounded, rounding_);
    Put(kHidden, AsConst(rounded), AsConst(state));
    if (HasCell()) Put(kCell, AsConst(cell), AsConst(cell));
    step_.inputs[0] = input;
  }

  void Put(std::string_view path, const ConstTensorView& first, const ConstTensorView& second) {
    ConstTensorView& both = step_.inputs[*NumberOf(step_.op, TensorRole::kInput, path)];
    const TensorView next = Zeros(both.type, both.layout.sizes, owner_);
    CopyView(first, next.Slice(3, 0, units_));
    CopyView(second, next.Slice(3, units_, units_));
    both = AsConst(next);
  }

  TensorView After(std::string_view path) {
    const size_t output = *NumberOf(step_.op, TensorRole::kOutput, path);
    const Buffer whole = WholeOutput(step_, output);
    const ConstTensorView view{whole.data(), network_.inputs[0].type,
                               PackedLayout({1, 1, items_, 2 * units_})};
    return PackedCopy(view.Slice(3, units_, units_), owner_);
  }

  std::vector<ElementBytes> Taken(const std::vector<TensorView>& states,
                                  std::span<const int64_t> elements) const {
    const int64_t count = items_ * units_;
    const auto width = static_cast<int64_t>(ByteWidth(states[0].type));
    std::vector<ElementBytes> taken(elements.size());
    for (size_t i = 0; i < elements.size(); ++i) {
      const TensorView& state = states[static_cast<size_t>(elements[i] / count)];
      std::memcpy(taken[i].data(), state.data + elements[i] % count * width,
                  static_cast<size_t>(width));
    }
    return taken;
  }

  const Computation& network_;
  const FloatRounding& rounding_;
  Computation step_;
  Computation owner_{network_.op, {}};  // of states
  int64_t units_ = 0, items_ = 0;
  bool is_possible_ = false;
};

// One direction of a network, as a network.
Computation OneDirection(Computation network, uint32_t direction) {
  OperatorDesc& op = network.op;
  for (size_t i = 0; i < op.fields().size(); ++i) {
    FieldValue& value = op.values()[i];
    const std::string_view name = op.fields()[i]->name;
    if (name == "Direction") value.emplace<uint32_t>(direction);
    if (name == "ActivationDescCount") value.emplace<std::monostate>();  // which follows
    if (auto* activations = std::get_if<std::vector<OperatorDesc>>(&value)) {
      const auto half = std::ssize(*activations) / 2;
      const auto own = activations->begin() + (direction == 0 ? 0 : half);
      *activations = std::vector<OperatorDesc>(own, own + half);
    }
  }
  for (const MutableTensorSlot& slot : TensorSlots(op)) {
    if (slot.path == "InputTensor" || slot.path == kLengths) continue;
    const bool is_row = slot.path == "BiasTensor" || slot.path == "PeepholeTensor";
    const size_t axis = is_row ? 2 : 1;
    (*slot.desc->sizes)[axis] = 1;
    const auto input = NumberOf(op, TensorRole::kInput, slot.path);
    if (input) network.inputs[*input] = network.inputs[*input].Slice(axis, direction, 1);
  }
  return network;
}

// The elements of each direction, computed by itself.
std::optional<std::vector<ElementBytes>> ElementsOfBoth(const Computation& network,
                                                        const FloatRounding& rounding,
                                                        size_t output,
                                                        std::span<const int64_t> elements) {
  const Dims sizes = OutputSizes(network, output);
  const int64_t count = sizes[2] * sizes[3];
  std::vector<ElementBytes> both(elements.size());
  for (const int64_t direction : {0, 1}) {
    std::vector<size_t> places;
    std::vector<int64_t> own;
    for (size_t i = 0; i < elements.size(); ++i) {
      if (elements[i] / count % 2 != direction) continue;
      places.push_back(i);
      own.push_back(elements[i] / (2 * count) * count + elements[i] % count);
    }
    const auto found = ElementsOfRoundedStates(
        OneDirection(network, static_cast<uint32_t>(direction)), rounding, output, own);
    if (!found) return std::nullopt;
    for (size_t k = 0; k < places.size(); ++k) both[places[k]] = (*found)[k];
  }
  return both;
}

}  // namespace

Region InLongItem(const OperatorDesc& network, InputViews inputs, Region element) {
  const int64_t items = inputs[0].layout.sizes[2];
  int64_t longest = element.begin[2];
  for (int64_t item = 0; item < items; ++item) {
    const bool is_longer =
        StepsOfItem(network, inputs, item) > StepsOfItem(network, inputs, longest);
    if (is_longer) longest = item;
  }
  const int64_t steps_left =
      StepsOfItem(network, inputs, longest) - (RunsBackward(network) ? 2 : 1);
  element.begin[0] = std::clamp<int64_t>(element.begin[0], 0, std::max<int64_t>(steps_left, 0));
  element.begin[1] = 0;
  element.begin[2] = longest;
  return element;
}

std::optional<std::vector<ElementBytes>> ElementsOfRoundedStates(
    const Computation& network, const FloatRounding& rounding, size_t output,
    std::span<const int64_t> elements) {
  const std::vector<uint32_t>* const recurrence = SizesOf(network.op, "RecurrenceTensor");
  if (recurrence == nullptr) return std::nullopt;
  if ((*recurrence)[1] == 2) return ElementsOfBoth(network, rounding, output, elements);
  NetworkOfRoundedStates states(network, rounding);
  if (!states.is_possible()) return std::nullopt;
  return states.ElementsOf(output, elements);
}

}  // namespace dmlop
