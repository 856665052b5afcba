import { afterAll, beforeAll, expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import type { ReportedUsage } from "../../src/base/usage/usage.ts";
import { plainErrors } from "../../src/dialects/registry.ts";
import { admit } from "../../src/gateway/admission/admit.ts";
import { ProducedOutput } from "../../src/gateway/charge/usage-evidence.ts";
import { clientOrigin } from "../../src/gateway/exchange/origin.ts";
import {
  chargedCodes,
  chargedHeaders,
  type ServedOperation,
} from "../../src/gateway/exchange/served-operation.ts";
import { operations } from "../../src/gateway/operations.ts";
import { findModel, rejectForbidden, rejectUnpriced } from "../../src/gateway/request/model.ts";
import { addCostHeaders, commonHeaders } from "../../src/gateway/response/headers.ts";
import { respond } from "../../src/http/respond.ts";
import { charged } from "./charged.ts";
import { type Caller, World } from "./world.ts";

let world: World;
beforeAll(async () => {
  world = await World.start();
});
afterAll(() => world[Symbol.asyncDispose]());

const usage: ReportedUsage = {
  inputTokens: 7,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
};

/** All that a charged operation without a dialect consists of: its facts, and what it does with a bill. */
const measure: ServedOperation = {
  method: "POST",
  path: "/token/v1/measure",
  errors: plainErrors,
  keyHeader: null,
  dialect: null,
  needsKey: true,
  isCharged: true,
  tracedAs: "measure",
  codes: chargedCodes,
  headers: chargedHeaders,
  description: {
    operationId: "measure",
    summary: "Measure a text",
    response: "Measure",
    schemas: { Measure: Type.Object({ tokens: Type.Integer() }) },
  },
  run: async (gateway, exchange) => {
    const { key } = await admit(gateway, exchange);
    const requestBytes = await exchange.call.request.bytes();
    const model = findModel(exchange.configured, key, "gpt-test");
    exchange.model = model;
    rejectForbidden(exchange.configured, key, model);
    rejectUnpriced(key, model);
    const atMost = { input: 20, output: 0 };
    const priced = { key, model, requestedModel: null, extras: null };
    const wanted = { ...priced, atMost, usual: atMost, storedInput: 0, requestBytes };
    return charged(gateway, exchange, { ...wanted, canBeCounted: true }, async (meter) => {
      const evidence = { usage, partialUsage: null, produced: () => new ProducedOutput(), requestBytes };
      await meter.settle("completed", evidence, 200, null);
      const headers = commonHeaders(exchange);
      addCostHeaders(headers, meter, meter.shown);
      return Response.json({ tokens: 7 }, { headers });
    });
  },
};

function call({ secret }: Caller, callerId: string): Promise<Response> {
  const request = new Request(`http://localhost${measure.path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "x-request-id": callerId },
    body: "seven tokens of text",
  });
  const route = { ...measure, mode: "token_budget" as const };
  const connection = { address: "127.0.0.1", origin: clientOrigin, isForwarded: false };
  const nothing = () => undefined;
  return respond(
    world.gateway,
    { request, route, ...connection, keepWaiting: nothing, disconnect: nothing },
    route,
  );
}

test("an operation that generates nothing is held, charged, traced and kept like any other", async () => {
  const caller = await world.tokenCaller(100);
  const response = await call(caller, "my-own-id");
  expect(await response.json()).toEqual({ tokens: 7 });
  expect(response.headers.get("x-sluice-cost")).toBe("7");
  expect(response.headers.get("x-ratelimit-remaining-tokens")).toBe("93");
  expect(await world.chargesOf(caller)).toEqual([{ amount: -7, basis: "measured", outcome: "completed" }]);
  expect(world.observed.at(-1)).toMatchObject({
    mode: "token_budget",
    tracedAs: "measure",
    route: measure.path,
    charged: 7,
  });
  expect(world.gateway.accounts.openHolds).toBe(0);
});

test("an operation that is refused charges nothing, and says so in its own format", async () => {
  const caller = await world.tokenCaller(1);
  const response = await call(caller, "another-id");
  expect(response.status).toBe(402);
  expect(await response.json()).toMatchObject({ error: { code: "insufficient_credit" } });
  expect(await world.chargesOf(caller)).toEqual([]);
});

test("a key that may not be used is forbidden only where the interface lists that", () => {
  const ofInterface = operations.filter(({ switchedBy }) => switchedBy === undefined);
  const forbidding = ofInterface.filter(({ codes }) => codes.includes("key_disabled"));
  expect(forbidding.map(({ path }) => path)).toEqual([
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/messages",
    "/v1/messages/count_tokens",
  ]);
});
