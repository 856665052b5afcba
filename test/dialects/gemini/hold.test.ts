import { expect, test } from "bun:test";
import { GatewayError } from "../../../src/base/errors.ts";
import { patchBody } from "../../../src/dialects/json/patch.ts";
import { clientDialect } from "../../../src/dialects/registry.ts";
import { checkBody, withPath } from "../../../src/gateway/request/check-body.ts";
import { seededRandom } from "../../support/random.ts";

const { limitOutput } = clientDialect("gemini");
const expected = {
  kind: "gemini",
  options: { hasBetas: false },
  limits: { maxBodyMembers: 100_000, maxListItems: 10_000 },
  path: "/v1beta/models/m:generateContent",
} as const;
const model = { id: "m", maxOutputTokens: 1000, contextWindow: 100_000 };

/** What a provider gets, and what is held for it. */
function forwarded(sent: string) {
  const request = checkBody(withPath(Buffer.from(sent), expected), expected);
  const limit = limitOutput(request.truncated, model);
  const changes = { ...request.nullRemovals, ...limit.changes, model: undefined, stream: undefined };
  const isChanged = request.nullRemovals !== null || Object.keys(limit.changes).length > 0;
  const body = Buffer.from(patchBody(request.bytes, request.spans, changes)).toString();
  return { body, isChanged, held: limit.maxOutputTokens };
}

/** The most tokens that Google could read from a body: of all duplicates and both spellings, from numbers and from texts, for each candidate. */
function readByGoogle(body: string): number {
  const plain = body.replace(/\\u([0-9a-f]{4})/gi, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
  const most = (name: RegExp, least: number) =>
    Math.max(least, ...Array.from(plain.matchAll(name), ([, count]) => Number(count)));
  const candidates = most(/"(?:candidateCount|candidate_count)":"?(-?[\d.e+]+)/gi, 1);
  return candidates * most(/"(?:maxOutputTokens|max_output_tokens)":"?(-?[\d.e+]+)/gi, 0);
}

test("no spelling, duplicate or nesting lets a provider write more than is held", () => {
  const random = seededRandom(62);
  const pick = <Item>(items: readonly Item[]) => items[Math.floor(random.next() * items.length)] as Item;
  const names = [
    "maxOutputTokens",
    "max_output_tokens",
    "max_outputTokens",
    "max\\u004futputTokens",
    "candidateCount",
    "candidate_count",
    "topK",
  ];
  const configs = [
    "generationConfig",
    "generation_config",
    "generation\\u0043onfig",
    "\\u0067eneration_config",
  ];
  const values = [
    "1",
    "3",
    "10",
    "999",
    "5000",
    "64000",
    '"64000"',
    "1e4",
    "5.5",
    "null",
    "[5000]",
    "-1",
    "0",
    "{}",
  ];
  const config = () =>
    `{${Array.from({ length: Math.floor(random.next() * 3) }, () => `"${pick(names)}":${pick(values)}`).join(",")}}`;
  let accepted = 0;
  for (let round = 0; round < 10_000; round += 1) {
    const members = Array.from(
      { length: Math.floor(random.next() * 3) },
      () => `"${pick(configs)}":${config()}`,
    );
    const sent = `{${['"contents":[{"parts":[{"text":"x"}]}]', ...members].join(",")}}`;
    try {
      const { body, isChanged, held } = forwarded(sent);
      accepted += 1;
      expect(readByGoogle(body), sent).toBeLessThanOrEqual(held);
      if (!isChanged) expect(body).toBe(sent);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      expect(error.code).toBe("invalid_request");
    }
  }
  expect(accepted).toBeGreaterThan(1000);
});

test("a body can name the path's model, and no other", () => {
  const contents = '"contents":[{"parts":[{"text":"x"}]}]';
  expect(forwarded(`{"model":"models/m",${contents}}`).body).toBe(`{${contents}}`);
  expect(() => forwarded(`{"model":"other",${contents}}`)).toThrow("another model");
});

test.each([
  ["contents", '{"contents":[]}'],
  ["contents", '{"contents":[{"parts":[{"text":"x"}]}],"Contents":1,"contents":[]}'],
  ["contents[0].role", '{"contents":[{"role":"system","parts":[{"text":"x"}]}]}'],
  [
    "generationConfig.candidateCount",
    '{"contents":{"parts":{"text":"x"}},"generationConfig":{"candidate_count":129}}',
  ],
  [
    "generationConfig.maxOutputTokens",
    '{"contents":{"parts":{"text":"x"}},"generation_config":{"max_output_tokens":"64000"}}',
  ],
  [
    "generationConfig.responseModalities",
    '{"contents":{"parts":{"text":"x"}},"generationConfig":{"responseModalities":[2]}}',
  ],
  ["serviceTier", '{"contents":{"parts":{"text":"x"}},"service_tier":2}'],
  ["tools", '{"contents":{"parts":{"text":"x"}},"tools":"googleSearch"}'],
])("an error names %s", (param, sent) => {
  let error: unknown = null;
  try {
    forwarded(sent);
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(GatewayError);
  expect((error as GatewayError).param).toBe(param);
});
