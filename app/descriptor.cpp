#include "app/descriptor.h"

#include <filesystem>

#include "core/base/error.h"
#include "core/io/file.h"

namespace dmlop {

Descriptor ReadDescriptor(const std::string& argument) {
  if (argument.starts_with('{')) return {"<command line>", "", argument};
  std::string text = ReadText(argument, JsonDocument::kMaxBytes);
  if (argument == kStandardStream) return {"<standard input>", "", std::move(text)};
  return {argument, std::filesystem::path(argument).parent_path().string(), std::move(text)};
}

void RequireOneReader(const std::string& argument, const std::vector<std::string>& files) {
  if (argument != kStandardStream) return;
  for (const std::string& file : files) {
    if (file != kStandardStream && file != "/dev/stdin") continue;
    throw Error(ErrorKind::kUsage, "standard input cannot be both the descriptor and a tensor");
  }
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
