import { expect } from "bun:test";
import type { TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { type ErrorCode, errorKinds } from "../../src/base/errors.ts";
import { clientDialect } from "../../src/dialects/registry.ts";

/** As the interface names the two envelopes. */
export type ErrorFormat = "A" | "B";

export type Body = Record<string, unknown>;

/** One POST endpoint with a small request that succeeds. */
export interface Route {
  readonly path: string;
  readonly format: ErrorFormat;
  readonly body: Body;
  /** The field that bounds the output. */
  readonly limitField: string;
}

const messages = [{ role: "user", content: "Hello" }];

export const chat: Route = {
  path: "/v1/chat/completions",
  format: "A",
  body: { model: "gpt-test", messages },
  limitField: "max_tokens",
};

export const responses: Route = {
  path: "/v1/responses",
  format: "A",
  body: { model: "gpt-test", input: "Hello" },
  limitField: "max_output_tokens",
};

export const messagesRoute: Route = {
  path: "/v1/messages",
  format: "B",
  body: { model: "claude-test", messages, max_tokens: 100 },
  limitField: "max_tokens",
};

export const countTokens: Route = {
  path: "/v1/messages/count_tokens",
  format: "B",
  body: { model: "claude-test", messages },
  limitField: "max_tokens",
};

export const generationRoutes = [chat, responses, messagesRoute];
export const postRoutes = [...generationRoutes, countTokens];

export function expectShape(schema: TSchema, value: unknown): void {
  expect([...Value.Errors(schema, value)].map(({ path, message }) => `${path} ${message}`)).toEqual([]);
}

interface ErrorFacts {
  readonly message: string;
  readonly param: string | null | undefined;
  readonly response: Response;
}

/** The whole of what an error must be, in either format: status, code, type, envelope and headers. */
export async function expectError(
  response: Response,
  code: ErrorCode,
  format: ErrorFormat,
): Promise<ErrorFacts> {
  const text = await response.text();
  expect(text, "an error has a JSON body").toStartWith("{");
  const body = JSON.parse(text);
  const { status, type, shouldRetry } = errorKinds[code];
  expect({ status: response.status, code: body.error?.code, message: body.error?.message }).toMatchObject({
    status,
    code,
  });
  expect(response.headers.get("content-type")).toStartWith("application/json");
  const requestId = response.headers.get("x-request-id");
  expect(requestId).toMatch(/^req_/);
  expect(body.error.request_id).toBe(requestId);
  if (format === "A") {
    expectShape(clientDialect("chat").errorFormat.schema, body);
    expect(body.error.type).toBe(type);
  } else {
    expectShape(clientDialect("messages").errorFormat.schema, body);
    expect(body.request_id).toBe(requestId);
    expect(response.headers.get("request-id")).toBe(requestId);
  }
  const retryAfter = response.headers.get("retry-after");
  if (status === 429 || status === 503) expect(retryAfter).toMatch(/^\d+$/);
  expect(response.headers.get("x-should-retry")).toBe(shouldRetry === false ? "false" : null);
  return { message: body.error.message, param: body.error.param, response };
}
