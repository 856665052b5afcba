import { describe, expect, test } from "bun:test";
import { load, warningsOf } from "./fixtures.ts";

const bedrock = (region: string, model: string) => `
[providers.aws]
kind = "bedrock"
region = "${region}"
api_key = "env:NOT_SET"
[[models]]
id = "m"
provider = "aws"
upstream_model = "${model}"
free = true`;

/** Without what is said of a provider whose key is not set. */
const doubts = (toml: string) =>
  warningsOf(toml).filter((warning) => !/is skipped|no model to serve/.test(warning));
const claude = "anthropic.claude-opus-5-5-v1:0";

describe("a model of Bedrock that its region does not have is warned about, also where no key is set:", () => {
  test.each([
    ["eu-central-1", `us.${claude}`, "us", "eu"],
    ["us-east-1", `eu.${claude}`, "eu", "us"],
    ["us-west-2", `apac.${claude}`, "apac", "us"],
    ["ap-southeast-1", `jp.${claude}`, "jp", "apac"],
    ["ap-northeast-1", `au.${claude}`, "au", "apac"],
    ["us-gov-west-1", `us.${claude}`, "us", "us-gov"],
    ["us-east-1", `us-gov.${claude}`, "us-gov", "us"],
    ["me-central-1", `eu.${claude}`, "eu", "global"],
  ])("%s and %s", (region, model, geography, fitting) => {
    expect(doubts(bedrock(region, model))).toEqual([
      `model "m", upstream_model is a profile for ${geography}., which cannot be called from ${region}; use ${fitting}. or global., or another region`,
    ]);
  });

  test("one by its ARN", () => {
    const arn = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc";
    expect(doubts(bedrock("eu-west-1", arn))).toEqual([
      'model "m", upstream_model is in us-east-1, but the provider\'s region is eu-west-1',
    ]);
    expect(doubts(bedrock("us-east-1", arn))).toEqual([]);
  });

  test.each([
    ["eu-central-1", `eu.${claude}`],
    ["us-west-2", `us.${claude}`],
    ["ca-central-1", `us.${claude}`],
    ["ca-central-1", `ca.${claude}`],
    ["ap-northeast-3", `jp.${claude}`],
    ["ap-southeast-2", `au.${claude}`],
    ["ap-south-1", `apac.${claude}`],
    ["us-gov-east-1", `us-gov.${claude}`],
    ["eu-west-3", `global.${claude}`],
    ["sa-east-1", claude],
    ["eu-west-3", "qwen.qwen3-coder-v1:0"],
  ])("but not %s and %s", (region, model) => {
    expect(doubts(bedrock(region, model))).toEqual([]);
  });
});

test("each deployment is looked at with its own provider, and told by its own line", () => {
  const toml = `${bedrock("eu-west-1", "eu.amazon.nova-pro-v1:0")}
[[models]]
id = "two"
free = true
[[models.deployments]]
provider = "aws"
upstream_model = "eu.${claude}"
[[models.deployments]]
provider = "aws"
upstream_model = "us.${claude}"`;
  expect(load(toml).settings.warnings.at(-1)).toStartWith(
    'model "two", deployments[1].upstream_model (line 19) is a profile for us.',
  );
});

test.each([
  ["bedrock", 'region = "us-east1"', 'region is not an AWS region, such as "eu-central-1"'],
  ["bedrock", 'region = "europe"', 'region is not an AWS region, such as "eu-central-1"'],
  ["bedrock", 'region = "us-esat-1"', "region is not an AWS region"],
  ["bedrock", 'region = "ue-west-1"', "region is not an AWS region"],
  ["vertex", 'location = "us-centrl1"', "location is not a Google Cloud location"],
  ["vertex", 'location = "eu-west1"', "location is not a Google Cloud location"],
  ["vertex", 'location = "us-east-1"', "location is not a Google Cloud location"],
  ["vertex", 'location = "europe"', "location is not a Google Cloud location"],
])("a %s provider with %s is warned about, once", (kind, line, warning) => {
  const models = ["a", "b"].map((id) => `[[models]]\nid = "${id}"\nprovider = "p"\nfree = true\n`);
  const toml = `[providers.p]\nkind = "${kind}"\napi_key = "env:NOT_SET"\n${line}\n${models.join("")}`;
  const [only = "", ...others] = doubts(toml).filter((each) => each.startsWith("providers.p"));
  expect(only).toStartWith(`providers.p.${warning}`);
  expect(others).toEqual([]);
});

