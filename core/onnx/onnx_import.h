// SPDX-License-Identifier: Apache-2.0
// Imports an ONNX model: it becomes a graph of DirectML's operators, node by node.
//
//   ONX-7   a name that is used before it is computed, twice, or not at all
//   ONX-8   external data that is missing, short or outside
//   ONX-9   a condition of If that is not known
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/graph/graph.h"
#include "core/io/tensor_file.h"
#include "core/onnx/onnx_model.h"
#include "core/onnx/onnx_node.h"

namespace dmlop {

struct OnnxSource {
  const OnnxModel& model;
  std::shared_ptr<const void> owner;  // keeps the file alive
  FeatureLevel level;
  bool is_mapped = false;  // the model's file
  // Returns a mapped file with external data, by its location. Throws an Error of kind
  // kFileSystem if it cannot be read, and of kind kUsage if it leads outside.
  std::function<InputFile(const std::string& location)> external = nullptr;
  std::map<std::string, const LoadedTensor*> bound = {};  // inputs with values
  std::map<std::string, std::vector<int64_t>> shapes =
      {};  // of inputs, in place of those in the file
  std::map<std::string, int64_t> free_sizes = {},
                                 free_denotations = {};  // of free dimensions, by name
};

struct OnnxImport {
  std::shared_ptr<const NamedGraph> graph;  // null if the model is refused
  // The nodes of a refused model, as far as they were read, refused ones too; it has no outputs.
  std::shared_ptr<const NamedGraph> judged = nullptr;
};

// Reports all refusals.
OnnxImport ImportOnnx(const OnnxSource& source, Diagnostics& diagnostics);

// The size of a free dimension that is stated by its name or else by its denotation.
std::optional<int64_t> StatedSizeOf(const OnnxDimension& dimension,
                                    const std::map<std::string, int64_t>& by_name,
                                    const std::map<std::string, int64_t>& by_denotation);

// "no input has a free size 'M'", of those that are stated and that none of the models has; empty
// if there is none.
std::string WarningOfUnused(const std::vector<const OnnxModel*>& models,
                            const std::map<std::string, int64_t>& by_name,
                            const std::map<std::string, int64_t>& by_denotation);

bool HasInitializer(const OnnxGraph& graph, std::string_view name);

// The inputs without an initializer, in order, which must be bound; then the others.
std::vector<std::string> OnnxInputNames(const OnnxModel& model);

// --- inputs --------------------------------------------------------------------------------------

// The sizes of a model's inputs: those that the file states, those of the tensors that are bound,
// and those of free dimensions, which have names.
class OnnxInputSizes {
 public:
  explicit OnnxInputSizes(const OnnxSource& source) : source_(source) {}

  // Takes the sizes of free dimensions from what is stated of all inputs; reports those that
  // differ.
  void Learn(const std::function<void(const std::string&)>& report);

  // Returns the tensor that is bound to an input; null if there is none.
  const LoadedTensor* BoundTo(std::string_view name) const;

  // Throws an Error of kind kTensorFile if a bound tensor has another type.
  static void RequireType(const LoadedTensor& bound, OnnxType type);

  // Returns the sizes of an input; free ones of which nothing is known are 1. Throws a refusal, or
  // an Error of kind kTensorFile if the bound tensor has another shape.
  OnnxSizes Of(const OnnxValueInfo& input);

  // The sizes that the file states of another tensor, as far as inputs say its free ones.
  std::optional<OnnxSizes> OfStated(const OnnxValueInfo& info) const;

  std::optional<int64_t> OfFree(const OnnxDimension& dimension) const;

  // "free sizes of inputs are taken for 1: ..."; empty if none was.
  std::string WarningOfUnknown() const;

 private:
  struct Learned {
    int64_t size;
    std::string_view input;
  };

  void LearnFrom(const OnnxValueInfo& input, const std::function<void(const std::string&)>& report);
  // The sizes of the bound tensor, or those that replace the file's.
  std::optional<OnnxSizes> Stated(std::string_view name) const;
  void RequireShape(const OnnxValueInfo& input, const OnnxSizes& stated) const;

  const OnnxSource& source_;
  std::map<std::string_view, Learned> learned_;
  std::set<std::string_view> unknown_;  // free dimensions taken for 1
};

}  // namespace dmlop
