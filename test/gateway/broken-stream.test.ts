import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import {
  clientDialect,
  type ProviderDialectName,
  providerDialect,
  providerDialectNames,
} from "../../src/dialects/registry.ts";
import { translate } from "../../src/dialects/translation/translate.ts";
import { PassthroughRelayer } from "../../src/gateway/response/passthrough-relayer.ts";
import type { StreamRelayer } from "../../src/gateway/response/pending-response.ts";
import { TranslatedRelayer } from "../../src/gateway/response/translated-relayer.ts";
import { type BodyDialectName, bodyDialectNames } from "../support/body-dialects.ts";
import { fixture } from "../support/fixtures.ts";

const failures: Readonly<Record<ProviderDialectName, string>> = {
  chat: 'data: {"error":{"message":"it broke","type":"server_error"}}\n\n',
  responses:
    'event: response.failed\ndata: {"type":"response.failed","sequence_number":9,"response":{"id":"resp_1","status":"failed","error":{"code":"server_error","message":"it broke"}}}\n\n',
  messages: 'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"it broke"}}\n\n',
  converse: 'event: error\ndata: {"error":{"message":"it broke"}}\n\n',
  gemini: 'data: {"error":{"code":500,"message":"it broke","status":"INTERNAL"}}\n\n',
};

function relayerFor(client: BodyDialectName, provider: ProviderDialectName): StreamRelayer {
  if (client === provider) {
    return new PassthroughRelayer({
      dialect: client,
      hideUsage: false,
      requestId: "req_1",
      model: "m",
      atSeconds: 1,
    });
  }
  const messages = [{ role: "user", content: "Hello" }];
  const body =
    client === "responses" ? { model: "m", input: "Hello" } : { model: "m", messages, max_tokens: 50 };
  const source = { dialect: clientDialect(client), body, model: "m", nowSeconds: 1, estimatedInputTokens: 5 };
  const target = {
    dialect: providerDialect(provider),
    upstreamModel: "u",
    provider: "p",
    isStrict: false,
    maxOutputTokens: 4096,
    maxTokensField: "max_tokens",
    streamUsage: true,
    capabilities: {},
  } as const;
  return new TranslatedRelayer(translate(source, target).stream(), "req_1");
}

const failed = new GatewayError("upstream_error", "it broke");

describe("a stream that fails in the same chunk as the content before it", () => {
  for (const provider of providerDialectNames) {
    for (const client of bodyDialectNames) {
      test(`gives a ${client} client that content first, from a provider of ${provider}`, () => {
        const text = fixture(`${provider}/text.sse`);
        const content = text.slice(0, text.indexOf("\n\n", text.indexOf("canal")) + 2);
        const relayer = relayerFor(client, provider);
        const leaving = Buffer.from(relayer.push(Buffer.from(content + failures[provider]))).toString();
        expect(leaving).toContain("canal");
        expect(leaving).not.toContain("it broke");
        expect(relayer.found.failure?.code).toBe("upstream_error");
        expect(relayer.ended).toBe(false);
        expect(relayer.found.started).toBe(true);
        if (client === "responses")
          expect(relayer.failure(failed, null)).toContain(
            `"sequence_number":${leaving.split("\n\n").length - 1}`,
          );
      });
    }
  }
});
