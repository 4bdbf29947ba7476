// SPDX-License-Identifier: Apache-2.0
// The findings of a folder, those of earlier runs included.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/fuzz/finding.h"

namespace dmlop {

class FindingList {
 public:
  // Reads what the folder has, if it is there; what is added gets the next numbers. If `goes_on`,
  // the findings are those of the run that goes on, with which failures are compared. Throws an
  // Error for a file that is damaged.
  FindingList(std::string folder, bool goes_on);
  FindingList(const FindingList&) = delete;
  FindingList& operator=(const FindingList&) = delete;
  ~FindingList();

  // Several causes may explain a failure: those come first that findings of the operator have.
  void PreferKnownCauses(const NamedCase& one, std::vector<DiagnosedFile>& diagnoses) const;

  // Counts a failure to the finding that it belongs to. Returns false if it belongs to none.
  bool Count(const FailureKey& key, const NamedCase& one);

  // Adds a finding, and writes it; or counts it to the one that is like it. Throws an Error if it
  // cannot be written, and leaves no part of it.
  void Add(Finding finding);

  // Writes the lists; without any finding there are none.
  void Write() const;

  // The findings of this run.
  std::vector<const Finding*> own() const;
  bool is_empty() const { return own().empty(); }
  // The one that could not be written.
  const std::optional<Finding>& unwritten() const { return unwritten_; }
  const std::string& folder() const { return folder_; }

 private:
  struct Entry;  // a finding and its line

  void Read(bool goes_on);

  const std::string folder_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::optional<Finding> unwritten_;
};

// Reads the case of a file that this program has written, or of a line of it.
NamedCase ReadWrittenCase(const std::string& path, std::optional<int64_t> line = std::nullopt);

// Calls body(). Throws an Error of kind kUsage if a file of this program turns out to be damaged.
void ReadRecord(const std::string& path, const std::function<void()>& body);

}  // namespace dmlop
