import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../../src/base/json.ts";
import { type Quirk, quirkNames, quirks } from "../../../src/dialects/contract/quirks.ts";
import { clientDialect } from "../../../src/dialects/registry.ts";
import { translate } from "../../../src/dialects/translation/translate.ts";
import { knownServers, quirksOf } from "../../../src/vendors/compatible/known-servers.ts";
import { projectRoot } from "../../architecture/imports.ts";
import { load, problemsOf } from "../../config/fixtures.ts";
import { chatTarget } from "./reading.ts";

const tool = {
  name: "look",
  description: "Looks",
  input_schema: { type: "object", properties: {} },
  strict: true,
};
const use = { type: "tool_use", id: "toolu_01A09q90qw90lq917835lq9", name: "look", input: {} };
const result = { type: "tool_result", tool_use_id: use.id, content: "seen" };
const conversation = [
  { role: "user", content: "Look" },
  { role: "assistant", content: [use] },
  { role: "user", content: [result] },
];

/** A Messages request as a server with these quirks gets it. */
function written(body: JsonObject, ...having: readonly Quirk[]): JsonObject {
  const source = {
    dialect: clientDialect("messages"),
    body: { model: "m", max_tokens: 100, messages: conversation, ...body },
    model: "m",
    nowSeconds: 0,
    estimatedInputTokens: 1,
  };
  return translate(source, chatTarget(having)).body;
}

describe("requests", () => {
  test("Mistral is forced to call by any, and gets ids of nine characters that still match (Q04)", () => {
    const plain = written({ tools: [tool], tool_choice: { type: "any" } });
    expect(plain["tool_choice"]).toBe("required");
    const body = written({ tools: [tool], tool_choice: { type: "any" } }, "choice_any", "ids9");
    expect(body["tool_choice"]).toBe("any");
    const [, called, answered] = body["messages"] as [JsonObject, JsonObject, JsonObject];
    const id = (called["tool_calls"] as JsonObject[])[0]?.["id"];
    expect(id).toMatch(/^[A-Za-z0-9]{9}$/);
    expect(answered["tool_call_id"]).toBe(id as string);
  });

  test("Mistral continues a prefix only if it is marked, and knows no user (Q04)", () => {
    const messages = [
      { role: "user", content: "Say hi" },
      { role: "assistant", content: "H" },
    ];
    const body = written({ messages, metadata: { user_id: "u" } }, "prefix", "no_user");
    expect((body["messages"] as JsonObject[]).at(-1)).toEqual({
      role: "assistant",
      content: "H",
      prefix: true,
    });
    expect(body).not.toHaveProperty("user");
    expect(written({ messages, metadata: { user_id: "u" } })).toHaveProperty("user", "u");
    const turns = written({ messages: conversation }, "prefix")["messages"] as JsonObject[];
    expect(turns.some((message) => "prefix" in message)).toBe(false);
  });

  test("xAI and Fireworks get no strict (Q01, Q08)", () => {
    const strictIn = (body: JsonObject) => JSON.stringify(body).includes('"strict"');
    expect(strictIn(written({ tools: [tool] }))).toBe(true);
    expect(strictIn(written({ tools: [tool] }, "no_strict"))).toBe(false);
  });

  test("DeepSeek's thinking is switched, and its reasoning comes back with calls even if it was lost (Q03)", () => {
    const body = written(
      { thinking: { type: "enabled", budget_tokens: 50 } },
      "thinking_switch",
      "reasoning_back",
    );
    expect(body["thinking"]).toEqual({ type: "enabled" });
    expect(body).not.toHaveProperty("reasoning_effort");
    expect((body["messages"] as JsonObject[])[1]).toHaveProperty("reasoning_content", "");
    expect(written({ thinking: { type: "disabled" } }, "thinking_switch")["thinking"]).toEqual({
      type: "disabled",
    });
    expect((written({})["messages"] as JsonObject[])[1]).not.toHaveProperty("reasoning_content");
  });

  test("R1 gets no reasoning back, and later models do (Q03)", async () => {
    const { wrapSignature } = await import("../../../src/dialects/reasoning/reasoning-envelope.ts");
    const thinking = { type: "thinking", thinking: "Hm.", signature: wrapSignature({ maker: "chat" }, [3]) };
    const messages = [conversation[0], { role: "assistant", content: [thinking, use] }, conversation[2]];
    const body = { model: "m", max_tokens: 100, messages } as JsonObject;
    const dialect = clientDialect("messages");
    const source = { dialect, body, model: "m", nowSeconds: 0, estimatedInputTokens: 1 };
    const reasoning = (upstreamModel: string) =>
      (translate(source, chatTarget([], { upstreamModel })).body["messages"] as JsonObject[])[1]?.[
        "reasoning_content"
      ];
    expect(reasoning("deepseek-ai/DeepSeek-R1")).toBeUndefined();
    expect(reasoning("deepseek-v4-pro")).toBe("Hm.");
  });

  test("OpenRouter gets its details back as they were (Q06)", async () => {
    const { wrapSignature } = await import("../../../src/dialects/reasoning/reasoning-envelope.ts");
    const details = [{ type: "reasoning.encrypted", data: "c2VhbA==", id: "r1" }];
    const thinking = {
      type: "thinking",
      thinking: "Hm.",
      signature: wrapSignature({ maker: "chat", details }, [3]),
    };
    const messages = [conversation[0], { role: "assistant", content: [thinking, use] }, conversation[2]];
    const asked = { messages, thinking: { type: "enabled", budget_tokens: 50 } } as JsonObject;
    const [, assistant] = written(asked, "reasoning_details")["messages"] as JsonObject[];
    expect(assistant).toMatchObject({ reasoning_details: details });
    expect(assistant).not.toHaveProperty("reasoning_content");
    const [, elsewhere] = written(asked)["messages"] as JsonObject[];
    expect(elsewhere).toMatchObject({ reasoning_content: "Hm." });
    expect(elsewhere).not.toHaveProperty("reasoning_details");
  });

  test("Perplexity gets one message per turn (Q15)", () => {
    const messages = [
      { role: "user", content: "One" },
      { role: "user", content: "Two" },
    ];
    const roles = (body: JsonObject) => (body["messages"] as JsonObject[]).map(({ role }) => role);
    expect(roles(written({ messages }, "alternate"))).toEqual(["user"]);
  });
});

