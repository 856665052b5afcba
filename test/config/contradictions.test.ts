import { describe, expect, test } from "bun:test";
import { warningsOf as warningsOfFile } from "./fixtures.ts";

function warningsOf(provider: string): readonly string[] {
  const model = '[[models]]\nid = "m"\nprovider = "p"\nfree = true\n';
  return warningsOfFile(`[providers.p]\n${provider}\napi_key = "env:KEY"\n${model}`, { env: { KEY: "k" } });
}

const bedrock = 'kind = "bedrock"\nregion = "us-east-1"';
const azure = 'kind = "azure"\nresource = "mine"';
const vertex = 'kind = "vertex"';

describe("an address that contradicts the vendor's own settings is warned about:", () => {
  test.each([
    ["https://bedrock-runtime.eu-central-1.amazonaws.com", bedrock, "region", "eu-central-1", "us-east-1"],
    ["https://bedrock-runtime-fips.us-west-2.amazonaws.com", bedrock, "region", "us-west-2", "us-east-1"],
    ["https://bedrock-runtime.cn-north-1.amazonaws.com.cn", bedrock, "region", "cn-north-1", "us-east-1"],
    [
      "https://vpce-1.bedrock-runtime.eu-west-1.vpce.amazonaws.com",
      bedrock,
      "region",
      "eu-west-1",
      "us-east-1",
    ],
    ["https://bedrock-mantle.us-east-1.api.aws", bedrock, "endpoint", "mantle", "runtime"],
    [
      "https://bedrock-runtime.us-east-1.amazonaws.com",
      `${bedrock}\nendpoint = "mantle"`,
      "endpoint",
      "runtime",
      "mantle",
    ],
    ["https://yours.openai.azure.com/openai/v1", azure, "resource", "yours", "mine"],
    ["https://yours.services.ai.azure.com/anthropic", azure, "resource", "yours", "mine"],
    ["https://yours.cognitiveservices.azure.us/openai", azure, "resource", "yours", "mine"],
    ["https://europe-west1-aiplatform.googleapis.com", vertex, "location", "europe-west1", "global"],
    ["https://aiplatform.eu.rep.googleapis.com", vertex, "location", "eu", "global"],
    ["https://aiplatform.googleapis.com", `${vertex}\nlocation = "us"`, "location", "global", "us"],
  ])("%s", (address, settings, option, said, configured) => {
    expect(warningsOf(`${settings}\nbase_url = "${address}"`)).toEqual([
      `providers.p.base_url belongs to ${option} = "${said}", and ${option} is "${configured}"; set both to the same, or remove base_url`,
    ]);
  });
});

test("addresses that agree with the settings, or say nothing about them, are not warned about", () => {
  const agreeing = [
    [bedrock, "https://bedrock-runtime.us-east-1.amazonaws.com"],
    [bedrock, "https://vpce-1.bedrock-runtime.us-east-1.vpce.amazonaws.com"],
    [bedrock, "https://proxy.example.com"],
    [`${bedrock}\nendpoint = "mantle"`, "https://bedrock-mantle.us-east-1.api.aws"],
    [azure, "https://mine.services.ai.azure.com/openai/v1"],
    [azure, "https://gateway.example.com/openai/v1"],
    ['kind = "azure"', "https://any.openai.azure.com/openai/v1"],
    [vertex, "https://aiplatform.googleapis.com"],
    [`${vertex}\nlocation = "europe-west1"`, "https://europe-west1-aiplatform.googleapis.com"],
    [vertex, "https://private.example.com"],
  ];
  for (const [settings, address] of agreeing) {
    expect(warningsOf(`${settings}\nbase_url = "${address}"`), address ?? "").toEqual([]);
  }
});
