#include "app/run_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nettle/sha2.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/parallel.h"
#include "core/base/progress.h"
#include "core/kernels/simd/isa.h"

namespace dmlop {
namespace {

Json FileJson(const ReportedFile& file) {
  Json json = {{"tensor", file.tensor}};
  SetPath("path", file.path, json);
  json["sha256"] = file.sha256;
  return json;
}

Json ComparisonsJson(const std::vector<ReportedComparison>& comparisons) {
  Json array = Json::array();
  for (const ReportedComparison& comparison : comparisons) {
    Json json = FileJson(comparison.file);
    json["equal"] = comparison.difference_count == 0;
    json["differenceCount"] = comparison.difference_count;
    array.push_back(std::move(json));
  }
  return array;
}

Json ToleranceJson(const Tolerance& tolerance) {
  if (tolerance.bits) return {{"bits", true}};
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json("inf"); };
  return {{"atol", number(tolerance.absolute)},
          {"rtol", number(tolerance.relative)},
          {"ulp", tolerance.ulp}};
}

// Null for a tensor that is bound to nothing.
Json BindingJson(const OperatorCase& operator_case, const TensorSlot& slot) {
  const auto& bindings = operator_case.document().bindings();
  const auto binding = bindings.find(slot.path);
  if (binding == bindings.end()) return nullptr;
  if (binding->second.values) return AsWritten(*binding->second.values);
  return operator_case.PathOf(slot);
}

Json BindingsJson(const OperatorCase& operator_case) {
  Json json = Json::object();
  for (const TensorRole role : {TensorRole::kInput, TensorRole::kOutput}) {
    for (const TensorSlot& slot : operator_case.Slots(role)) {
      const std::string field = slot.path.substr(0, slot.path.find('/'));
      Json binding = BindingJson(operator_case, slot);
      if (field == slot.path) {
        json[field] = std::move(binding);
      } else {
        json[field].push_back(std::move(binding));
      }
    }
  }
  return json;
}

// `what` says what was run.
std::string Text(const Json& what, const ReportedFiles& files, const RunTimes& times) {
  Json json = {{"dmlop", DMLOP_VERSION}};
  json.update(what);
  json.update({{"inputs", FilesJson(files.inputs)}, {"outputs", FilesJson(files.outputs)}});
  if (!files.expected.empty()) {
    json.update({{"expected", ComparisonsJson(files.expected)},
                 {"tolerance", ToleranceJson(files.tolerance)}});
  }
  json.update({{"threads", ThreadCount()}, {"isa", CurrentIsa()}, {"seconds", SecondsJson(times)}});
  return Utf8Text(json, 2) + "\n";
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
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

std::vector<ReportedFile> InputFilesOf(const OperatorCase& files) {
  std::vector<ReportedFile> reported;
  const std::vector<TensorSlot> slots = files.Slots(TensorRole::kInput);
  for (size_t i = 0; i < slots.size(); ++i) {
    const std::span<const std::byte> bytes = files.inputs()[i].file_bytes;
    if (bytes.empty()) continue;  // values of the document
    reported.push_back({DisplayName(slots[i].path), files.PathOf(slots[i]), Sha256(bytes)});
  }
  return reported;
}

Json FilesJson(const std::vector<ReportedFile>& files) {
  Json array = Json::array();
  for (const ReportedFile& file : files) array.push_back(FileJson(file));
  return array;
}

Json SecondsJson(const RunTimes& times) {
  return {{"load", times.load_seconds}, {"run", times.run_seconds}};
}

std::string ReportText(const OperatorCase& operator_case, const ReportedFiles& files,
                       const RunTimes& times) {
  Json descriptor = OperatorJson(operator_case.document().op());
  descriptor["bindings"] = BindingsJson(operator_case);
  return Text({{"descriptor", descriptor}}, files, times);
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
