// How much a serialized graph is once it is read. Its parts may refer to the same text or list any
// number of times, so a small file can be more than memory or patience hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/graph/dml_graph_generated.h"

namespace dmlop {

// The most bytes that a file may refer to, each time that it does: more than what tools write,
// which share the names of edges, types and operators.
uint64_t MostBytesReferredTo(size_t file_size);

// The names in the file's lists; empty where these are not within it. The file is not verified yet:
// that goes through all of them.
std::optional<uint64_t> CountNames(std::span<const std::byte> file);

// Bytes that a verified graph refers to, each time that it does.
uint64_t BytesReferredTo(const graph_file::File& graph);

}  // namespace dmlop
