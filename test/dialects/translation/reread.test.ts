import { expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import type { Target } from "../../../src/dialects/contract/provider-dialect.ts";
import { clientDialect, providerDialect } from "../../../src/dialects/registry.ts";
import { translate } from "../../../src/dialects/translation/translate.ts";

/** Where both speak the same dialect, only the form of an answer is ever changed (C76), and nothing in it. */
const target: Target = {
  dialect: providerDialect("responses"),
  upstreamModel: "m",
  provider: "p",
  isStrict: true,
  maxOutputTokens: null,
  maxTokensField: "max_completion_tokens",
  streamUsage: true,
  capabilities: {},
};

function reread(body: JsonObject) {
  const source = {
    dialect: clientDialect("responses"),
    body,
    model: "m",
    nowSeconds: 1,
    estimatedInputTokens: 1,
  } as const;
  return translate(source, target);
}

test("a request that no other dialect could express passes as it is (C76)", () => {
  const body = {
    model: "m",
    input: [{ type: "item_reference", id: "rs_1" }],
    previous_response_id: "resp_0",
  };
  const translation = reread(body);
  expect(translation.body).toBe(body);
  expect(translation.dropped).toEqual([]);
});

test("the names, namespaces and kinds of the provider's calls are the client's own already (C76)", () => {
  const call = {
    type: "function_call",
    id: "fc_1",
    call_id: "c1",
    namespace: "shell",
    name: "exec",
    arguments: "{}",
  };
  const custom = {
    type: "custom_tool_call",
    id: "ctc_1",
    call_id: "c2",
    name: "apply_patch",
    input: '{"input":"x"}',
  };
  const tools = [
    { type: "namespace", name: "shell", description: "", tools: [{ type: "function", name: "exec" }] },
  ];
  const answer = { id: "resp_1", object: "response", status: "completed", output: [call, custom] };
  const { body } = reread({ model: "m", input: "go", tools }).response(answer);
  expect(body["output"]).toMatchObject([
    { type: "function_call", call_id: "c1", namespace: "shell", name: "exec", arguments: "{}" },
    { type: "custom_tool_call", call_id: "c2", name: "apply_patch", input: '{"input":"x"}' },
  ]);
});
