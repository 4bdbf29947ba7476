// SPDX-License-Identifier: Apache-2.0
// A DxDispatch model: resources are buffers, dispatchables operators, and commands run them.
// Dmlop refuses by name what it does not run, and warns of what DxDispatch ignores.
//
//   JSON-2  'resources', 'dispatchables' and 'commands' are required
//   JSON-6  a name that no resource or dispatchable has
//   DISP-1  a dispatchable that is not one of dmlop's operators
//   CMD-1   a command that cannot be carried out
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/document/operator_document.h"
#include "core/document/random_values.h"
#include "core/document/value_reader.h"
#include "core/graph/graph.h"
#include "core/io/file.h"
#include "core/tensor/data_type.h"

namespace dmlop {

// --- initial values ------------------------------------------------------------------------------

// The initial content of a DxDispatch resource: "initialValues" and "initialValuesDataType".
//
//   RES-1   the initializer is missing, unknown or empty
//   RES-2   the data type is missing, or cannot be used here
//   RES-4   a picture that is to become what no tensor is, or by other means than scaling

struct InitialValues {
  // A list like [1, 2.5], or a mixed one like [{"type": "UINT32", "value": 6}].
  struct List {
    std::vector<std::byte> bytes;
  };
  struct Sequence {
    ValueSequence values;
    uint32_t count;
  };
  // A .npy file, raw bytes, or a picture, which without sizes has its own.
  struct File {
    std::string source_path;
    JsonCursor place;
    bool is_picture = false;
    std::optional<Dims> picture_sizes = std::nullopt;
  };

  DataType type = DataType::kUnknown;  // unknown for a mixed list, or if the .npy file defines it
  std::variant<List, Sequence, File> source;
  bool is_deferred = false;  // zeros, as many as the output of an ONNX model that is bound
};

// Returns whether values of the type can be given: not those of 4 bits, which are given as bytes.
bool HasValues(DataType type);

// Returns false for types that a list of mixed types cannot contain.
bool CanBeMixed(DataType type);

// Reads both fields of a resource, and reports faults.
std::optional<InitialValues> ReadInitialValues(JsonCursor resource, const ValueReader& values);

// Return what DxDispatch takes a file for, by its extension in any case: an array with its type, or
// an image. Others are raw bytes.
bool IsNpy(const std::string& path);

// Returns IsNpy for a file that is read, which may be an array in an archive.
bool IsNpyInput(const std::string& path);
bool IsImage(const std::string& path);

// --- the document --------------------------------------------------------------------------------

// Both ways of compiling give the same numbers, and the flags only permit what dmlop never does.
inline constexpr std::string_view kDmlCompileTypes[] = {"DmlCompileOp", "DmlCompileGraph"};
inline constexpr std::string_view kExecutionFlagPrefix = "DML_EXECUTION_FLAG_";
inline constexpr std::string_view kExecutionFlags[] = {
    "NONE", "ALLOW_HALF_PRECISION_COMPUTATION", "DISABLE_META_COMMANDS", "DESCRIPTORS_VOLATILE"};

// A member that DxDispatch reads, but that has no effect for tensors in buffers, and why.
struct IgnoredKey {
  std::string_view name;
  std::string_view reason;
};
inline constexpr IgnoredKey kIgnoredResourceKeys[] = {{"resampleSize", "it is for images"},
                                                      {"resampleMode", "it is for images"}};
inline constexpr IgnoredKey kIgnoredBindingKeys[] = {
    {"elementCount", "the Sizes of the tensor say how many elements are bound"},
    {"format", "it is for shaders"},
    {"counter", "it is for shaders"},
    {"counterOffsetBytes", "it is for shaders"},
    {"shape", "it is for ONNX models"}};
inline constexpr IgnoredKey kIgnoredDispatchKeys[] = {{"threadGroupCount", "it is for shaders"}};
inline constexpr IgnoredKey kIgnoredGraphKeys[] = {
    {"bindings", "a graph has its constants with it"},
    {"executionFlags", "it changes no values"},
    {"dmlCompileType", "it changes no values"}};

// Commands that print a driver's working memory.
inline constexpr std::string_view kIgnoredCommands[] = {"printInitTemporary", "printExecTemporary"};

struct ModelResource {
  std::string name;
  JsonCursor place;
  InitialValues initial_values;
  std::optional<uint64_t> size_in_bytes;    // as stated in the document
  uint64_t initial_values_offset_in_bytes;  // only counts for the size
};

// The resource of one tensor.
struct ModelBinding {
  size_t resource;
  JsonCursor place;
  uint64_t element_offset = 0;
  uint64_t element_size = 0;  // in bytes; 0 for that of the resource's type
};

// The content of "bindings": the resources of each bind point, named like the operator's field.
struct ModelBindings {
  JsonCursor place;
  std::map<std::string, std::vector<ModelBinding>> by_field;
};

// A file from which a dispatchable is read.
struct ModelFile {
  std::string path;
  InputFile file;
};

// An operator, or a serialized graph of them.
struct ModelDispatchable {
  std::string name;
  JsonCursor place;
  std::variant<std::shared_ptr<const Graph>, OperatorObject> what;
  bool is_valid;
  std::vector<ModelFile> files = {};  // the graph's, then those of its constants
  std::optional<ModelBindings> initialization = std::nullopt;

