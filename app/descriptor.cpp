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

std::unique_ptr<OperatorDocument> ReadOperator(const Descriptor& descriptor,
                                               Diagnostics& diagnostics) {
  std::optional<JsonDocument> json = JsonDocument::Parse(descriptor.text, diagnostics);
  if (!json) return nullptr;
  auto document =
      std::make_unique<OperatorDocument>(*std::move(json), descriptor.folder, diagnostics);
  return document->has_operator() ? std::move(document) : nullptr;
}

}  // namespace dmlop
