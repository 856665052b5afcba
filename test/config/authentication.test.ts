import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { withoutSecrets } from "../../src/base/secrets/secrets.ts";
import { expectation } from "../../src/base/text/schema-text.ts";
import { readSecretDocument } from "../../src/config/secrets.ts";
import { vendorOption, vendorOptionNames } from "../../src/vendors/options.ts";
import { newFolder } from "../support/new-folder.ts";
import { load, problemsOf } from "./fixtures.ts";

const azure = (lines: string) => `
  [providers.azure]
  kind = "azure"
  ${lines}
  [[models]]
  id = "gpt"
  provider = "azure"
  free = true`;

const entra = 'tenant_id = "t-1234"\nclient_id = "c-1234"\nclient_secret = "env:SECRET"';
const env = { KEY: "azure-key-1", SECRET: "azure-secret-1" };

describe("authentication", () => {
  test("two ways at once are a problem that names the fields of both (K01)", () => {
    const problems = problemsOf(azure(`resource = "r"\napi_key = "env:KEY"\n${entra}`), { env });
    expect(problems).toEqual([
      "providers.azure: api_key, tenant_id, client_id and client_secret belong to different ways to authenticate; keep one of them",
    ]);
    expect(
      problemsOf(azure('resource = "r"\napi_key = "env:KEY"\ncredentials = "managed_identity"'), { env }),
    ).toEqual([
      "providers.azure: api_key and credentials belong to different ways to authenticate; keep one of them",
    ]);
  });

  test("half of a way is a problem that names the rest of it (K01)", () => {
    const lines = 'resource = "r"\ntenant_id = "t-1234"\nclient_secret = "env:SECRET"';
    expect(problemsOf(azure(lines), { env })).toEqual([
      "providers.azure.client_id: missing; tenant_id, client_id and client_secret belong together",
    ]);
  });

  test("each way alone is accepted (K01)", () => {
    for (const way of ['api_key = "env:KEY"', entra, 'credentials = "managed_identity"']) {
      const { settings } = load(azure(`resource = "my-resource"\n${way}`), { env });
      expect(settings.providers.get("azure")?.baseUrl).toBe("https://my-resource.openai.azure.com/openai/v1");
      expect(settings.warnings).toEqual([]);
    }
  });

  test("what becomes part of a host's name has nothing but letters, digits and hyphens (K02)", () => {
    for (const resource of ["evil.example/", "a.b", "A", "a b", "a@b", "", "a/../b", "a:1"]) {
      expect(problemsOf(azure(`resource = "${resource}"\napi_key = "env:KEY"`), { env })).toEqual([
        "providers.azure.resource: must be lowercase letters, digits and - only",
      ]);
    }
  });

  test("what is no secret stands in the file, and the message says so in words", () => {
    const toml = azure(`resource = "r"\n${entra.replace(/tenant_id = "[^"]*"/, 'tenant_id = "env:TENANT"')}`);
    expect(problemsOf(toml, { env })).toEqual([
      "providers.azure.tenant_id: must be letters, digits, . and - only; only secrets can refer to the environment or a file",
    ]);
    const bedrock = '[providers.b]\nkind = "bedrock"\nregion = "eu-central-1"\napi_key = "env:KEY"';
    expect(problemsOf(`${bedrock}\nguardrail = "gr1234"`, { env })).toEqual([
      'providers.b.guardrail: must be an id and its version such as "gr1234abcd@3"',
    ]);
  });

  test("every pattern of a setting has words", () => {
    for (const name of vendorOptionNames) {
      const { pattern } = vendorOption(name).schema as { pattern?: string };
      if (pattern !== undefined)
        expect(expectation({ type: "string", pattern })).not.toContain("another form");
    }
  });

  test("a missing variable or file leaves the provider out, with a warning (K03)", () => {
    const { settings } = load(azure(`resource = "r"\n${entra}`));
    expect(settings.providers.size).toBe(0);
    expect(settings.warnings[0]).toBe('provider "azure" is skipped: SECRET is not set; not listed: gpt');
    const none = load(azure('resource = "r"'));
    expect(none.settings.warnings[0]).toStartWith(
      'provider "azure" is skipped: it has no api_key or tenant_id or credentials',
    );
  });

  test("settings of another kind are refused, with the kinds that have them", () => {
    const toml = azure('resource = "r"\napi_key = "env:KEY"').replace("azure]", "openai]");
    expect(problemsOf(toml.replace('kind = "azure"', 'kind = "openai"'), { env })).toContain(
      'providers.openai.resource: kind "openai" does not have this setting; it belongs to "azure"',
    );
  });

  test("an authority without TLS is refused, except on this machine", () => {
    const toml = (authority: string) => azure(`resource = "r"\n${entra}\nauthority = "${authority}"`);
    expect(problemsOf(toml("http://login.example"), { env })).toEqual([
      "providers.azure.authority: must be https, because a secret is sent there",
    ]);
    expect(load(toml("http://127.0.0.1:9"), { env }).settings.providers.size).toBe(1);
  });

  test("an address is derived from the resource or must be given", () => {
    expect(problemsOf(azure('api_key = "env:KEY"'), { env })).toEqual([
      'providers.azure.base_url: missing; kind "azure" needs resource, or the address, such as "https://my-resource.openai.azure.com/openai/v1"',
    ]);
  });

  test("a model's dialect must be one that its provider speaks", () => {
    const toml = `${azure('resource = "r"\napi_key = "env:KEY"')}\n  dialect = "messages"`;
    expect(problemsOf(toml, { env })).toEqual([
      'models[0].dialect: provider "azure" does not speak "messages", only chat, responses',
    ]);
  });

  test("a deployment's dialect is its own or else the model's, and one that its provider speaks", () => {
    const toml = (ofModel: string, ofDeployment: string) => `
      [providers.azure]
      kind = "azure"
      resource = "r"
      api_key = "env:KEY"
      [providers.claude]
      kind = "anthropic"
      api_key = "env:KEY"
      [[models]]
      id = "m"
      free = true
      ${ofModel}
      deployments = [{ provider = "claude"${ofDeployment} }, { provider = "azure", dialect = "chat" }]`;
    for (const [ofModel, ofDeployment] of [
      ["", ""],
      ['dialect = "messages"', ""],
      ['dialect = "chat"', ', dialect = "messages"'],
    ] as const) {
      const [model] = load(toml(ofModel, ofDeployment), { env }).settings.models;
      expect(model?.deployments.map(({ dialects }) => dialects)).toEqual([["messages"], ["chat"]]);
    }
    const refused =
      'models[0].deployments[0].dialect: provider "claude" does not speak "chat", only messages';
    expect(problemsOf(toml('dialect = "chat"', ""), { env })).toEqual([refused]);
    expect(problemsOf(toml('dialect = "messages"', ', dialect = "chat"'), { env })).toEqual([refused]);
  });
});

