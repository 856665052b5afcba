import { expect, test } from "bun:test";
import type { Step } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { answerFrom } from "../support/fixtures.ts";
import { startProvider } from "../support/provider.ts";
import { Sluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { clientOf, Recorder } from "./recorder.ts";

/** More than the 256 that `fetch` would run at once. */
const count = 400;

test("400 streams run at the same time, without a higher cap on fetches", async () => {
  const release = Promise.withResolvers<void>();
  const answer = answerFrom("chat/text.sse");
  const steps: Step[] = [{ until: release.promise }, ...answer.steps];
  const provider = startProvider({ ...answer, steps });
  const sluice = await Sluice.start({
    config: configFor({ url: provider.url }),
    env: { BUN_CONFIG_MAX_HTTP_REQUESTS: "256" },
  });
  const key = await sluice.createKey({ rpm: count * 10, credit: 100 });

  const { host, port } = new URL(sluice.url);
  const head = [
    "POST /v1/chat/completions HTTP/1.1",
    `host: ${host}`,
    `authorization: Bearer ${key.key}`,
    "content-type: application/json\r\n",
  ].join("\r\n");
  const body = JSON.stringify({
    model: "gpt-test",
    stream: true,
    max_tokens: 10,
    messages: [{ role: "user", content: "hello" }],
  });
  const client = clientOf({ port: Number(port) });
  const streams = Array.from({ length: count }, () => {
    const recorder = new Recorder();
    client.send(head, body, recorder, "caller");
    return recorder;
  });
  await waitFor(() => provider.requests.length === count, "all requests at the provider at once");
  release.resolve();
  expect(await Promise.all(streams.map((recorder) => recorder.over))).toEqual(Array(count).fill("ended"));
  for (const recorder of streams) {
    expect(recorder.events).toContain("answered 200");
    expect(recorder.text.trimEnd()).toEndWith("data: [DONE]");
  }
  provider.stop();
  expect(await sluice.stop()).toBe(0);
});
