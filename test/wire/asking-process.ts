/**
 * Asks a provider, as a process of its own: for what is read from the environment at its start, and to see that
 * it ends by itself. Takes a base URL and how often to ask; prints a line of JSON for each answer.
 */

import { HttpProvider } from "../../src/providers/http-provider.ts";
import { openAi } from "../../src/providers/vendors.ts";
import { collectAnswer } from "../../src/wire/collect.ts";
import { codeOf } from "./recorder.ts";

const [baseUrl = "", times = "1"] = process.argv.slice(2);
const aMinuteMs = 60_000;
const provider = new HttpProvider(
  {
    name: "test",
    kind: "openai-compatible",
    baseUrl,
    apiKeys: [],
    dialects: ["chat"],
    headers: {},
    streamUsage: true,
    countTokens: false,
    maxTokensField: "max_tokens",
    maxConcurrent: null,
    timeouts: {
      connectMs: aMinuteMs,
      firstByteMs: aMinuteMs,
      streamFirstByteMs: aMinuteMs,
      gapMs: aMinuteMs,
      totalMs: aMinuteMs,
    },
  },
  openAi,
);
const never = new AbortController();
const prepared = { operation: "chat", body: '{"model":"m"}', headers: {} } as const;

async function askAgainAndAgain(): Promise<void> {
  for (let time = 0; time < Number(times); time++) {
    const answer = collectAnswer((receiver) => provider.send(prepared, "sk-canary", receiver), never.signal);
    console.log(JSON.stringify(await answer.catch((cause) => ({ code: codeOf(cause) }))));
  }
}

// Not awaited: the program is to be kept running by its connections alone.
askAgainAndAgain();
