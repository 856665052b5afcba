import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { JsonObject } from "../../src/base/json.ts";
import { startSluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { answerWith, TestServer } from "../wire/server.ts";

const fileOf = (name: string) => new URL(`../wire/tls/${name}`, import.meta.url).pathname;
const certificate = (name: string) => ({
  cert: readFileSync(fileOf(`${name}.pem`), "utf8"),
  key: readFileSync(fileOf(`${name}.key`), "utf8"),
});

const configFor = (port: number) => `
[providers.secure]
kind = "openai-compatible"
base_url = "https://localhost:${port}/v1"
[[models]]
id = "m"
provider = "secure"
free = true
`;

interface Case {
  readonly what: string;
  readonly server: string;
  readonly trusted: string;
  readonly failure: string;
  readonly said: string;
}

const cases: readonly Case[] = [
  {
    what: "has expired",
    server: "expired",
    trusted: "expired.pem",
    failure: "expired_certificate",
    said: "certificate has expired",
  },
  {
    what: "is for a different host",
    server: "elsewhere",
    trusted: "authority.pem",
    failure: "bad_certificate",
    said: "certificate is for a different host",
  },
  {
    what: "is of an authority that nobody trusts",
    server: "server",
    trusted: "expired.pem",
    failure: "bad_certificate",
    said: "certificate is from an authority that this machine does not trust",
  },
];

describe.each([...cases])("a provider's certificate that $what", ({ server, trusted, failure, said }) => {
  test("is an alarm that names it, and is named wherever the operator looks", async () => {
    using provider = new TestServer((peer) => void peer.write(answerWith("{}")), {
      tls: certificate(server),
    });
    const env = { NODE_EXTRA_CA_CERTS: fileOf(trusted) };
    await using sluice = await startSluice({ config: configFor(provider.port), env });
    const key = await sluice.createKey();
    const body = { model: "m", messages: [{ role: "user", content: "Hello" }] };
    const response = await sluice.request("/v1/chat/completions", { key, body });
    expect(response.status).toBe(502);
    expect(await response.text()).not.toContain("certificate");
    const id = response.headers.get("x-request-id") ?? "";
    const alarms = () =>
      sluice.output
        .split("\n")
        .filter((line) => line.startsWith("{"))
        .map((line) => JSON.parse(line) as JsonObject)
        .filter(({ request_id: of, level }) => of === id && level === 50);
    await waitFor(() => alarms().length > 0, "the alarm");
    expect(alarms()).toEqual([
      expect.objectContaining({ failure, deployment: "secure/m", msg: expect.stringContaining(said) }),
    ]);
    const { stdout } = await sluice.run("requests", "show", id);
    expect(stdout).toContain(failure);
    const check = await sluice.run("models", "check");
    expect({ code: check.code, out: check.stdout }).toEqual({ code: 1, out: expect.stringContaining(said) });
    expect(provider.requests).toEqual([]);
  });
});
