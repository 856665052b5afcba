import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { putEmptyLedger } from "../store/sqlite/empty-ledger.ts";
import { fixture } from "../support/fixtures.ts";
import { newFolder } from "../support/new-folder.ts";
import { Sluice } from "../support/sluice.ts";
import { newPlace, type Place, sluice } from "./fixtures.ts";

interface Report {
  readonly ok: boolean;
  readonly version: string;
  readonly config: { readonly file: string | null; readonly toml: string };
  readonly checks: readonly { check: string; state: string; text: string; fix: string | null }[];
}

async function doctor(place: Place): Promise<Report & { readonly code: number }> {
  const { code, stdout } = await sluice(place, "doctor", "--json");
  return { ...(JSON.parse(stdout) as Report), code };
}

function problemsOf({ checks }: Report): readonly (readonly [string, string, string | null])[] {
  return checks.filter(({ state }) => state === "problem").map(({ check, text, fix }) => [check, text, fix]);
}

/** A place whose configuration has one provider at this address. */
function placeWith(baseUrl: string, more: Partial<Place> = {}): Place {
  const place = newPlace({ env: { OWN_API_KEY: "sk-own-doctor-canary" }, ...more });
  const toml = `
[providers.own]
kind = "openai"
base_url = "${baseUrl}"
api_key = "env:OWN_API_KEY"

[[models]]
id = "own-model"
provider = "own"
[models.price]
input = 1
output = 2`;
  writeFileSync(join(place.folder, "sluice.toml"), toml);
  return place;
}

function serve(answer: () => Response) {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer });
  return { url: `http://127.0.0.1:${server.port}/v1`, [Symbol.asyncDispose]: () => server.stop(true) };
}

const listed = () =>
  Response.json(
    { object: "list", data: [{ id: "own-model", object: "model" }] },
    { headers: { date: new Date().toUTCString() } },
  );

test("a healthy folder has no problems, and the report has no secrets", async () => {
  await using provider = serve(listed);
  const place = placeWith(provider.url);
  await sluice(place, "keys", "create", "--mode", "credit");
  const report = await doctor(place);
  expect([report.code, report.ok, problemsOf(report)]).toEqual([0, true, []]);
  expect(new Set(report.checks.map(({ check }) => check))).toEqual(
    new Set(["config", "folder", "disk", "clock", "database", "gateway", "provider"]),
  );
  expect(report.config.toml).toContain('base_url = "http://127.0.0.1:');
  const { code, stdout, stderr } = await sluice(place, "doctor");
  expect([code, stdout]).toEqual([0, expect.stringContaining("✓ no problems found")]);
  expect(JSON.stringify(report) + stdout + stderr).not.toContain("doctor-canary");
});

test("a rejected key, a closed port and an unset secret are problems with their fix", async () => {
  await using provider = serve(() =>
    Response.json(
      { error: { message: "Incorrect API key provided: sk-own-doctor-canary" } },
      { status: 401 },
    ),
  );
  const rejected = await sluice(placeWith(provider.url), "doctor");
  expect([rejected.code, rejected.stdout]).toEqual([1, expect.stringContaining("it rejects the key")]);
  expect(rejected.stdout + rejected.stderr).not.toContain("doctor-canary");

  const closed = await doctor(placeWith("http://127.0.0.1:9/v1"));
  expect(problemsOf(closed)).toEqual([
    [
      "provider",
      "own (http://127.0.0.1:9/v1): cannot be reached (ECONNREFUSED)",
      "check base_url and the network",
    ],
  ]);

  const unset = await doctor(placeWith(provider.url, { env: {} }));
  expect(problemsOf(unset)).toEqual([
    ["config", expect.stringContaining("OWN_API_KEY is not set"), "set it where the gateway runs"],
  ]);
});

test("a configuration that cannot be loaded is a problem for each of its faults", async () => {
  const place = placeWith("http://127.0.0.1:9/v1");
  writeFileSync(join(place.folder, "sluice.toml"), '[server]\nprot = 1\n[money]\nusd_per_credit = "x"');
  const report = await doctor(place);
  const found = problemsOf(report).filter(([check]) => check === "config");
  expect(found.map(([, text]) => text)).toEqual([
    expect.stringContaining("server.prot"),
    expect.stringContaining("money.usd_per_credit"),
    expect.stringContaining("models"),
  ]);
  const missing = await sluice(place, "doctor", "--config", "nowhere.toml");
  expect([missing.code, missing.stdout]).toEqual([1, expect.stringContaining("nowhere.toml")]);
});

