import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { BatchClient, chatLines, contentOf } from "../gateway/batches/batch-world.ts";
import { anthropicError } from "../support/answers.ts";
import { configFor, upstreamKeys } from "../support/config.ts";
import { errored, MessageBatches, nativeModel, questionOf, succeeded } from "../support/message-batches.ts";
import { type SeenRequest, startProvider } from "../support/provider.ts";
import { startSluice } from "../support/sluice.ts";

const prompt = "canary_prompt_e1e1";
const names = ["canary_custom_id", "canary_file_name", "canary_metadata"];

/** What a careless provider says: the key and the request that it got. */
function careless({ headers, text }: Pick<SeenRequest, "headers" | "text">): string {
  return `Key ${headers["x-api-key"]} refused: ${text}`;
}

test("lines at a provider leave no key, prompt or name of a client in the log, in errors or in the data folder", async () => {
  const batches = new MessageBatches();
  const provider = startProvider(batches.script);
  let [creates, gets] = [0, 0];
  batches.fault = (request, at) => {
    if (at === "create") creates += 1;
    if (at === "get") gets += 1;
    // Rejected for now, and then slow to answer.
    if (at === "create" && creates === 1) return anthropicError(429, "rate_limit_error", careless(request));
    return at === "get" && gets < 3 ? anthropicError(500, "api_error", careless(request)) : null;
  };
  batches.resultOf = (line, _, { headers }) =>
    questionOf(line) === 0
      ? errored("invalid_request_error", careless({ headers, text: JSON.stringify(line.params) }))
      : succeeded(line);
  const head = `[log]\nlevel = "trace"\nformat = "json"\n[responses]\nencryption_key = "env:TEST_ENCRYPTION_KEY"\n[batches]\nprovider_poll = "100ms"\n`;
  await using sluice = await startSluice({
    config: configFor({ url: provider.url, head, tail: nativeModel }),
    env: { SLUICE_LOG_LEVEL: "trace", TEST_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString("base64") },
  });
  const key = await sluice.createKey();
  const client = new BatchClient(sluice.url, { secret: key.key });
  const lines = chatLines(3).map(({ body }, place) => ({
    custom_id: `canary_custom_id_${place}`,
    body: {
      ...body,
      model: "claude-batch",
      messages: [{ role: "user", content: `Question ${place} ${prompt}` }],
    },
  }));
  const { body: file } = await client.upload(
    contentOf(lines, "/v1/chat/completions"),
    {},
    {},
    "canary_file_name",
  );
  const created = await client.call("POST", "/batches", {
    input_file_id: file.id,
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
    metadata: { topic: "canary_metadata" },
  });
  const ended = await client.untilEnded(created.body.id);
  expect(ended.request_counts).toEqual({ total: 3, completed: 2, failed: 1 });
  const errors = await (await client.fetch("GET", `/files/${ended.error_file_id}/content`)).text();
  expect(errors).toContain("canary_custom_id_0");
  expect(errors).not.toContain(upstreamKeys.TEST_ANTHROPIC_KEY);
  expect(
    batches.batches.flatMap(({ lines: sent }) => sent.map(({ custom_id }) => custom_id)).join(),
  ).not.toContain("canary");
  await sluice.told("responded with 500 (api_error)");
  await sluice.told("responded with 429 (rate_limit_error)");
  await sluice.stop();
  const words = [prompt, ...names, key.key, upstreamKeys.TEST_ANTHROPIC_KEY, "Answer 1"];
  const written = readdirSync(join(sluice.folder, "data"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
  for (const text of [sluice.output, ...written]) {
    for (const word of words) expect(text.includes(word) ? word : "").toBe("");
  }
  provider.stop();
}, 60_000);
