#include "app/run_report.h"

#include <fmt/format.h>
#include <nettle/sha2.h>

#include <nlohmann/json.hpp>

#include "core/base/parallel.h"
#include "core/base/progress.h"
#include "core/document/document_json.h"
#include "core/kernels/isa.h"

namespace dmlop {
namespace {

Json FilesJson(const std::vector<ReportedFile>& files) {
  Json array = Json::array();
  for (const ReportedFile& file : files) {
    array.push_back({{"tensor", file.tensor}, {"path", file.path}, {"sha256", file.sha256}});
  }
  return array;
}

// `what` says what was run.
std::string Text(const Json& what, const ReportedFiles& files, const RunTimes& times) {
  Json json = {{"dmlop", DMLOP_VERSION}};
  json.update(what);
  json.update({{"inputs", FilesJson(files.inputs)},
               {"outputs", FilesJson(files.outputs)},
               {"threads", ThreadCount()},
               {"isa", CurrentIsa()},
               {"seconds", {{"load", times.load_seconds}, {"run", times.run_seconds}}}});
  return json.dump(2) + "\n";
}

}  // namespace

std::string Sha256(std::span<const std::byte> bytes) {
  sha256_ctx context;
  sha256_init(&context);
  const Work work("hashing", static_cast<int64_t>(bytes.size()));
  ForEachStep(bytes.size(), [&](size_t begin, size_t size) {
    sha256_update(&context, size, reinterpret_cast<const uint8_t*>(bytes.data()) + begin);
  });
  std::array<uint8_t, SHA256_DIGEST_SIZE> digest;
  sha256_digest(&context, digest.size(), digest.data());
  std::string text;
  for (const uint8_t byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

std::string ReportText(const OperatorDocument& document, const ReportedFiles& files,
                       const RunTimes& times) {
  return Text({{"descriptor", Json::parse(CompleteText(document))}}, files, times);
}

std::string ReportText(const ModelDocument& model, const ReportedFiles& files,
                       const RunTimes& times) {
  Json dispatchables = Json::object();
  for (const ModelDispatchable& dispatchable : model.dispatchables()) {
    dispatchables[dispatchable.name] = OperatorJson(dispatchable.object.op());
  }
  return Text({{"dispatchables", dispatchables}}, files, times);
}

}  // namespace dmlop
