// SPDX-License-Identifier: Apache-2.0
// Cases as files: complete descriptors, and the inputs that they bind.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/files/descriptor.h"
#include "app/options/fuzz_options.h"
#include "core/arithmetic/computation.h"
#include "core/document/document_json.h"

namespace dmlop {

struct NamedCase {
  std::string name;
  Computation computation;
};

// The names of a case's descriptor, of a list of cases, and of the file by which a device says that
// it does not support a case.
inline constexpr const char* kCaseFile = "case.json";
inline constexpr const char* kCaseList = "cases.jsonl";
inline constexpr const char* kUnsupportedFile = "unsupported";

// "InputTensors.1.npy"
std::string FileOfTensor(const TensorSlot& slot);

// The complete descriptor, which binds files of two folders.
Json CaseJson(const NamedCase& one, const std::string& inputs, const std::string& outputs);

// Creates a file. Throws an Error of kind kFileSystem, also if it exists.
void WriteNewFile(const std::string& path, std::span<const std::byte> bytes);
void WriteNewFile(const std::string& path, std::string_view text);

// Writes a tensor as .npy, whatever its layout.
void WriteNewTensor(const std::string& path, const ConstTensorView& view);

// Writes the inputs of a case, each into a file of its own.
void WriteInputs(const std::string& folder, const Computation& computation);

void MakeFolder(const std::string& path);

// Writes a case into a folder that exists: case.json and the inputs.
void WriteCase(const std::string& folder, const NamedCase& one, CaseForm form);

// Writes cases into folders 0, 1, ... of a folder, and cases.jsonl with a line for each. If they
// cannot all be written, none is left.
class CaseListWriter {
 public:
  CaseListWriter(std::string folder, CaseForm form) : folder_(std::move(folder)), form_(form) {}
  CaseListWriter(const CaseListWriter&) = delete;
  CaseListWriter& operator=(const CaseListWriter&) = delete;
  ~CaseListWriter();

  void Add(std::span<const NamedCase> cases);
  void Close();

  size_t count() const { return is_made_.size(); }

 private:
  std::string FolderOf(size_t number) const;

  const std::string folder_;
  const CaseForm form_;
  std::string lines_;
  std::vector<char> is_made_;  // whether the folder of each case is
  bool is_closed_ = false;
};

// Writes all of them at once.
void WriteCases(const std::string& folder, std::span<const NamedCase> cases, CaseForm form);

// A case that was read, with the tolerance of its document.
struct LoadedCase {
  NamedCase one;
  std::optional<CaseTolerance> tolerance;
};

// Reads a valid case with its inputs. Returns nothing, and says why, if it is not valid; throws an
// Error for files that cannot be read, and for a model.
std::optional<LoadedCase> ReadCaseOf(const Descriptor& descriptor, const std::string& confine,
                                     Diagnostics& diagnostics);

}  // namespace dmlop
