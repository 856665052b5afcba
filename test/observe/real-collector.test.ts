import { expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../support/free-port.ts";
import { newFolder } from "../support/new-folder.ts";
import { startSluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { startCollector } from "./collector.ts";

/** Any distribution of OpenTelemetry's collector with its OTLP receiver and exporter. */
const program = process.env["SLUICE_TEST_OTELCOL"] ?? Bun.which("otelcol") ?? Bun.which("otelcol-contrib");

const config = (endpoint: string) => `
[providers.demo]
kind = "demo"
[[models]]
id = "demo"
provider = "demo"
price = { input = 1.0, output = 1.0 }
context_window = 10000000
max_output_tokens = 1000
[tracing]
otlp_endpoint = "${endpoint}"
content = true
`;

/** Receives spans by OTLP, reads them by its own schema, and sends them on to `target`. */
function startRealCollector(otelcol: string, port: number, target: string) {
  const folder = newFolder();
  const file = join(folder, "config.yaml");
  const pipelines = { traces: { receivers: ["otlp"], exporters: ["otlphttp"] } };
  writeFileSync(
    file,
    JSON.stringify({
      receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
      exporters: { otlphttp: { endpoint: target, encoding: "json", compression: "none" } },
      service: { telemetry: { metrics: { level: "none" } }, pipelines },
    }),
  );
  const output = Bun.file(join(folder, "output"));
  const child = Bun.spawn([otelcol, "--config", file], { stdout: output, stderr: output });
  return {
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    () => true,
    () => false,
  );
}

test.skipIf(program === null)(
  program === null
    ? "SKIPPED: otelcol is not installed, so no real collector has read a span"
    : "a real collector gets what a request says whole",
  async () => {
    await using target = startCollector();
    const endpoint = `http://127.0.0.1:${freePort()}`;
    await using _ = startRealCollector(program ?? "", Number(new URL(endpoint).port), target.url);
    await waitFor(() => answers(endpoint), "the collector to listen");
    await using sluice = await startSluice({ config: config(endpoint) });
    const key = await sluice.createKey();
    const said = 'A "sluice"\n\tis a gate: é ü 水门 😀 \u0000 \u2028 </script> \\ {{x}} ';
    const content = said.repeat(8_000);
    const messages = [
      { role: "system", content: "Be brief." },
      { role: "user", content },
    ];
    const tools = [{ type: "function", function: { name: "weather", parameters: { type: "object" } } }];
    const body = { model: "demo", messages };
    const response = await sluice.request("/v1/chat/completions", { key, body });
    const answered = (await response.json()) as { choices: { message: { content: string } }[] };
    expect(response.status).toBe(200);
    const streamed = await sluice.request("/v1/chat/completions", {
      key,
      body: { model: "demo", messages: [{ role: "user", content: said }], tools, stream: true },
    });
    await streamed.text();

    await waitFor(() => target.spans().length === 2, "both spans");
    const spanOf = ({ headers }: Response) => {
      const spans = target
        .spans()
        .map((span) =>
          Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
        );
      return spans.find((span) => span["sluice.request_id"] === headers.get("x-request-id"));
    };
    const read = (span: ReturnType<typeof spanOf>, name: string) =>
      JSON.parse(String(span?.[`gen_ai.${name}`]));
    const whole = spanOf(response);
    const stream = spanOf(streamed);
    const text = answered.choices[0]?.message.content;
    expect(read(stream, "tool.definitions")).toMatchObject([{ type: "function", name: "weather" }]);
    expect(read(whole, "output.messages")).toMatchObject([{ role: "assistant", parts: [{ content: text }] }]);
    const [system, input] = read(whole, "input.messages");
    expect(system).toEqual({ role: "system", parts: [{ type: "text", content: "Be brief." }] });
    expect(input.role).toBe("user");
    expect(input.parts[0].content === content).toBe(true);
    expect(read(stream, "input.messages")).toEqual([
      { role: "user", parts: [{ type: "text", content: said }] },
    ]);
    expect(read(stream, "output.messages")[0].parts.length).toBeGreaterThan(0);
  },
  60_000,
);