describe("the table of known servers", () => {
  test("finds them by the host of the address, and by nothing else (T16)", () => {
    expect(quirksOf("https://api.x.ai/v1")).toEqual(["no_strict"]);
    expect(quirksOf("https://api.mistral.ai/v1")).toContain("ids9");
    expect(quirksOf("https://mistral.ai.example/v1")).toEqual([]);
    expect(quirksOf("https://notx.ai/v1")).toEqual([]);
    expect(quirksOf("http://127.0.0.1:1/api.x.ai")).toEqual([]);
    expect(quirksOf(undefined)).toEqual([]);
  });

  const compatible = (address: string, more = "") => `
    [providers.it]\nkind = "openai-compatible"\nbase_url = "${address}"\n${more}
    [[models]]\nid = "m"\nprovider = "it"\nfree = true`;

  test("gives the defaults, which an operator's own word replaces (Q04)", () => {
    const settings = (address: string, more?: string) =>
      load(compatible(address, more)).settings.providers.get("it");
    expect(settings("https://api.mistral.ai/v1")).toMatchObject({ streamUsage: false });
    const told = settings("https://api.mistral.ai/v1", 'quirks = ["ids9"]');
    expect(told).toMatchObject({ quirks: ["ids9"], streamUsage: true });
    expect(settings("http://mistral.internal/v1", 'quirks = ["no_stream_options"]')).toMatchObject({
      streamUsage: false,
    });
    expect(problemsOf(compatible("http://a/v1", 'quirks = ["ids8"]'))[0]).toStartWith(
      "providers.it.quirks[0]: must be one of",
    );
  });

  test("is in docs/providers/openai-compatible.md, with what each quirk means", () => {
    const page = readFileSync(join(projectRoot, "docs/providers/openai-compatible.md"), "utf8");
    for (const name of quirkNames) expect(page).toContain(`| \`${name}\` | ${quirks[name]} |`);
    for (const { name, quirks: known } of knownServers) {
      expect(page).toContain(`| ${name} | ${known.map((quirk) => `\`${quirk}\``).join(", ")} |`);
    }
  });
});
