// SPDX-License-Identifier: MIT
// Nothing but what its target has precompiled.
