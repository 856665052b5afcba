import { expect, spyOn, test } from "bun:test";
import type { ProviderDialectName } from "../../src/dialects/registry.ts";
import { adaptBytes, bodyVendorOf } from "../../src/vendors/adapt-body.ts";
import { bedrock } from "../../src/vendors/bedrock/index.ts";
import type { ProviderOptions } from "../../src/vendors/options.ts";
import type { ProviderSettings } from "../../src/vendors/provider.ts";

function settingsOf(kind: string, options: ProviderOptions): ProviderSettings {
  // Only these are looked at.
  return { name: "p", kind, options } as ProviderSettings;
}

const vendorOf = (settings: ProviderSettings, dialect: ProviderDialectName) =>
  bodyVendorOf(settings, dialect, "m", {});

test("bodies that a vendor takes as they are go up without being parsed", () => {
  const taken: [ProviderSettings, ProviderDialectName][] = [
    [settingsOf("openai", {}), "chat"],
    [settingsOf("azure", { resource: "r" }), "responses"],
    [settingsOf("vertex", { project: "p" }), "chat"],
    [settingsOf("vertex", { project: "p" }), "gemini"],
    [settingsOf("bedrock", { region: "eu-west-1" }), "converse"],
    [settingsOf("bedrock", { region: "eu-west-1", endpoint: "mantle" }), "chat"],
    [settingsOf("bedrock", { region: "eu-west-1", endpoint: "mantle" }), "messages"],
  ];
  const body = new TextEncoder().encode("no JSON, so parsing it would fail");
  for (const [settings, dialect] of taken) {
    const adapted = adaptBytes(body, vendorOf(settings, dialect), []);
    expect(adapted.body, `${settings.kind} ${dialect}`).toBe(body);
  }
});

test("what a vendor changes, and a provider's options without its secrets, are found out once per provider", () => {
  const finding = spyOn(bedrock, "bodyChanges");
  const settings = settingsOf("bedrock", { region: "eu-west-1", secret_access_key: "canary-access-key" });
  const first = vendorOf(settings, "messages");
  const second = vendorOf(settings, "messages");
  expect(first?.options).toEqual({ region: "eu-west-1" });
  expect(second?.options).toBe(first?.options);
  expect(finding).toHaveBeenCalledTimes(1);
  expect(vendorOf(settings, "converse")).toBeNull();
  expect(vendorOf(settings, "converse")).toBeNull();
  expect(finding).toHaveBeenCalledTimes(2);
  finding.mockRestore();
});

test.each([settingsOf("bedrock", { region: "eu-west-1" }), settingsOf("vertex", { project: "p" })])(
  "where a cloud's Claude runs is for the operator to choose: $kind",
  (settings) => {
    const adapted = (geography: string | null) => {
      const body = { max_tokens: 5, messages: [], inference_geo: geography };
      const bytes = new TextEncoder().encode(JSON.stringify(body));
      return adaptBytes(bytes, vendorOf(settings, "messages"), []);
    };
    expect(() => adapted("us")).toThrow(
      "inference_geo: the model's provider does not let you choose where it runs",
    );
    for (const usual of ["global", null]) {
      const { body, dropped } = adapted(usual);
      expect(Buffer.from(body).toString()).not.toContain("inference_geo");
      expect(dropped).toEqual([]);
    }
  },
);
