import { expect, test } from "bun:test";
import { waitFor } from "../support/wait.ts";
import { chat, expectError } from "./requests.ts";
import { useWorld } from "./world.ts";

const world = useWorld({ head: "[server]\nanonymous_rpm = 5" });

test("8 failed credentials and the anonymous catalog are limited by address, and valid keys are not", async () => {
  const anonymous = (headers: Record<string, string> = {}) => world.sluice.request("/v1/models", { headers });
  await waitFor(async () => (await anonymous()).status === 429, "the address to be slowed");
  const { response } = await expectError(await anonymous(), "rate_limit_exceeded", "A");
  expect(Number(response.headers.get("retry-after"))).toBeWithin(1, 61);
  const guess = { authorization: "Bearer slu_guess" };
  await expectError(await anonymous(guess), "rate_limit_exceeded", "A");
  // Another address is only believed from a proxy that is trusted.
  await expectError(await anonymous({ "x-forwarded-for": "9.9.9.9" }), "rate_limit_exceeded", "A");
  for (const key of world.both) {
    expect((await world.sluice.request("/v1/models", { key })).status).toBe(200);
    expect((await world.sluice.request(chat.path, { key, body: chat.body })).status).toBe(200);
  }
});
