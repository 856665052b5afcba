import { describe, expect, test } from "bun:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import type { JsonObject } from "../../src/base/json.ts";
import { buildOpenApi } from "../../src/http/openapi/document.ts";

/** As a client reads it. */
const document = JSON.parse(JSON.stringify(buildOpenApi()));

function resolve(node: JsonObject): JsonObject {
  const reference = node["$ref"];
  if (typeof reference !== "string") return node;
  const path = reference.slice(2).split("/");
  return path.reduce((at, name) => at[name] as JsonObject, document as JsonObject);
}

const operations: [string, string, JsonObject][] = Object.entries<JsonObject>(document.paths).flatMap(
  ([path, item]) =>
    Object.entries(item).map(([method, operation]): [string, string, JsonObject] => [
      method,
      path,
      operation as JsonObject,
    ]),
);

function schemaOf(name: string): JsonObject {
  return document.components.schemas[name];
}

describe("the OpenAPI document", () => {
  test("sorts every operation under a tag that it describes", () => {
    const described = document.tags.map(({ name }: { name: string }) => name);
    const used = operations.flatMap(([, , { tags }]) => tags);
    expect([...new Set(used)].toSorted()).toEqual(described);
  });

  test("is valid OpenAPI 3.1 by the official schema, and all its references lead somewhere", async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate(structuredClone(document));
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
    expect(validator.version).toBe("3.1");
    for (const [, reference] of JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)) {
      expect(resolve({ $ref: reference ?? "" }), reference).toBeDefined();
    }
  });

  test("has the interface's version and both origins", () => {
    expect(document.info.version).toBe("1.0.0");
    expect(document.servers.map((server: JsonObject) => server["url"])).toEqual(["/", "/token"]);
  });

  test("has the endpoints with the statuses that the interface lists for them, and 500", () => {
    const generation = [200, 400, 401, 402, 403, 404, 409, 429, 500, 502, 503];
    const statuses = operations.map(([method, path, { responses }]) => [
      `${method} ${path}`,
      Object.keys(responses as JsonObject).map(Number),
    ]);
    expect(Object.fromEntries(statuses)).toEqual({
      "get /v1/models": [200, 401, 429, 500, 503],
      "get /v1/models/{model}": [200, 400, 401, 404, 429, 500, 503],
      "post /v1/chat/completions": generation,
      "post /v1/responses": generation,
      "post /v1/messages": [...generation, 504],
      "post /v1/messages/count_tokens": [200, 400, 401, 403, 404, 429, 500, 503],
      "get /v1/usage": [200, 401, 429, 500, 503],
    });
  });

  test("says which credentials each endpoint takes", () => {
    const security = operations.map(([, path, operation]) => [
      path,
      (operation["security"] as JsonObject[]).map((scheme) => Object.keys(scheme)[0] ?? "none"),
    ]);
    expect(Object.fromEntries(security)).toEqual({
      "/v1/models": ["none", "bearer", "headerKey"],
      "/v1/models/{model}": ["none", "bearer", "headerKey"],
      "/v1/chat/completions": ["bearer"],
      "/v1/responses": ["bearer"],
      "/v1/messages": ["bearer", "headerKey"],
      "/v1/messages/count_tokens": ["bearer", "headerKey"],
      "/v1/usage": ["bearer"],
    });
    expect(document.components.securitySchemes.bearer).toMatchObject({ type: "http", scheme: "bearer" });
    expect(document.components.securitySchemes.headerKey).toMatchObject({ in: "header", name: "x-api-key" });
  });

  test("puts x-request-id on every response and Retry-After on every 429 and 503", () => {
    for (const [, path, operation] of operations) {
      for (const [status, response] of Object.entries(operation["responses"] as Record<string, JsonObject>)) {
        const headers = Object.keys(response["headers"] as JsonObject);
        expect(headers, `${path} ${status}`).toContain("x-request-id");
        expect(headers.includes("Retry-After"), `${path} ${status}`).toBe(
          status === "429" || status === "503",
        );
      }
    }
  });

  test("says on every generation what it cost and what is left", () => {
    for (const path of ["/v1/chat/completions", "/v1/responses", "/v1/messages"]) {
      const headers = Object.keys(document.paths[path].post.responses["200"].headers);
      expect(headers).toContain("x-sluice-cost");
      expect(headers).toContain("x-service-credit-remaining");
      expect(headers).toContain("x-ratelimit-remaining-tokens");
    }
  });

  test("uses the envelope of each endpoint's format, with the codes of each status", () => {
    const refusals = document.paths["/v1/chat/completions"].post.responses;
    const schema = refusals["403"].content["application/json"].schema;
    expect(schema.allOf[0].$ref).toBe("#/components/schemas/ErrorEnvelopeA");
    expect(schema.allOf[1].properties.error.properties.code.enum).toEqual(["key_expired", "key_disabled"]);
    const messages = document.paths["/v1/messages"].post.responses["504"].content["application/json"].schema;
    expect(messages.allOf[0].$ref).toBe("#/components/schemas/ErrorEnvelopeB");
  });

  test("gives fields, bounds and defaults as they are checked", () => {
    expect(schemaOf("ChatCompletionRequest")).toMatchObject({
      type: "object",
      required: ["model", "messages"],
      additionalProperties: true,
      properties: {
        model: { type: "string", minLength: 1 },
        messages: { type: "array", minItems: 1, items: { $ref: "#/components/schemas/ChatMessage" } },
        stream: { type: "boolean", default: false },
        max_tokens: { type: "integer", minimum: 1 },
        temperature: { type: "number", minimum: 0, maximum: 2 },
        top_p: { type: "number", minimum: 0, maximum: 1 },
        stop: { anyOf: [{ type: "string" }, { type: "array", maxItems: 4, items: { type: "string" } }] },
      },
    });
    expect(schemaOf("ChatMessage")).toMatchObject({
      properties: { role: { enum: ["developer", "system", "user", "assistant", "tool"] } },
    });
    expect(schemaOf("MessageRequest")).toMatchObject({
      properties: { max_tokens: { default: 1024, minimum: 1 } },
    });
    expect(schemaOf("Model")).toMatchObject({
      additionalProperties: true,
      properties: { context_window: { type: ["integer", "null"], minimum: 1 } },
    });
    for (const closed of [
      "ModelList",
      "TokenCountResponse",
      "UsageSummary",
      "UsageKey",
      "CreditUsage",
      "TokenUsage",
    ]) {
      expect(schemaOf(closed)["additionalProperties"], closed).toBe(false);
    }
  });

  test("bounds the headers", () => {
    expect(document.components.parameters["Idempotency-Key"].schema).toMatchObject({
      minLength: 1,
      maxLength: 255,
    });
    const parametersOf = (path: string) =>
      (document.paths[path].post.parameters as JsonObject[]).map((parameter) => resolve(parameter)["name"]);
    expect(parametersOf("/v1/responses")).toEqual(["Idempotency-Key"]);
    expect(parametersOf("/v1/messages")).toContain("compat-version");
    expect(parametersOf("/v1/messages/count_tokens")).not.toContain("Idempotency-Key");
    expect(Object.keys(document.paths["/v1/usage"].get.responses["200"].headers)).toContain(
      "x-service-credit-remaining",
    );
  });
});
