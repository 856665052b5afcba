import { expect, test } from "bun:test";
import type { ProviderDialectName } from "../../src/dialects/registry.ts";
import { adaptBytes, bodyVendorOf } from "../../src/vendors/adapt-body.ts";
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
    [settingsOf("gemini", {}), "gemini"],
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

test("a vendor that changes a body is given a provider's options without its secrets", () => {
  const settings = settingsOf("bedrock", { region: "eu-west-1", secret_access_key: "canary-access-key" });
  expect(vendorOf(settings, "messages")?.options).toEqual({ region: "eu-west-1" });
  expect(vendorOf(settings, "converse")).toBeNull();
});
