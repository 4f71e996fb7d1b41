/* SPDX-License-Identifier: BSD-3-Clause */
#define WIDTH 8
#define OPS bp_transform_vector8
#define HOW "AVX-512, 8 at a time"
#include "services/transform/vector_body.h"
