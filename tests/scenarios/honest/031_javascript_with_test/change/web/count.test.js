import assert from "node:assert";
import test from "node:test";

import { count } from "./cart.js";

test("count", () => assert.equal(count([1, 2]), 2));