describe("a key file", () => {
  const lines = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj", "AgEAAoIBAQC7VJTUt9Us8cKjMzEfYyjiWA4R4M2a"];
  const file = {
    type: "service_account",
    project_id: "canary-project-1",
    private_key_id: "canary-key-id-1",
    private_key: `-----BEGIN PRIVATE KEY-----\r\n${lines.join("\r\n")}\r\n-----END PRIVATE KEY-----\n`,
    client_email: "canary-account@canary-project-1.iam.gserviceaccount.com",
    token_uri: "https://oauth2.googleapis.com/token",
  };

  test("may have several lines, and every part of it is redacted from then on", () => {
    const folder = newFolder();
    writeFileSync(join(folder, "key.json"), JSON.stringify(file, null, 2));
    const secret = readSecretDocument("file:key.json", { env: {}, folder });
    expect(secret).toMatchObject({ kind: "value" });
    for (const part of [...lines, file.private_key_id, file.client_email, file.project_id]) {
      expect(withoutSecrets(`refused: ${part}, bye`)).toMatch(/^refused: \[(secret|account)\], bye$/);
    }
    expect(withoutSecrets("canary-project-12 stays")).toBe("canary-project-12 stays");
    expect(withoutSecrets("-----BEGIN PRIVATE KEY-----")).toBe("-----BEGIN PRIVATE KEY-----");
  });
});