test("a data folder that other users can reach, and one that is a file, are problems", async () => {
  await using provider = serve(listed);
  const place = placeWith(provider.url);
  const data = newFolder();
  chmodSync(data, 0o777);
  const open = await sluice(place, "doctor", "--data", data);
  expect([open.code, open.stdout]).toEqual([1, expect.stringContaining(`chmod 700 ${data}`)]);
  const file = join(place.folder, "a-file");
  writeFileSync(file, "");
  const other = await sluice(place, "doctor", "--data", file);
  expect([other.code, other.stdout]).toEqual([1, expect.stringContaining(`${file} is not a folder`)]);
});

test("a gateway that does not respond is a problem, with its process", async () => {
  await using provider = serve(listed);
  const place = placeWith(provider.url);
  using hung = Bun.listen({ port: 0, hostname: "127.0.0.1", socket: { data() {} } });
  const data = join(place.folder, "sluice-data");
  putEmptyLedger(data);
  const served = { address: `http://127.0.0.1:${hung.port}`, pid: process.pid };
  writeFileSync(join(data, "served.json"), JSON.stringify(served), { mode: 0o600 });
  const report = await doctor(place);
  expect(problemsOf(report)).toEqual([
    [
      "gateway",
      `the gateway (process ${process.pid}) at ${served.address} does not respond within 3 s`,
      `restart it; if it is stopped, \`kill -CONT ${process.pid}\` continues it`,
    ],
  ]);
});

test("a clock that is far off the provider's is a problem", async () => {
  const tenMinutesAgo = new Date(Date.now() - 600_000).toUTCString();
  await using provider = serve(() =>
    Response.json({ object: "list", data: [] }, { headers: { date: tenMinutesAgo } }),
  );
  const report = await doctor(placeWith(provider.url));
  // Another test of the same process may use the unit's name as a secret, and it would be masked.
  expect(problemsOf(report)).toEqual([
    ["clock", expect.stringMatching(/^the clock is 60\d \S+ ahead of 127\.0\.0\.1:/), expect.any(String)],
  ]);
});

describe("beside a running gateway", () => {
  const list = () => Response.json({ object: "list", data: [{ id: "gpt-test", object: "model" }] });
  const answer = (request: Request) =>
    request.method === "GET" ? list() : new Response(fixture("responses/text.json"));
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer });
  afterAll(() => server.stop(true));
  const secret = { TEST_OPENAI_KEY: "sk-upstream-openai-canary" };
  const config = `
[providers.openai]
kind = "openai"
base_url = "http://127.0.0.1:${server.port}/v1"
api_key = "env:TEST_OPENAI_KEY"
[[models]]
id = "gpt-test"
provider = "openai"
free = true
`;

  test("doctor and models check report what the gateway has, not what the shell lacks", async () => {
    await using gateway = await Sluice.start({ config, env: secret });
    // A shell without the provider's secret.
    const shell = { folder: gateway.folder, env: { SLUICE_DATA: join(gateway.folder, "data") } };
    const report = await doctor(shell);
    expect(problemsOf(report)).toEqual([]);
    expect(report.checks.filter(({ check }) => check === "provider")).toMatchObject([{ state: "ok" }]);
    expect(report.config.toml).toContain('base_url = "');
    const checked = await sluice(shell, "models", "check", "--json");
    expect([checked.code, JSON.parse(checked.stdout)]).toMatchObject([0, [{ provider: "openai", ok: true }]]);
  });

  test("a provider that the gateway skips is a failure of both, although the shell has its secret", async () => {
    const demo = '[providers.demo]\nkind = "demo"\n[[models]]\nid = "d"\nprovider = "demo"\nfree = true\n';
    await using gateway = await Sluice.start({
      config: demo + config,
      env: { TEST_OPENAI_KEY: "" },
    });
    const shell = { folder: gateway.folder, env: { ...secret, SLUICE_DATA: join(gateway.folder, "data") } };
    const report = await doctor(shell);
    const skipped = "openai is skipped: TEST_OPENAI_KEY is not set";
    expect(problemsOf(report)).toEqual([
      ["provider", expect.stringContaining(skipped), "set it where the gateway runs"],
    ]);
    expect(report.code).toBe(1);
    const checked = await sluice(shell, "models", "check");
    expect([checked.code, checked.stdout]).toEqual([
      1,
      expect.stringContaining("TEST_OPENAI_KEY is not set"),
    ]);
  });
});