const awsRegions =
  `us-east-1 us-east-2 us-west-1 us-west-2 us-gov-east-1 us-gov-west-1 us-iso-east-1 us-isob-east-1
  ca-central-1 ca-west-1 mx-central-1 sa-east-1 eu-west-1 eu-central-2 eu-south-1 eu-north-1 eu-isoe-west-1 il-central-1
  me-south-1 me-central-1 af-south-1 ap-south-2 ap-southeast-7 ap-northeast-3 ap-east-2 cn-north-1 cn-northwest-1`.split(
    /\s+/,
  );

test.each(awsRegions)("%s is a region", (region) => {
  expect(doubts(bedrock(region, claude))).toEqual([]);
});

test.each(["africa-south1", "asia-southeast2", "australia-southeast1", "me-central2", "southamerica-west1"])(
  "%s is a location too",
  (location) => {
    const model = '[[models]]\nid = "a"\nprovider = "p"\nfree = true\n';
    const toml = `[providers.p]\nkind = "vertex"\napi_key = "env:K"\nlocation = "${location}"\n${model}`;
    expect(warningsOf(toml, { env: { K: "k" } })).toEqual([]);
  },
);

test.each(["global", "us", "eu", "europe-west1", "us-central1", "northamerica-northeast1", "us-east5"])(
  "%s is a location",
  (location) => {
    const model = '[[models]]\nid = "a"\nprovider = "p"\nfree = true\n';
    const toml = `[providers.p]\nkind = "vertex"\napi_key = "env:K"\nlocation = "${location}"\n${model}`;
    expect(warningsOf(toml, { env: { K: "k" } })).toEqual([]);
  },
);

describe("a use that a provider has no requests for is warned about:", () => {
  const serving = (kind: string, serves: string) => `
[providers.p]
kind = "${kind}"
api_key = "env:KEY"
[[models]]
id = "m"
provider = "p"
serves = ${serves}
free = true`;

  test.each([
    ["anthropic", '["embeddings"]', "embeddings"],
    ["anthropic", '["generation", "speech"]', "speech"],
    ["gemini", '["rerank"]', "rerank"],
  ])("%s, %s", (kind, serves, use) => {
    expect(warningsOf(serving(kind, serves), { env: { KEY: "k" } })).toEqual([
      `model "m", serves has ${use}, for which provider "p" has no requests`,
    ]);
  });

  test.each([
    ["openai", '["embeddings", "moderations", "images", "speech", "transcriptions", "completions"]'],
    ["gemini", '["embeddings"]'],
    ["anthropic", '["generation"]'],
  ])("but not %s, %s", (kind, serves) => {
    expect(warningsOf(serving(kind, serves), { env: { KEY: "k" } })).toEqual([]);
  });
});

