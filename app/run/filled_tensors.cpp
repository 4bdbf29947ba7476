// SPDX-License-Identifier: Apache-2.0
#include "app/run/filled_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "app/graph/graph_model.h"
#include "app/run/runnable_model.h"
#include "core/base/text.h"
#include "core/model/model_run.h"
#include "core/tensor/nibbles.h"

namespace dmlop {

FilledTensors::FilledTensors(const ModelDocument& model) {
  for (const ModelCommand& command : model.commands()) {
    const auto* dispatch = std::get_if<DispatchCommand>(&command.what);
    if (dispatch == nullptr) continue;
    const ModelDispatchable& dispatchable = model.dispatchables()[dispatch->dispatchable];
    if (!dispatchable.is_valid) continue;
    const bool is_graph = dispatchable.graph() != nullptr;
    for (FilledTensor& filled : TensorsFilledBy(dispatchable)) {
      std::string full =
          is_graph ? fmt::format("{}.{}", dispatchable.name, filled.name) : filled.name;
      by_name_[filled.name][dispatch->dispatchable] = all_.size();
      by_full_name_[full][dispatch->dispatchable] = all_.size();
      all_.push_back(
          {std::move(filled.name), std::move(full), filled.desc, dispatch->dispatchable});
    }
  }
}

FilledTensors::FilledTensors(const NamedGraph& named) {
  for (size_t n = 0; n < named.graph.nodes.size(); ++n) {
    const GraphNode& node = named.graph.nodes[n];
    for (const size_t edge : EdgesOf(node, TensorRole::kOutput)) {
      const GraphPort& port = named.tensors[edge];
      const std::string name = fmt::format("{}.{}", node.name, port.name);
      by_name_[port.name][0] = by_full_name_[name][0] = all_.size();
      all_.push_back({name, name, &*named.graph.edges[edge].desc, 0, n, edge, FormOf(port)});
    }
  }
}

const std::map<size_t, size_t>& FilledTensors::Meant(std::string_view name) const {
  static const std::map<size_t, size_t> kNone;
  for (const LastByName* names : {&by_full_name_, &by_name_}) {
    const auto found = names->find(name);
    if (found != names->end()) return found->second;
  }
  return kNone;
}

std::vector<size_t> FilledTensors::Find(std::string_view name) const {
  std::vector<size_t> found;
  for (const auto& [dispatchable, number] : Meant(name)) found.push_back(number);
  std::ranges::sort(found);
  return found;
}

const std::string& FilledTensors::ShortestName(size_t number) const {
  const One& one = all_[number];
  const auto& meant = Meant(one.name);
  const bool is_alone = meant.size() == 1 && all_[meant.begin()->second].full_name == one.full_name;
  return is_alone ? one.name : one.full_name;
}

std::vector<std::string_view> FilledTensors::ShortestNames() const {
  std::vector<std::string_view> names;
  std::set<std::string_view> known;
  for (size_t i = 0; i < all_.size(); ++i) {
    const std::string& name = ShortestName(i);
    if (known.insert(name).second) names.push_back(name);
  }
  return names;
}

std::string FilledTensors::SayWhich(std::string_view name, const std::vector<size_t>& found) const {
  std::vector<std::string_view> names;
  for (const size_t number : found) names.push_back(all_[number].full_name);
  return fmt::format("'{}' is a tensor of {} graphs; say which, as {}", name, found.size(),
                     Listed(names, " or "));
}

namespace {

std::span<const std::byte> BytesOf(const ConstTensorView& view) {
  const auto extent = static_cast<uint64_t>(Extent(view.layout));
  return {view.data, static_cast<size_t>(BufferBytes(view.type, extent))};
}

}  // namespace

bool Overlaps(const ConstTensorView& tensor, std::span<const std::byte> bytes) {
  const std::span<const std::byte> of_tensor = BytesOf(tensor);
  const std::less<> before;
  return before(of_tensor.data(), bytes.data() + bytes.size()) &&
         before(bytes.data(), of_tensor.data() + of_tensor.size());
}

void FilledMemory::Add(const Step& step) {
  for (const TensorView& output : step.outputs) filled_.push_back(BytesOf(AsConst(output)));
}

bool FilledMemory::IsReadBy(const Step& step) const {
  return std::ranges::any_of(step.inputs, [&](const ConstTensorView& input) {
    return std::ranges::any_of(
        filled_, [&](std::span<const std::byte> filled) { return Overlaps(input, filled); });
  });
}

std::optional<ErrorUnits> UnitsOf(const Step& step, size_t output) {
  const ConstTensorView exact = AsConst(step.outputs[output]);
  if (!IsFloat(exact.type)) return std::nullopt;
  return ErrorUnitsOf(step.op, ComputationOf(step).inputs, exact, output);
}

}  // namespace dmlop
