import assert from "node:assert";
import test from "node:test";

import { total } from "./cart.js";

test("total", () => assert.equal(total([1, 2]), 3));
