// SPDX-License-Identifier: Apache-2.0
// Builds descriptors for tests by the names of their fields.
#pragma once

#include "core/fuzz/field_value.h"
