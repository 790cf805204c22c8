// SPDX-License-Identifier: MIT

module rival

go 1.19
