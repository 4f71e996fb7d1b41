/* SPDX-License-Identifier: BSD-3-Clause */
#define WIDTH 2
#define OPS bp_transform_vector2
#define HOW "2 at a time"
#include "services/transform/vector_body.h"
