/* SPDX-License-Identifier: BSD-3-Clause */
#define WIDTH 4
#define OPS bp_transform_vector4
#define HOW "AVX2, 4 at a time"
#include "services/transform/vector_body.h"
