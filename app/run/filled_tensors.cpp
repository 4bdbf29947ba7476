// SPDX-License-Identifier: Apache-2.0
#include "app/run/filled_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "app/graph/graph_model.h"
#include "core/base/counted.h"
#include "core/model/model_run.h"

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
    const std::vector<TensorSlot> slots = TensorSlots(node.op);
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].role() == TensorRole::kInput) continue;
      const GraphPort& port = named.tensors[node.edges[i]];
      const std::string name = fmt::format("{}.{}", node.name, port.name);
      by_name_[port.name][0] = by_full_name_[name][0] = all_.size();
      all_.push_back(
          {name, name, &*named.graph.edges[node.edges[i]].desc, 0, n, node.edges[i], FormOf(port)});
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

}  // namespace dmlop
