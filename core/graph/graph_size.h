// Measures how large a serialized graph becomes once it is read. Its parts may refer to the same
// text or list any number of times, so a small file can exceed memory or patience.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/graph/dml_graph_generated.h"

namespace dmlop {

// Returns the limit of the bytes that a file refers to, counted at every reference. Tools write
// less, since names of edges, types and operators are shared.
uint64_t MostBytesReferredTo(size_t file_size);

// Returns the number of names in the file's lists; empty if these are not within it. It runs before
// the file is verified, as verifying goes through all of them.
std::optional<uint64_t> CountNames(std::span<const std::byte> file);

// Returns the bytes that a verified graph refers to, counted at every reference.
uint64_t BytesReferredTo(const graph_file::File& graph);

}  // namespace dmlop