  // Returns null for a graph.
  const OperatorDesc* op() const;
  // Returns null for an operator.
  const Graph* graph() const;

  // The type of the operator, "dmlSerializedGraph" or "onnx".
  std::string_view type() const;

  // Returns the slots to which it is bound, in this order. The dispatchable must outlive them.
  std::vector<TensorSlot> slots() const;

  // Returns the operator's tensor fields, or the graph's inputs and outputs.
  std::vector<std::string_view> bind_points() const;

  // Returns its operator under its own name, or those of the graph under the names of their nodes.
  struct NamedOperator {
    std::string name;
    const OperatorDesc* op;
  };
  std::vector<NamedOperator> operators() const;
};

// The type of dispatchables that are serialized graphs, in any case.
inline constexpr std::string_view kGraphType = "dmlSerializedGraph";

struct DispatchCommand {
  size_t dispatchable;
  ModelBindings bindings;
};

struct PrintCommand {
  size_t resource;
  bool verbose;
};

struct WriteFileCommand {
  size_t resource;
  std::string target_path;
  std::vector<uint32_t> dimensions;  // empty for one dimension of all initial values
};

struct ModelCommand {
  JsonCursor place;
  std::variant<DispatchCommand, PrintCommand, WriteFileCommand> what;
};

// Sizes of ONNX models that the command line states; they replace those of the document.
struct StatedSizes {
  std::map<std::string, int64_t> free, denotations;    // of free dimensions
  std::map<std::string, std::vector<int64_t>> shapes;  // of inputs
};

class ModelDocument {
 public:
  // Replaces the index of a resource that could not be read.
  static constexpr size_t kUnreadable = static_cast<size_t>(-1);

  // Returns true for a document that is to be read as a model: it has dispatchables, or another
  // part of a model and no operator.
  static bool IsModel(const JsonDocument& json);

  // Opens a file that the model names at `place`; returns nothing if it may not, which it has
  // reported. Throws an Error if it cannot.
  using OpenFile =
      std::function<std::optional<ModelFile>(const std::string& source_path, JsonCursor place)>;

  // Reads a well-formed document as far as possible, and validates its operators at `level`. Faults
  // are reported. `open` opens the files of graphs.
  ModelDocument(JsonDocument json, FeatureLevel level, const OpenFile& open,
                Diagnostics& diagnostics, const StatedSizes& sizes = {});
  ModelDocument(const ModelDocument&) = delete;
  ModelDocument& operator=(const ModelDocument&) = delete;

  const JsonDocument& json() const { return json_; }
  const std::vector<ModelResource>& resources() const { return resources_; }
  const std::vector<ModelDispatchable>& dispatchables() const { return dispatchables_; }
  const std::vector<ModelCommand>& commands() const { return commands_; }

 private:
  friend class ModelReader;

  JsonDocument json_;
  std::vector<ModelResource> resources_;
  std::vector<ModelDispatchable> dispatchables_;
  std::vector<ModelCommand> commands_;
};

}  // namespace dmlop
