import { expect, test } from "bun:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { mapSwitches, type RouteSwitch } from "../../src/base/requests/route-switches.ts";
import type { Settings } from "../../src/config/settings.ts";
import type { Route } from "../../src/gateway/exchange/client-call.ts";
import { operations } from "../../src/gateway/operations.ts";
import { isOn } from "../../src/http/edge.ts";
import { buildOpenApi, buildOpenApiExtensions } from "../../src/http/openapi/document.ts";
import { isAt } from "../../src/http/plain.ts";
import { load } from "../config/fixtures.ts";
import { World } from "../gateway/world.ts";

/** What each switch turns off, besides the WebSocket, which then gets a 426. */
const paths: Readonly<Record<RouteSwitch, readonly string[]>> = {
  stored_responses: [
    "GET /v1/responses/resp_1",
    "DELETE /v1/responses/resp_1",
    "GET /v1/responses/resp_1/input_items",
    "POST /v1/responses/resp_1/cancel",
  ],
  background: [],
  gemini: ["POST /v1beta/models/m:generateContent", "POST /v1alpha/m:countTokens"],
  conversations: [
    "POST /v1/conversations",
    "GET /v1/conversations/conv_1",
    "POST /v1/conversations/conv_1",
    "DELETE /v1/conversations/conv_1",
    "POST /v1/conversations/conv_1/items",
    "GET /v1/conversations/conv_1/items",
    "GET /v1/conversations/conv_1/items/msg_1",
    "DELETE /v1/conversations/conv_1/items/msg_1",
  ],
  batches: [
    "POST /v1/files",
    "GET /v1/files",
    "GET /v1/files/file-1",
    "DELETE /v1/files/file-1",
    "GET /v1/files/file-1/content",
    "POST /v1/batches",
    "GET /v1/batches",
    "GET /v1/batches/batch_1",
    "POST /v1/batches/batch_1/cancel",
    "POST /v1/messages/batches",
    "GET /v1/messages/batches",
    "GET /v1/messages/batches/msgbatch_1",
    "DELETE /v1/messages/batches/msgbatch_1",
    "POST /v1/messages/batches/msgbatch_1/cancel",
    "GET /v1/messages/batches/msgbatch_1/results",
  ],
  compact: ["POST /v1/responses/compact"],
  websocket: [],
  input_tokens: ["POST /v1/responses/input_tokens"],
  embeddings: ["POST /v1/embeddings"],
  rerank: ["POST /v1/rerank", "POST /rerank", "POST /v2/rerank"],
  completions: ["POST /v1/completions", "POST /v1/fim/completions"],
  moderations: ["POST /v1/moderations"],
  images: ["POST /v1/images/generations", "POST /v1/images/edits"],
  audio: ["POST /v1/audio/speech", "POST /v1/audio/transcriptions", "POST /v1/audio/translations"],
};

test("each switch turns off its own paths, on both origins, and no others", async () => {
  await using world = await World.start({ head: "[server]\nanonymous_rpm = 100000" });
  /** Without a key, what is there answers 401. */
  const statusOf = async (method: string, path: string) =>
    (await fetch(world.running.url + path, { method })).status;
  for (const [name, own] of Object.entries(paths)) {
    const others = name === "conversations" ? "" : "conversations = true\n";
    await world.reload((config) => `[routes]\n${others}${name} = false\n${config}`);
    for (const route of Object.values(paths).flat()) {
      const [method = "", path = ""] = route.split(" ");
      const statuses = [await statusOf(method, path), await statusOf(method, `/token${path}`)];
      expect(statuses, `${route} without ${name}`).toEqual(own.includes(route) ? [404, 404] : [401, 401]);
    }
  }
});

const at = (path: string) => ({ path }) as Route;

test("all routes beyond the interface are on but conversations, and each can be turned off", () => {
  const byDefault = load("").settings.routes;
  expect(byDefault).toEqual({ ...mapSwitches(() => true), conversations: false });
  for (const name of Object.keys(byDefault) as RouteSwitch[]) {
    const { settings } = load(`[routes]\n${name} = ${!byDefault[name]}`);
    expect(settings.routes).toEqual({ ...byDefault, [name]: !byDefault[name] });
    expect(isOn({ switchedBy: name } as Route, settings)).toBe(!byDefault[name]);
  }
});

test("a route of the interface cannot be turned off", () => {
  expect(isOn(at("/v1/models"), {} as Settings)).toBe(true);
  expect(() => load("[routes]\nmodels = false")).toThrow("routes.models");
});

test.each([
  ["/v1/responses/:id", "/v1/responses/resp_1", true],
  ["/v1/responses/:id", "/v1/responses/resp_1/", true],
  ["/v1/responses/:id", "/v1/responses/", false],
  ["/v1/responses/:id", "/v1/responses", false],
  ["/v1/responses/:id", "/v1/responses/resp_1/input_items", false],
  ["/v1/responses/:id/input_items", "/v1/responses/resp_1/input_items", true],
  ["/v1/responses/:id/input_items", "/v1/responses/resp_1/cancel", false],
])("the route %s and the path %s", (pattern, path, expected) => {
  expect(isAt(at(pattern), path)).toBe(expected);
});

