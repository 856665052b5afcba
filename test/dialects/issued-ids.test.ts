import { describe, expect, test } from "bun:test";
import type { Json, JsonObject } from "../../src/base/json.ts";
import { type ProviderDialectName, providerDialect } from "../../src/dialects/registry.ts";

function issuedIds(dialect: ProviderDialectName, answer: JsonObject) {
  return providerDialect(dialect).passthrough?.issuedIds(answer);
}

describe("ids that an answer issues", () => {
  test("are those of the response, its conversation, its items and what its tools made, each of the output only", () => {
    const output = [
      { type: "code_interpreter_call", id: "ci_1", container_id: "cntr_1", outputs: [{ file_id: "file_1" }] },
    ];
    const told = {
      tools: [{ vector_store_ids: ["vs_1"], container: "cntr_2" }],
      metadata: { file_id: "file_2" },
    };
    const response = { id: "resp_1", conversation: { id: "conv_1" }, output, ...told };
    expect(issuedIds("responses", response)).toEqual(["resp_1", "conv_1", "ci_1", "cntr_1", "file_1"]);
    expect(issuedIds("responses", { ...response, store: false })).toEqual(["conv_1", "cntr_1", "file_1"]);
  });

  test("are as few as make sense, however many and however deep a provider sends them", () => {
    const output = Array.from({ length: 5000 }, (_, index) => ({ id: `msg_${index}` }));
    expect(issuedIds("responses", { output })).toHaveLength(1000);
    let deep: Json = { file_id: "file_1" };
    for (let level = 0; level < 200_000; level += 1) deep = [deep];
    expect(issuedIds("responses", { output: [{ id: "msg_1", deep }] })).toEqual(["msg_1"]);
  });
});

describe("extras that an answer reports", () => {
  test("are counted in items and blocks, and what is no count is none", () => {
    const output = [{ type: "mcp_call" }, { type: "mcp_call" }, { type: "message" }, { type: "shell_call" }];
    expect(providerDialect("responses").readExtras({ output })).toEqual({ calls: { mcp: 2, shell: 1 } });
    const content = [
      { type: "server_tool_use", name: "web_search" },
      { type: "server_tool_use", name: "text_editor_code_execution" },
      { type: "mcp_tool_use", name: "anything" },
      { type: "tool_use", name: "web_search" },
    ];
    const nonsense = { web_search_requests: -1, web_fetch_requests: "3", code_execution_requests: 2.5 };
    expect(providerDialect("messages").readExtras({ content, usage: { server_tool_use: nonsense } })).toEqual(
      {
        calls: { web_search: 1, code_execution: 1, mcp: 1 },
      },
    );
    expect(
      providerDialect("messages").readExtras({ usage: { server_tool_use: { web_search_requests: 1e300 } } }),
    ).toEqual({});
  });

  test("name the tier in whatever words the provider has", () => {
    expect(providerDialect("chat").readExtras({ service_tier: "flex" })).toEqual({
      tiers: { service_tier: "flex" },
    });
    expect(providerDialect("messages").readExtras({ usage: { service_tier: "standard" } })).toEqual({
      tiers: { service_tier: "standard" },
    });
    expect(providerDialect("responses").readExtras({ service_tier: null })).toEqual({});
  });
});
