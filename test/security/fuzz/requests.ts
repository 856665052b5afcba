import type { Json } from "../../../src/base/json.ts";
import { routes } from "../../../src/gateway/operations.ts";
import type { SeededRandom } from "../../support/random.ts";
import type { TestKey } from "../../support/sluice.ts";
import { damagedBytes, damagedJson } from "./mutate.ts";

const tool = {
  name: "look",
  description: "Looks",
  parameters: { type: "object", properties: { at: { type: "string" } } },
};
const picture = "iVBORw0KGgo=";

/** Requests with much in them, so that there is much to damage. */
const bodies: Readonly<Record<string, Json>> = {
  chat: {
    model: "gpt-test",
    stream: true,
    max_tokens: 50,
    temperature: 0.5,
    stop: ["x"],
    n: 1,
    stream_options: { include_usage: true },
    response_format: { type: "json_schema", json_schema: { name: "x", schema: { type: "object" } } },
    messages: [
      { role: "system", content: "Be brief" },
      {
        role: "user",
        content: [
          { type: "text", text: "Hi" },
          { type: "image_url", image_url: { url: `data:image/png;base64,${picture}` } },
        ],
      },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c1", content: "seen" },
    ],
    tools: [{ type: "function", function: tool }],
    tool_choice: { type: "function", function: { name: "look" } },
  },
  responses: {
    model: "gpt-test",
    stream: true,
    max_output_tokens: 50,
    instructions: "Be brief",
    reasoning: { effort: "low", summary: "auto" },
    text: { format: { type: "json_schema", name: "x", schema: { type: "object" } } },
    input: [
      {
        role: "user",
        content: [
          { type: "input_text", text: "Hi" },
          { type: "input_image", image_url: `data:image/png;base64,${picture}` },
        ],
      },
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "xx" },
      { type: "function_call", call_id: "c1", name: "look", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "seen" },
    ],
    tools: [
      { type: "function", ...tool },
      { type: "custom", name: "patch", description: "x" },
    ],
    tool_choice: "auto",
  },
  messages: {
    model: "claude-test",
    stream: true,
    max_tokens: 50,
    system: [{ type: "text", text: "Be brief", cache_control: { type: "ephemeral" } }],
    thinking: { type: "enabled", budget_tokens: 1024 },
    stop_sequences: ["x"],
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "Hi" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: picture } },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm", signature: "xx" },
          { type: "tool_use", id: "c1", name: "look", input: {} },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "seen" }] },
    ],
    tools: [{ name: "look", description: "Looks", input_schema: tool.parameters }],
    tool_choice: { type: "tool", name: "look" },
    metadata: { user_id: "u" },
  },
};

const otherPlaces: readonly [string, string][] = [
  ["GET", "/"],
  ["GET", "/healthz"],
  ["GET", "/readyz"],
  ["GET", "/openapi.json"],
  ["GET", "/metrics"],
  ["GET", "/admin"],
  ["GET", "/admin/keys"],
  ["GET", "/admin/api/v1/keys?limit=5"],
  ["GET", "/admin/api/v1/requests"],
  ["GET", "/admin/api/v1/usage"],
  ["POST", "/admin/api/v1/keys"],
  ["POST", "/admin/api/v1/session"],
  ["DELETE", "/admin/api/v1/session"],
];

const headerNames = [
  "Idempotency-Key",
  "X-Request-Id",
  "Anthropic-Beta",
  "Anthropic-Version",
  "Compat-Version",
  "X-Forwarded-For",
  "Cookie",
  "Origin",
  "Content-Type",
  "Accept",
  "Accept-Encoding",
  "X-Sluice-Cost",
  "OpenAI-Beta",
  "Range",
  "If-None-Match",
  "X-Odd",
];
const headerValues = [
  "",
  "x",
  "comment",
  "*",
  "\u00e9",
  'a,b;c="d"',
  "%0d%0a",
  "gzip",
  "1".repeat(300),
  "true",
  "{}",
  "slu_x",
];

export interface Strangers {
  readonly keys: readonly TestKey[];
  readonly adminToken: string;
}

/** One request: mostly to a real place with a real key, and almost never quite right. */
export function fuzzedRequest(random: SeededRandom, { keys, adminToken }: Strangers): Uint8Array {
  const route = random.pick(routes);
  const isOther = random.chance(0.1);
  const [method, path] = isOther ? random.pick(otherPlaces) : [route.method, route.path];
  const body = method === "GET" ? null : bodyFor(route.dialect ?? "messages", random);
  const credential = isOther ? `Bearer ${adminToken}` : credentialFor(route.mode, keys, random);
  const lines = [
    `${random.chance(0.03) ? random.pick(["GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]) : method} ${fuzzedPath(path, random)} HTTP/1.1`,
    "Host: localhost",
    ...(credential === null ? [] : [`Authorization: ${credential}`]),
    ...oddHeaders(random),
    ...(body === null ? [] : [`Content-Length: ${body.length}`]),
  ];
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), body ?? Buffer.alloc(0)]);
}

function bodyFor(dialect: string, random: SeededRandom): Uint8Array {
  const model = random.pick(["gpt-test", "claude-test", "local-test"]);
  const base = { ...(bodies[dialect] as object), model, stream: random.chance(0.4) };
  const damaged = damagedJson(base, random, random.pick([0, 0.003, 0.01, 0.05]));
  const bytes = Buffer.from(JSON.stringify(damaged) ?? "");
  return random.chance(0.3) ? damagedBytes(bytes, random) : bytes;
}

function credentialFor(mode: string, keys: readonly TestKey[], random: SeededRandom): string | null {
  if (random.chance(0.02)) return random.pick([null, "Bearer", "Basic x", "Bearer slu_x", "bearer  ", ""]);
  const key = keys.find((each) => each.mode === mode) ?? keys[0];
  return `Bearer ${key?.key}`;
}

function oddHeaders(random: SeededRandom): string[] {
  return Array.from(
    { length: random.below(3) },
    () => `${random.pick(headerNames)}: ${random.pick(headerValues)}`,
  );
}

/** No spaces or line breaks: those would be another request line, which is the runtime's affair. */
function fuzzedPath(path: string, random: SeededRandom): string {
  if (!random.chance(0.08)) return path;
  const at = 1 + random.below(path.length);
  const put = random.pick([
    "/",
    "//",
    "%2f",
    "%00",
    "..",
    "/../",
    "?",
    "#",
    "%",
    ";",
    "\\",
    "é",
    "%ff",
    "*",
    ":",
  ]);
  return path.slice(0, at) + put + path.slice(at + random.below(2));
}
