// SPDX-License-Identifier: Apache-2.0
// The parts from which the schemas of both kinds of document are built.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/document/document_json.h"
#include "core/document/value_reader.h"
#include "core/ops/operator.h"
#include "core/tensor/data_type.h"
#include "core/tensor/tensor_desc.h"

namespace dmlop {

// Returns the JSON of a text in which "$0" to "$9" stand for the parts, as names for those that are
// texts. It compiles to a tenth of what a list of lists does.
Json Filled(std::string_view text, std::initializer_list<Json> parts);

Json Ref(std::string_view definition);
Json ArrayOf(const Json& items);
Json ItemOrArray(const Json& item);
Json Text();
Json NotNull();
Json Integer(uint64_t minimum, uint64_t maximum);

// Matches any of the names, with or without the prefix.
Json Names(std::string_view prefix, std::span<const std::string_view> names);
Json OneName(std::string_view prefix, std::string_view name);

// Returns (part of) a regular expression for the text in any case.
std::string AnyCase(std::string_view text);

// Returns a regular expression for names of files with one of the extensions, such as ".npy".
std::string HasExtension(std::span<const std::string_view> extensions,
                         std::string_view behind = "");

// Matches an object that has such a member.
Json Has(std::string_view name, const Json& schema);
Json IfThen(const Json& condition, const Json& consequence);

// Returns the types that elements can have: those of at least a byte.
std::vector<DataType> ElementTypes();
std::vector<std::string_view> NamesOf(std::span<const DataType> types);

// Returns the name of the definition for one element of that type.
std::string ValueDefinition(DataType type);

// "uint32", "uint64", "number", "data-type", "file-name", and the elements of each type.
void DefineValues(Json& definitions);

// The differences of the two kinds of document: a descriptor allows no unknown members, and null
// means left out; in a model unknown members are ignored, and nothing is null.
class SchemaDialect {
 public:
  explicit SchemaDialect(Dialect dialect) : dialect_(dialect) {}

  bool is_model() const { return dialect_ == Dialect::kModel; }

  Json Object(const Json& properties, const Json& required) const;
  Json Optional(const Json& schema) const;

  // Matches an object that has the member, and not as null.
  Json Present(std::string_view name) const { return Has(name, NotNull()); }

  // Returns the schema of one element. A number too large for its floats is refused in a
  // descriptor, and is infinite in a model.
  Json Value(DataType type) const;

  // Returns the schema of a member that is left out, or ignored because its other name counts.
  Json NotCounting() const;

  // Returns the name of a definition that exists once for each kind.
  std::string Definition(std::string_view name) const;

 private:
  Dialect dialect_;
};

// --- tensor descs --------------------------------------------------------------------------------

// Defines "input-tensor" and "output-tensor", or those of models.
void DefineTensors(const SchemaDialect& dialect, Json& definitions);
std::string TensorDefinition(const SchemaDialect& dialect, TensorRole role);

// Conditions on a tensor: it states type and sizes, its sizes, its type, or the given type.
Json CompleteTensor();

Json SizedTensor();
Json TypedTensor();
Json TensorOfType(DataType type);

// --- values that a descriptor binds to its tensors -----------------------------------------------

// Defines "input-binding", "output-binding" and what rules need. DefineValues must come first.
void DefineBindings(Json& definitions);

Json BindingsSchema(const SchemaDialect& dialect, const std::vector<const Field*>& fields);

Json ExpectedSchema(const SchemaDialect& dialect, const std::vector<const Field*>& fields);

// Returns the rules between the tensors of a descriptor and the values that it binds or expects.
Json BindingRules(const std::vector<const Field*>& fields);

// --- operators, with their fields and all other members of their objects -------------------------

// Defines "operator" or "model-operator", and its parts. DefineBindings must come first.
void DefineOperators(const SchemaDialect& dialect, Json& definitions);

// --- DxDispatch models ---------------------------------------------------------------------------

// Defines "model" and its parts. DefineValues and the operators of models must come first.
void DefineModel(Json& definitions);

// The JSON Schema (draft 2020-12) of operator descriptors and DxDispatch models, generated from the
// lists of fields and names that their readers use.
std::string SchemaText();

}  // namespace dmlop
