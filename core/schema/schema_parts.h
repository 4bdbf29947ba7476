// What the schemas of both kinds of document are built of.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/document/document_json.h"
#include "core/document/value_reader.h"
#include "core/tensor/data_type.h"

namespace dmlop {

Json Ref(std::string_view definition);
Json ArrayOf(const Json& items);
Json ItemOrArray(const Json& item);
Json Text();
Json NotNull();
Json Integer(uint64_t minimum, uint64_t maximum);

// Any of the names, as it is or with its prefix.
Json Names(std::string_view prefix, std::span<const std::string_view> names);
Json OneName(std::string_view prefix, std::string_view name);

// The text in any mixture of upper and lower case, as (part of) a regular expression.
std::string AnyCase(std::string_view text);

// A regular expression for names of files with one of the extensions, such as ".npy".
std::string HasExtension(std::span<const std::string_view> extensions,
                         std::string_view behind = "");

// An object that has such a member.
Json Has(std::string_view name, const Json& schema);
Json IfThen(const Json& condition, const Json& consequence);

// The types that elements can have: those of at least a byte.
std::vector<DataType> ElementTypes();
std::vector<std::string_view> NamesOf(std::span<const DataType> types);

// The name of the definition for one element of that type.
std::string ValueDefinition(DataType type);

// "uint32", "uint64", "number", "data-type", "file-name", and the elements of each type.
void DefineValues(Json& definitions);

// What the two kinds of document do differently: a descriptor knows no other members, and null
// means left out; in a model other members are passed over, and nothing is null.
class SchemaDialect {
 public:
  explicit SchemaDialect(Dialect dialect) : dialect_(dialect) {}

  bool is_model() const { return dialect_ == Dialect::kModel; }

  Json Object(const Json& properties, const Json& required) const;
  Json Optional(const Json& schema) const;

  // An object that has the member, not left out.
  Json Present(std::string_view name) const { return Has(name, NotNull()); }

  // A member that does not count because its other name does, or that is left out.
  Json NotCounting() const;

  // The name of a definition that exists once for each kind.
  std::string Definition(std::string_view name) const;

 private:
  Dialect dialect_;
};

}  // namespace dmlop
