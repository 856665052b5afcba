import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run, serve, target } from "../support/process.ts";
import { Sluice } from "../support/sluice.ts";

const model = '[[models]]\nid = "m"\nprovider = "real"\nfree = true\n';
const real = `[providers.real]\nkind = "openai"\napi_key = "env:NO_SUCH_KEY"\n${model}`;
const secretsFile = (sluice: Sluice) => join(sluice.folder, "data", "first-start.txt");

describe("the first start of a real configuration", () => {
  test("makes no key, says how to make one, and prints no secret", async () => {
    await using sluice = await Sluice.start({ config: real });
    await sluice.told("there are no keys yet; create one with `sluice keys create");
    expect(sluice.output).not.toMatch(/slua?_\w{30}/);
    expect(await sluice.cliJson<unknown[]>("keys", "list")).toEqual([]);
  });

  test("leaves the admin token in a file that only its owner can read, and says where", async () => {
    await using sluice = await Sluice.start({ config: real });
    const file = secretsFile(sluice);
    await sluice.told(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const token = /slua_\w{32}/.exec(readFileSync(file, "utf8"))?.[0];
    const headers = { authorization: `Bearer ${token}` };
    expect((await sluice.request("/admin/api/v1/health", { headers })).status).toBe(200);
  });

  test("is real also when the demo stands beside other providers", async () => {
    await using sluice = await Sluice.start({ config: `[providers.demo]\nkind = "demo"\n${real}` });
    expect(sluice.output).not.toMatch(/slua?_\w{30}/);
  });
});

test("a start with a preset admin token still says where the dashboard is", async () => {
  await using sluice = await Sluice.start({ env: { SLUICE_ADMIN_TOKEN: "a-preset-token-of-mine" } });
  await sluice.told(`the dashboard is at ${sluice.url}/admin\n`);
  expect(sluice.output).not.toContain("a-preset-token-of-mine");
});

test("the first start of the demo as a service puts its keys into the file, and none into the journal", async () => {
  await using sluice = await Sluice.start({ env: { JOURNAL_STREAM: "8:12345" } });
  expect(sluice.output).not.toMatch(/slua?_\w{30}/);
  const told = readFileSync(secretsFile(sluice), "utf8");
  expect(told.match(/curl -N/g)).toHaveLength(2);
  expect(told).toMatch(/slua_\w{32}/);
  expect(await sluice.cliJson<unknown[]>("keys", "list")).toHaveLength(2);
});

/** What is shipped, and the source, which is what `bun run dev` runs: starting is where they differ. */
describe.each([...new Set([target(), "source"])])("%s", (program) => {
  const usual = target();
  beforeAll(() => {
    process.env["SLUICE_TEST_TARGET"] = program;
  });
  afterAll(() => {
    process.env["SLUICE_TEST_TARGET"] = usual;
  });

  test("the first start of the demo prints its keys where somebody tries it out, and leaves no file", async () => {
    await using sluice = await Sluice.start();
    expect(sluice.output.match(/slu_\w{36}\n/g)).toHaveLength(2);
    expect(existsSync(secretsFile(sluice))).toBe(false);
  });

  describe("commands in the folder that `serve` was started in", () => {
    const place = () => {
      const cwd = mkdtempSync(join(tmpdir(), "sluice-test-"));
      return { cwd, env: { PATH: process.env["PATH"] ?? "", HOME: cwd } };
    };

    test("find the data that --data named, and what is served with it", async () => {
      const where = place();
      const server = await serve(["--data", "a/b"], where);
      try {
        expect(JSON.parse((await run(["keys", "list", "--json"], where)).stdout)).toHaveLength(2);
        const made = await run(["keys", "create", "--mode", "credit", "--models", "demo-smal"], where);
        expect(made.stderr).toContain('did you mean "demo-small"?');
        expect(existsSync(join(where.cwd, "sluice-data"))).toBe(false);
        // What is named goes before what is found.
        const named = await run(["keys", "list", "--data", "other"], where);
        expect(named.stderr).toContain("there is no data in ./other yet");
      } finally {
        server.signal("SIGKILL");
        await server.exited;
        rmSync(where.cwd, { recursive: true, force: true });
      }
    });

    test("find the data that a configuration elsewhere names", async () => {
      const where = place();
      const other = mkdtempSync(join(tmpdir(), "sluice-test-"));
      writeFileSync(
        join(other, "my.toml"),
        '[server]\ndata = "here"\n[providers.demo]\nkind = "demo"\n[[models]]\nid = "m"\nprovider = "demo"\nfree = true\n',
      );
      const server = await serve(["--config", join(other, "my.toml")], where);
      try {
        const made = await run(["keys", "create", "--mode", "credit", "--models", "m", "--json"], where);
        expect(JSON.parse(made.stdout)).toMatchObject({ models: ["m"], data_folder: join(other, "here") });
      } finally {
        server.signal("SIGKILL");
        await server.exited;
        for (const folder of [where.cwd, other]) rmSync(folder, { recursive: true, force: true });
      }
    });
  });
});
