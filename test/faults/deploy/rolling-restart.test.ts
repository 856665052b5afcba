import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { YAML } from "bun";
import { type Answer, drip, json } from "../../support/answers.ts";
import { configFor } from "../../support/config.ts";
import { answerFrom, usualResponse } from "../../support/fixtures.ts";
import { freePort } from "../../support/free-port.ts";
import { nginxProgram, startNginx } from "../../support/nginx.ts";
import { hasPostgres, sharedPostgres, withoutPostgres } from "../../support/postgres.ts";
import { type SeenRequest, startProvider } from "../../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../../support/sluice.ts";
import { waitFor } from "../../support/wait.ts";

/** The compose file's nginx in front of two gateways on one database; only the addresses are the test's own. */
const compose = YAML.parse(
  readFileSync(new URL("../../../config/deploy/compose.yaml", import.meta.url), "utf8"),
) as { readonly configs: Readonly<Record<"nginx", { readonly content: string }>> };
const example = compose.configs.nginx.content.replaceAll("$$", "$");
const failTimeoutMs = Number(/fail_timeout=(\d+)s/.exec(example)?.[1]) * 1000;

const ask = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }] };
const callers = 8;

/** Calls that take a moment, every fourth a stream. */
async function respondLater(request: SeenRequest): Promise<Answer> {
  await Bun.sleep(20);
  if (request.body["stream"] === true) return drip(answerFrom("chat/text.sse"), 20);
  return usualResponse(request) ?? json({});
}

/** Sends requests through the proxy until it is stopped; returns the reason for each failure. */
class Load {
  readonly failures: string[] = [];
  calls = 0;
  #isOver = false;
  readonly #running: Promise<unknown>;

  constructor(url: string, key: TestKey) {
    this.#running = Promise.all(Array.from({ length: callers }, () => this.#run(url, key)));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async #run(url: string, key: TestKey): Promise<void> {
    while (!this.#isOver) {
      this.calls += 1;
      const body = { ...ask, stream: this.calls % 4 === 0 };
      const problem = await this.#call(url, key, body).catch(String);
      if (problem !== null) this.failures.push(problem);
      // Clients that never rest would take the machine from the gateway that starts.
      await Bun.sleep(20);
    }
  }

  async #call(url: string, { key }: TestKey, body: { stream: boolean }): Promise<string | null> {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (response.status !== 200) return `${response.status} ${text.slice(0, 200)}`;
    return !body.stream || text.endsWith("data: [DONE]\n\n") ? null : `cut off: ${text.slice(-200)}`;
  }
}

if (nginxProgram === null || !hasPostgres) {
  const missing = nginxProgram === null ? "SKIPPED: nginx is not installed" : withoutPostgres;
  test.skipIf(true)(missing, () => {});
} else {
  const program = nginxProgram;

  test("no call fails while two gateways behind nginx are restarted one after the other", async () => {
    const postgres = sharedPostgres();
    const provider = startProvider(respondLater);
    const ports = [freePort(), freePort()];
    const env = {
      SLUICE_STORE: postgres.url(await postgres.createDatabase()),
      SLUICE_ADMIN_TOKEN: "slua_of-both-gateways",
    };
    const gateways: Sluice[] = [];
    for (const port of ports) {
      const config = configFor({ url: provider.url });
      gateways.push(await startSluice({ config, env, args: ["--port", String(port)] }));
    }
    const proxyPort = freePort();
    const http = example
      .replace("gateway-1:8787", `127.0.0.1:${ports[0]}`)
      .replace("gateway-2:8787", `127.0.0.1:${ports[1]}`)
      .replace("listen 8080;", `listen 127.0.0.1:${proxyPort};`);
    const url = `http://127.0.0.1:${proxyPort}`;
    const key = (await gateways[0]?.createKey({ credit: 1000 })) as TestKey;
    const proxy = await startNginx(program, http, url);
    const isReady = (gateway: Sluice) => async () => (await gateway.request("/readyz")).status === 200;
    const load = new Load(url, key);
    try {
      for (const gateway of gateways) {
        const callsBefore = load.calls;
        await waitFor(() => load.calls > callsBefore + 100, "calls to be made");
        expect(await gateway.stop()).toBe(0);
        await gateway.restart();
        await waitFor(isReady(gateway), "the gateway to be ready");
        await Bun.sleep(failTimeoutMs);
      }
      await load.stop();
      expect(load.failures).toEqual([]);
    } finally {
      await load.stop();
      proxy.stop();
      for (const gateway of gateways) await gateway.dispose();
      provider.stop();
    }
  }, 120_000);
}