describe("a price that nothing is charged by is warned about, and so is what has none:", () => {
  const priced = (serves: string, price: string) =>
    warningsOf(
      `[providers.p]\nkind = "openai-compatible"\nbase_url = "http://127.0.0.1:1/v1"\n[[models]]\nid = "m"\nprovider = "p"\nserves = ${serves}\nprice = ${price}`,
    );

  test.each([
    [
      '["rerank"]',
      "{ characters = 1 }",
      "price has none of search_units, input, requests, so requests for rerank are rejected",
      "price.characters has no effect: the model serves only rerank",
    ],
    [
      '["generation"]',
      "{ input = 1, output = 1, search_units = 1 }",
      "price.search_units has no effect: the model serves only generation",
    ],
    [
      '["generation", "images"]',
      "{ input = 1, output = 1, images = 1, speech_minutes = 1 }",
      "price.speech_minutes has no effect: the model serves only generation, images",
    ],
    [
      '["embeddings"]',
      "{ input = 1, image_input = 1 }",
      "price.image_input has no effect: the model serves only embeddings",
    ],
    [
      '["embeddings", "speech"]',
      "{ input = 1 }",
      "price has none of characters, audio_output, requests, so requests for speech are rejected",
    ],
    [
      '["images"]',
      '{ images = { "*" = 0.02, "high/1024x1024" = 0.167, "low/1024x1024" = 0.01 } }',
      'price.images has "*" = 0.02, below "high/1024x1024" = 0.167: variants without a row may cost the provider more; raise "*" to 0.167, or add their rows',
    ],
    ['["moderations"]', "{ input = 1 }", "price.input has no effect: the model serves only moderations"],
  ])("%s, %s", (serves, price, ...words) => {
    expect(priced(serves, price)).toEqual(words.map((each) => `model "m", ${each}`));
  });

  test.each([
    ['["generation"]', "{ input = 1, output = 1, cached_input = 1, audio_output = 1, web_search = 1 }"],
    ['["embeddings"]', "{ input = 1, output = 0 }"],
    ['["transcriptions"]', "{ audio_input = 1, input = 1, output = 1 }"],
    ['["images"]', '{ images = { "high/1024x1024" = 1 }, input = 1, image_input = 1, image_output = 1 }'],
    ['["images"]', '{ images = { "high/1024x1024" = 1, "low/1024x1024" = 0.5, "*" = 1 } }'],
    ['["images"]', '{ images = { "*" = 1 } }'],
    ['["images"]', "{ images = 1 }"],
    ['["generation", "speech"]', "{ input = 1, output = 1, characters = 1 }"],
    ['["moderations"]', "{ input = 0, output = 0 }"],
  ])("but not %s, %s", (serves, price) => {
    expect(priced(serves, price)).toEqual([]);
  });

  test("of a deployment too", () => {
    const toml = `[providers.p]\nkind = "openai-compatible"\nbase_url = "http://127.0.0.1:1/v1"\n[[models]]\nid = "m"\nserves = ["speech"]
[[models.deployments]]\nprovider = "p"\nprice = { characters = 1 }\n[[models.deployments]]\nprovider = "p"\nprice = { images = 1 }`;
    expect(warningsOf(toml)).toEqual([
      'model "m", deployments[1].price has none of characters, audio_output, requests, so requests for speech are rejected',
      'model "m", deployments[1].price.images has no effect: the model serves only speech',
    ]);
  });
});

describe("conversations that are on and cannot be kept are warned about:", () => {
  const on = "[routes]\nconversations = true\n";
  test.each([
    [`${on}stored_responses = false`, "routes.stored_responses = false"],
    [`${on}[retention]\nresponse_hours = 0`, "retention.response_hours = 0"],
    [`${on}[responses]\nstate = "provider"`, 'responses.state = "provider"'],
  ])("%s", (toml, obstacle) => {
    expect(warningsOf(toml)).toContain(`routes.conversations has no effect with ${obstacle}`);
  });

  test("but not where they are kept, or off", () => {
    for (const toml of [on, "[routes]\nstored_responses = false"]) {
      expect(warningsOf(toml).filter((warning) => warning.includes("conversations"))).toEqual([]);
    }
  });
});

test("moderations cost nothing, so a model that serves nothing else needs no price", () => {
  const model = (serves: string) =>
    `[providers.p]\nkind = "openai-compatible"\nbase_url = "http://127.0.0.1:1/v1"\n[[models]]\nid = "m"\nprovider = "p"\nserves = ${serves}`;
  expect(warningsOf(model('["moderations"]'))).toEqual([]);
  for (const serves of ['["generation"]', '["embeddings"]', '["moderations", "embeddings"]'])
    expect(warningsOf(model(serves))).toEqual([expect.stringContaining("has no price")]);
});