const all = mapSwitches(() => true);

test("forms, sound and streams are described as such", () => {
  const { paths } = JSON.parse(JSON.stringify(buildOpenApiExtensions(all)));
  const typesOf = (path: string, { requestBody, responses } = paths[path].post) => [
    Object.keys(requestBody.content),
    Object.keys(responses["200"].content),
  ];
  const [json, form, events] = ["application/json", "multipart/form-data", "text/event-stream"];
  expect(typesOf("/v1/embeddings")).toEqual([[json], [json]]);
  expect(typesOf("/v1/audio/transcriptions")).toEqual([
    [form, json],
    [json, events],
  ]);
  expect(typesOf("/v1/images/edits")).toEqual([
    [form, json],
    [json, events],
  ]);
  expect(typesOf("/v1/audio/speech")).toEqual([[json], ["audio/*", events]]);
  expect(typesOf("/v1/fim/completions")).toEqual([[json], [json, events]]);
});

test("the extensions are described apart from the interface, in valid OpenAPI", async () => {
  const beyond = JSON.parse(JSON.stringify(buildOpenApiExtensions(all)));
  const { valid, errors } = await new Validator().validate(structuredClone(beyond));
  expect(errors).toBeUndefined();
  expect(valid).toBe(true);
  const described = [buildOpenApi(), beyond].map(({ paths }) => Object.keys(paths as object));
  const pathOf = (path: string) => path.replace("*", "{model}").replaceAll(/:(\w+)/g, "{$1}");
  const switched = Map.groupBy(operations, ({ switchedBy }) => switchedBy !== undefined);
  expect(described).toEqual(
    [false, true].map((key) => [...new Set((switched.get(key) ?? []).map(({ path }) => pathOf(path)))]),
  );
  const socket = Object.keys(beyond.paths["/v1/responses"].get.responses);
  expect(socket.filter((status) => Number(status) < 400)).toEqual(["101"]);
  for (const [, name] of JSON.stringify(beyond).matchAll(/"#\/components\/(\w+\/[^"]+)"/g)) {
    const [kind = "", item = ""] = (name ?? "").split("/");
    expect(beyond.components[kind][item], name).toBeDefined();
  }
});

test("a page of a browser can read every header that is described", async () => {
  const origin = "https://page.test";
  await using world = await World.start({ head: `[server]\ncors_origins = ["${origin}"]` });
  const response = await fetch(`${world.running.url}/v1/models`, { headers: { origin } });
  const exposed = response.headers.get("access-control-expose-headers")?.split(", ") ?? [];
  for (const document of [buildOpenApi(), buildOpenApiExtensions(all)]) {
    const { headers } = JSON.parse(JSON.stringify(document)).components;
    for (const name of Object.keys(headers))
      expect([...exposed, "cache-control"]).toContain(name.toLowerCase());
  }
});

test.each([
  "/v1beta/models/m:generateContent",
  "/token/v1beta1/publishers/p/models/m:countTokens",
  "/rerank",
])("a page of a browser can call %s", async (path) => {
  const origin = "https://page.test";
  await using world = await World.start({ head: `[server]\ncors_origins = ["${origin}"]` });
  const asked = {
    "access-control-request-method": "POST",
    "access-control-request-headers": "x-goog-api-key",
  };
  const preflight = await fetch(world.running.url + path, {
    method: "OPTIONS",
    headers: { origin, ...asked },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get("access-control-allow-methods")).toContain("POST");
  expect(preflight.headers.get("access-control-allow-headers")).toBe("x-goog-api-key");
  const refused = await fetch(world.running.url + path, { method: "POST", headers: { origin } });
  expect(refused.headers.get("access-control-allow-origin")).toBe(origin);
});

test("only the extensions that are on are described, before and after a reload", async () => {
  await using world = await World.start();
  const described = async () => {
    const response = await fetch(`${world.running.url}/openapi-extensions.json`);
    const { paths, components } = (await response.json()) as Record<"paths" | "components", object>;
    return [Object.keys(paths), JSON.stringify(components)] as const;
  };
  const [byDefault, schemas] = await described();
  expect(byDefault).toContain("/v1/embeddings");
  expect(byDefault).not.toContain("/v1/conversations");
  expect(schemas).toContain("EmbeddingRequest");
  await world.reload((config) => `[routes]\nconversations = true\nembeddings = false\n${config}`);
  const [switched, rest] = await described();
  expect(switched).toContain("/v1/conversations");
  expect(switched).not.toContain("/v1/embeddings");
  expect(rest).not.toContain("EmbeddingRequest");
});
