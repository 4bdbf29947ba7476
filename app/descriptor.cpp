#include "app/descriptor.h"

#include <filesystem>

#include "core/io/file.h"

namespace dmlop {

Descriptor ReadDescriptor(const std::string& argument) {
  if (argument.starts_with('{')) return {"<command line>", "", argument};
  std::string text = ReadText(argument, JsonDocument::kMaxBytes);
  if (argument == kStandardStream) return {"<standard input>", "", std::move(text)};
  return {argument, std::filesystem::path(argument).parent_path().string(), std::move(text)};
}

Document ReadDocument(const Descriptor& descriptor, FeatureLevel level, Diagnostics& diagnostics) {
  std::optional<JsonDocument> json = JsonDocument::Parse(descriptor.text, diagnostics);
  Document document;
  if (!json) return document;
  if (ModelDocument::IsModel(*json)) {
    document.model = std::make_unique<ModelDocument>(*std::move(json), level, diagnostics);
    return document;
  }
  document.op =
      std::make_unique<OperatorDocument>(*std::move(json), descriptor.folder, diagnostics);
  if (!document.op->has_operator()) document.op.reset();
  return document;
}

}  // namespace dmlop
