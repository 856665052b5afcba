import { expect, test } from "bun:test";
import { takeBallast } from "../../src/cli/serve/ballast.ts";

const megabyte = 1024 * 1024;

test("the ballast weighs with the collector, and takes no memory from the machine", () => {
  // What other tests have left must not be collected between the two looks.
  Bun.gc(true);
  const before = process.memoryUsage();
  takeBallast();
  takeBallast();
  const after = process.memoryUsage();
  expect(after.arrayBuffers - before.arrayBuffers).toBeGreaterThanOrEqual(32 * megabyte);
  expect(after.rss - before.rss).toBeLessThan(16 * megabyte);
});
