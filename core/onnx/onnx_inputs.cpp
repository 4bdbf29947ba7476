// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/onnx_import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/text.h"

namespace dmlop {

bool HasInitializer(const OnnxGraph& graph, std::string_view name) {
  return std::ranges::find(graph.initializers, name, &TensorProto::name) !=
         graph.initializers.end();
}

std::vector<std::string> OnnxInputNames(const OnnxModel& model) {
  std::vector<std::string> names, with_default;
  for (const OnnxValueInfo& input : model.graph.inputs) {
    (HasInitializer(model.graph, input.name) ? with_default : names).emplace_back(input.name);
  }
  names.insert(names.end(), with_default.begin(), with_default.end());
  return names;
}

const LoadedTensor* OnnxInputSizes::BoundTo(std::string_view name) const {
  const auto found = source_.bound.find(std::string(name));
  return found == source_.bound.end() ? nullptr : found->second;
}

void OnnxInputSizes::RequireType(const LoadedTensor& bound, OnnxType type) {
  const bool may_be = !bound.is_bool || type.is_bool();
  if (bound.view.type == type.type && may_be) return;
  throw Error(ErrorKind::kTensorFile, "its file has elements of type {}; the model wants {}",
              TypeName(bound), type.is_bool() ? "BOOL" : Name(type.type));
}

// The sizes that are stated beside the file's: those of the bound tensor, or of -b.
std::optional<OnnxSizes> OnnxInputSizes::Stated(std::string_view name) const {
  const LoadedTensor* bound = BoundTo(name);
  if (bound != nullptr) {
    return OnnxSizes(bound->view.layout.sizes.begin(), bound->view.layout.sizes.end());
  }
  const auto found = source_.shapes.find(std::string(name));
  return found == source_.shapes.end() ? std::nullopt : std::optional(found->second);
}

std::optional<int64_t> StatedSizeOf(const OnnxDimension& dimension,
                                    const std::map<std::string, int64_t>& by_name,
                                    const std::map<std::string, int64_t>& by_denotation) {
  const auto named = by_name.find(std::string(dimension.name));
  if (!dimension.name.empty() && named != by_name.end()) return named->second;
  const auto denoted = by_denotation.find(std::string(dimension.denotation));
  if (!dimension.denotation.empty() && denoted != by_denotation.end()) return denoted->second;
  return std::nullopt;
}

std::string WarningOfUnused(const std::vector<const OnnxModel*>& models,
                            const std::map<std::string, int64_t>& by_name,
                            const std::map<std::string, int64_t>& by_denotation) {
  std::set<std::string_view> names, denotations;
  for (const OnnxModel* model : models) {
    for (const OnnxValueInfo& input : model->graph.inputs) {
      for (const OnnxDimension& dimension : input.sizes.value_or(std::vector<OnnxDimension>())) {
        names.insert(dimension.name);
        denotations.insert(dimension.denotation);
      }
    }
  }
  std::vector<std::string> unused;
  for (const auto& [name, size] : by_name) {
    if (!names.contains(name)) unused.push_back(fmt::format("'{}'", name));
  }
  for (const auto& [name, size] : by_denotation) {
    if (!denotations.contains(name)) unused.push_back(fmt::format("'{}'", name));
  }
  return unused.empty() ? "" : "no input has a free size " + Listed(unused, " or ");
}

std::optional<int64_t> OnnxInputSizes::OfFree(const OnnxDimension& dimension) const {
  const auto stated = StatedSizeOf(dimension, source_.free_sizes, source_.free_denotations);
  if (stated) return stated;
  const auto learned = learned_.find(dimension.name);
  if (learned != learned_.end()) return learned->second.size;
  return std::nullopt;
}

void OnnxInputSizes::Learn(const std::function<void(const std::string&)>& report) {
  for (const OnnxValueInfo& input : source_.model.graph.inputs) LearnFrom(input, report);
}

void OnnxInputSizes::LearnFrom(const OnnxValueInfo& input,
                               const std::function<void(const std::string&)>& report) {
  const auto stated = Stated(input.name);
  if (!stated || !input.sizes || stated->size() != input.sizes->size()) return;
  for (size_t d = 0; d < stated->size(); ++d) {
    const std::string_view name = (*input.sizes)[d].name;
    if ((*input.sizes)[d].size || name.empty()) continue;
    const auto [at, is_new] = learned_.try_emplace(name, Learned{(*stated)[d], input.name});
    if (!is_new && at->second.size != (*stated)[d]) {
      report(fmt::format("'{}' is {} in '{}' and {} in '{}'", name, at->second.size,
                         at->second.input, (*stated)[d], input.name));
    }
  }
}

OnnxSizes OnnxInputSizes::Of(const OnnxValueInfo& input) {
  const auto stated = Stated(input.name);
  if (stated) {
    RequireShape(input, *stated);
    return *stated;
  }
  if (!input.sizes) {
    throw Refusal("ONX-4", "nothing says its shape; bind a file to '{0}' or give -b {0}:SIZES",
                  input.name);
  }
  OnnxSizes sizes;
  for (const OnnxDimension& dimension : *input.sizes) {
    const auto size = dimension.size ? dimension.size : OfFree(dimension);
    if (!size) unknown_.insert(dimension.name.empty() ? "?" : dimension.name);
    sizes.push_back(size.value_or(1));
  }
  return sizes;
}

std::optional<OnnxSizes> OnnxInputSizes::OfStated(const OnnxValueInfo& info) const {
  if (!info.sizes) return std::nullopt;
  OnnxSizes sizes;
  for (const OnnxDimension& dimension : *info.sizes) {
    const bool is_taken_for_1 = !dimension.name.empty() && unknown_.contains(dimension.name);
    auto size = dimension.size ? dimension.size : OfFree(dimension);
    if (!size && is_taken_for_1) size = 1;
    if (!size || *size < 0 || *size > kMostSize) return std::nullopt;
    sizes.push_back(*size);
  }
  return sizes;
}

void OnnxInputSizes::RequireShape(const OnnxValueInfo& input, const OnnxSizes& stated) const {
  if (!input.sizes) return;
  bool fits = stated.size() == input.sizes->size();
  std::vector<std::string> wanted;
  for (size_t d = 0; d < input.sizes->size(); ++d) {
    const OnnxDimension& dimension = (*input.sizes)[d];
    wanted.push_back(dimension.size ? fmt::format("{}", *dimension.size)
                                    : std::string(dimension.name.empty() ? "?" : dimension.name));
    fits = fits && (!dimension.size || *dimension.size == stated[d]);
  }
  if (fits) return;
  const std::string message = fmt::format("the shape {} does not fit; the model wants [{}]",
                                          ToString(stated), fmt::join(wanted, ", "));
  if (BoundTo(input.name) != nullptr) throw Error(ErrorKind::kTensorFile, message);
  throw Refusal("ONX-4", "{}", message);
}

std::string OnnxInputSizes::WarningOfUnknown() const {
  if (unknown_.empty()) return "";
  std::vector<std::string> names;
  for (const std::string_view name : unknown_) names.push_back(fmt::format("'{}'", name));
  return fmt::format(
      "free {} of inputs {} taken for 1: {}; -f NAME:SIZE or -b INPUT:SIZES says "
      "another",
      ForCount(names.size(), "size", "sizes"), ForCount(names.size(), "is", "are"), Listed(names));
}

}  // namespace dmlop
