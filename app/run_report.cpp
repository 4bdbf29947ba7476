#include "app/run_report.h"

#include <fmt/format.h>
#include <nettle/sha2.h>

#include <nlohmann/json.hpp>

#include "core/base/parallel.h"
#include "core/kernels/isa.h"

namespace dmlop {
namespace {

using Json = nlohmann::ordered_json;

Json FilesJson(const std::vector<ReportedFile>& files) {
  Json array = Json::array();
  for (const ReportedFile& file : files) {
    array.push_back({{"tensor", file.tensor}, {"path", file.path}, {"sha256", file.sha256}});
  }
  return array;
}

}  // namespace

std::string Sha256(std::span<const std::byte> bytes) {
  sha256_ctx context;
  sha256_init(&context);
  sha256_update(&context, bytes.size(), reinterpret_cast<const uint8_t*>(bytes.data()));
  std::array<uint8_t, SHA256_DIGEST_SIZE> digest;
  sha256_digest(&context, digest.size(), digest.data());
  std::string text;
  for (const uint8_t byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

std::string ReportText(const OperatorDocument& document, const std::vector<ReportedFile>& inputs,
                       const std::vector<ReportedFile>& outputs, const RunTimes& times) {
  const Json json = {{"dmlop", DMLOP_VERSION},
                     {"descriptor", Json::parse(CompleteText(document))},
                     {"inputs", FilesJson(inputs)},
                     {"outputs", FilesJson(outputs)},
                     {"threads", ThreadCount()},
                     {"isa", CurrentIsa()},
                     {"seconds", {{"load", times.load_seconds}, {"run", times.run_seconds}}}};
  return json.dump(2) + "\n";
}

}  // namespace dmlop
