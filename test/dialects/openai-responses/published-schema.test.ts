import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../src/base/errors.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import type { Source } from "../../../src/dialects/contract/client-dialect.ts";
import { openAiResponses } from "../../../src/dialects/openai-responses/index.ts";
import {
  clientDialect,
  type ProviderDialectName,
  providerDialectNames,
} from "../../../src/dialects/registry.ts";
import { SseDecoder } from "../../../src/dialects/sse/sse.ts";
import { translate } from "../../../src/dialects/translation/translate.ts";
import { allStreams, fixture, type StreamName } from "../../support/fixtures.ts";
import { type Golden, jsonSection, readGoldens, translationOf, usualTargets } from "../golden-file.ts";
import { clientText, requestOf } from "../golden-run.ts";
import { lacksOfEvent, lacksOfResponse } from "./published-schema.ts";
import { dataOf } from "./support.ts";

function lacksOfStream(text: string): string[] {
  return dataOf(text).flatMap(lacksOfEvent);
}

const goldens = readGoldens().filter((golden) => golden.client === "responses");

function expectComplete(golden: Golden): void {
  const body = requestOf(golden);
  const stream = golden.sections.get("provider streams");
  if (stream !== undefined) {
    expect(lacksOfStream(clientText(golden, body, [new TextEncoder().encode(stream)]))).toEqual([]);
  }
  const answer = jsonSection(golden, "provider answers");
  if (answer !== null) expect(lacksOfResponse(translationOf(golden, body).response(answer).body)).toEqual([]);
}

describe("every response that is translated has all published fields", () => {
  const answered = goldens.filter(({ sections }) => {
    return sections.has("provider streams") || sections.has("provider answers");
  });

  test.each(answered.map((golden) => [golden.file, golden] as const))("%s", (_file, golden) => {
    expectComplete(golden);
  });
});

/** What is optional in a request and required of a response: left out, null, and given. */
const requests: readonly [string, JsonObject][] = [
  ["with nothing but an input", {}],
  [
    "with functions that say as little as they may",
    {
      tools: [{ type: "function", name: "look" }, { type: "custom", name: "patch" }, { type: "web_search" }],
      tool_choice: { type: "allowed_tools", tools: [{ type: "function", name: "look" }] },
      text: { format: { type: "json_schema", name: "answer", schema: { type: "object" } } },
    },
  ],
  [
    "with null wherever that is allowed",
    {
      instructions: null,
      max_output_tokens: null,
      max_tool_calls: null,
      metadata: null,
      parallel_tool_calls: null,
      presence_penalty: null,
      frequency_penalty: null,
      prompt_cache_key: null,
      reasoning: null,
      safety_identifier: null,
      service_tier: null,
      store: null,
      temperature: null,
      text: { format: null, verbosity: null },
      tool_choice: null,
      tools: [{ type: "function", name: "look", description: null, parameters: null, strict: null }],
      top_p: null,
      truncation: null,
      user: null,
    },
  ],
  [
    "with everything set",
    {
      instructions: "Be brief.",
      max_output_tokens: 100,
      max_tool_calls: 3,
      metadata: { a: "b" },
      parallel_tool_calls: false,
      presence_penalty: 0.5,
      frequency_penalty: 0.5,
      prompt_cache_key: "k",
      reasoning: { effort: "low", summary: "auto" },
      safety_identifier: "s",
      temperature: 0.5,
      text: { format: { type: "text" }, verbosity: "low" },
      tool_choice: "auto",
      tools: [
        {
          type: "function",
          name: "look",
          description: "Looks.",
          parameters: { type: "object" },
          strict: true,
        },
      ],
      top_p: 0.5,
      user: "u",
    },
  ],
];

const providers = providerDialectNames.filter((name) => name !== "responses");

function translationTo(provider: ProviderDialectName, fields: JsonObject, stream: boolean) {
  const source: Source = {
    dialect: clientDialect("responses"),
    body: { model: "house-model", input: "hi", stream, ...fields },
    model: "house-model",
    nowSeconds: 1_700_000_000,
    estimatedInputTokens: 3,
  };
  return translate(source, usualTargets[provider]);
}

describe.each(requests)("a request %s", (_name, fields) => {
  describe.each(providers)("answered by %s", (provider) => {
    const files: readonly StreamName[] = allStreams[provider];

    test.each(files)("%s, to its end, and broken off after any frame", (file) => {
      const frames = [...new SseDecoder().push(new TextEncoder().encode(fixture(file)))];
      for (let kept = 0; kept <= frames.length; kept += 1) {
        const stream = translationTo(provider, fields, true).stream();
        let text = "";
        for (const frame of frames.slice(0, kept)) text += stream.push(frame);
        // Some streams have no event that ends them.
        if (kept === frames.length) text += stream.end();
        if (stream.ended) text += stream.terminal();
        else text += stream.failure(new GatewayError("upstream_error", "It broke off."), "req_1", null);
        expect(lacksOfStream(text)).toEqual([]);
        expect(text).toContain(stream.ended ? '"status":"completed"' : '"status":"failed"');
      }
    });

    if (provider === "converse") return;

    test.each(["text", "tools"] as const)("%s in one piece", (form) => {
      const answer: JsonObject = JSON.parse(fixture(`${provider}/${form}.json`));
      const { body } = translationTo(provider, fields, false).response(answer);
      expect(lacksOfResponse(body)).toEqual([]);
    });
  });
});

test("a stream that passes through and breaks ends with a complete response, too", () => {
  for (const code of ["upstream_error", "service_unavailable", "context_length_exceeded"] as const) {
    const error = new GatewayError(code, "It failed.");
    const position = {
      sequenceNumber: 7,
      responseId: "resp_1",
      model: "m",
      createdAtSeconds: 5,
      hasBegun: false,
      usage: null,
    };
    const text = openAiResponses.client.inBandError(error, "req_1", position);
    expect(lacksOfStream(text)).toEqual([]);
  }
});
